package vulkan

import (
	"sync"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// viewTable holds the texel views of some blocks, one for each distinct range and format.
type viewTable struct {
	dev  *Device
	list map[viewKey]vk.BufferView
}

type viewKey struct {
	buffer       vk.Buffer
	format       plan.Format
	offset, size int64
}

var viewFormats = [...]vk.Format{
	plan.FormatRGBA32F: vk.FormatR32G32B32A32Sfloat,
	plan.FormatRGBA32U: vk.FormatR32G32B32A32Uint,
	plan.FormatR32U:    vk.FormatR32Uint,
	plan.FormatRGBA8I:  vk.FormatR8G8B8A8Sint,
	plan.FormatRGBA8U:  vk.FormatR8G8B8A8Uint,
	plan.FormatR32F:    vk.FormatR32Sfloat,
}

// get returns the view that key describes.
func (t *viewTable) get(key viewKey) (vk.BufferView, error) {
	if v, ok := t.list[key]; ok {
		return v, nil
	}
	v, err := t.dev.dev.NewBufferView(key.buffer, viewFormats[key.format], key.offset, key.size)
	if err != nil {
		return 0, err
	}
	t.list[key] = v
	return v, nil
}

// destroy destroys the views. Precondition: no pending work uses them.
func (t *viewTable) destroy() {
	if t.dev.abandoned() {
		return
	}
	for key, v := range t.list {
		t.dev.dev.DestroyBufferView(v)
		delete(t.list, key)
	}
}

// sharedViews holds the views of memory that many recordings name, as long as one does. Safe for concurrent
// use.
type sharedViews struct {
	mu    sync.Mutex
	table viewTable       // guarded by mu
	users map[viewKey]int // guarded by mu; nil when closed
}

func newSharedViews(d *Device) *sharedViews {
	return &sharedViews{table: viewTable{dev: d, list: map[viewKey]vk.BufferView{}}, users: map[viewKey]int{}}
}

// take returns the view that key describes, for give to give back.
func (t *sharedViews) take(key viewKey) (vk.BufferView, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		return 0, errClosedMemory
	}
	v, err := t.table.get(key)
	if err == nil {
		t.users[key]++
	}
	return v, err
}

// give returns what take took. Precondition: no pending work uses it.
func (t *sharedViews) give(key viewKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		return
	}
	if t.users[key]--; t.users[key] > 0 {
		return
	}
	delete(t.users, key)
	if !t.table.dev.abandoned() {
		t.table.dev.dev.DestroyBufferView(t.table.list[key])
		delete(t.table.list, key)
	}
}

// close destroys all views; what is given back afterwards is none of them. Precondition: no pending work uses
// them.
func (t *sharedViews) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.destroy()
	t.users = nil
}
