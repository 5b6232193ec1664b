package vulkan

import (
	"sync"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
)

// arrayTable holds the arrays of storage buffers that kernels see in a block, one for each range. They live as long as the
// block. The zero value is empty. Safe for concurrent use.
type arrayTable struct {
	mu   sync.Mutex
	list map[arrayKey]vk.Array // guarded by mu
}

type arrayKey struct{ offset, size, each int64 } // bytes

// count is the number of storage buffers.
func (k arrayKey) count() int64 { return k.size / k.each }

// array is the set that sees what key names of b. Preconditions: the device has a layout for arrays; it accepted a plan with
// this range.
//
// Errors: RESOURCE_EXHAUSTED_TRANSIENT where the device has no more storage buffers for arrays.
func (b *block) array(key arrayKey) (vk.DescriptorSet, error) {
	t, d := &b.arrays, b.dev
	t.mu.Lock()
	defer t.mu.Unlock()
	if a, ok := t.list[key]; ok {
		return a.Set, nil
	}
	n := key.count()
	if d.arrays.Add(n) > d.props.MaxArrays {
		d.arrays.Add(-n)
		return 0, nn.Errorf(nn.StatusResourceExhaustedTransient, "weights", "%d more storage buffers in arrays exceed the device's limit of %d",
			n, d.props.MaxArrays)
	}
	a, err := d.dev.NewArray(d.pipelines.arrayLayout(), b.buffer, key.offset, key.each, uint32(n))
	if err != nil {
		d.arrays.Add(-n)
		return 0, err
	}
	if t.list == nil {
		t.list = map[arrayKey]vk.Array{}
	}
	t.list[key] = a
	return a.Set, nil
}

// freeArrays gives back the arrays of b. Precondition: no pending work uses them.
func (b *block) freeArrays() {
	t := &b.arrays
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, a := range t.list {
		if !b.dev.abandoned() {
			vk.Destroy(b.dev.dev, a.Pool)
		}
		b.dev.arrays.Add(-key.count())
	}
	t.list = nil
}
