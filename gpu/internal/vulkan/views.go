package vulkan

import (
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

// get returns the view of b that a binding asks for.
func (t *viewTable) get(b *block, x *plan.Binding) (vk.BufferView, error) {
	key := viewKey{b.buffer, x.Format, x.Offset, x.Size}
	if v, ok := t.list[key]; ok {
		return v, nil
	}
	v, err := t.dev.dev.NewBufferView(b.buffer, viewFormats[x.Format], x.Offset, x.Size)
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
