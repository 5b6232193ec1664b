package vulkan

import (
	"bytes"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/internal/hugepages"
)

// block is a buffer with memory of its own.
type block struct {
	dev    *Device
	buffer vk.Buffer
	memory vk.Memory
	bytes  int64  // size of buffer, a multiple of plan.Align
	host   []byte // mapped bytes, nil where the host cannot see them
	cached bool   // the host reads them as fast as its own memory; else it should only write
	taken  int64  // bytes in the device's account
	pages  []byte // host pages that hold the memory until b is freed; nil where the device allocated it
	arrays arrayTable
}

// blockKind says who uses a block.
type blockKind uint8

const (
	deviceBlock  blockKind = iota // arena: kernels only
	weightsBlock                  // kernels; mapped where that costs nothing
	hostBlock                     // host and kernels
	inputsBlock                   // the host writes, kernels read
)

const blockUsage = vk.UsageTransferSrc | vk.UsageTransferDst | vk.UsageUniformTexel | vk.UsageStorageTexel | vk.UsageStorage

// newBlock allocates a block of at least the given size; its content is undefined. 0 bytes give nil. budget as in
// account.take.
func (d *Device) newBlock(bytes, budget int64, kind blockKind, what string) (b *block, err error) {
	if bytes == 0 {
		return nil, nil
	}
	bytes, own := d.inPages(bytes)
	if b, err = d.reserve(bytes, budget, what); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.free()
			b, err = nil, d.failure(what, err)
		}
	}()
	if own && b.ownPages() {
		if kind != deviceBlock {
			b.host, b.cached = b.pages, true
		}
		return b, nil
	}
	if b.buffer, err = d.dev.NewBuffer(b.bytes, blockUsage); err != nil {
		return b, err
	}
	need := d.dev.Requirements(b.buffer)
	if err = b.reserve(need.Size, budget, what); err != nil {
		return b, err
	}
	memoryType := d.memoryType(kind, need.Types)
	if memoryType < 0 {
		return b, errors.New("the device has no memory of the kind")
	}
	if b.memory, err = d.dev.Allocate(need.Size, memoryType); err != nil {
		return b, err
	}
	if err = d.dev.Bind(b.buffer, b.memory); err != nil {
		return b, err
	}
	flags := d.props.MemoryTypes[memoryType].Flags
	b.cached = flags&vk.HostCached != 0
	if mappable := flags&hostFlags == hostFlags; mappable && kind != deviceBlock {
		if b.host, err = d.dev.Map(b.memory, need.Size); err != nil {
			return b, err
		}
		b.host = b.host[:b.bytes]
		if d.props.Type == vk.TypeCPU { // the host's memory
			hugepages.Advise(b.host)
		}
	}
	return b, nil
}

// memoryType is the type of memory for blocks of a kind, one of those allowed; -1 if there is none.
func (d *Device) memoryType(kind blockKind, allowed uint32) int {
	switch kind {
	case hostBlock:
		return hostMemory(d.props, allowed)
	case inputsBlock:
		if t := inputMemory(d.props, d.info.Facts.Unified, allowed); t >= 0 {
			return t
		}
		return hostMemory(d.props, allowed)
	}
	return deviceMemory(d.props, allowed)
}

// reserve begins a block of at least the given size, which is taken from the account; it has no buffer yet.
func (d *Device) reserve(bytes, budget int64, what string) (*block, error) {
	b := &block{dev: d, bytes: plan.AlignUp(bytes)}
	if err := d.allocatable(b.bytes, what); err != nil {
		return nil, err
	}
	if err := b.reserve(b.bytes, budget, what); err != nil {
		return nil, err
	}
	d.counters.allocations.Add(1)
	return b, nil
}

// allocatable reports why the device does not give so many bytes in one allocation.
func (d *Device) allocatable(bytes int64, what string) error {
	if bytes > d.props.MaxAllocation {
		return nn.Errorf(nn.StatusResourceExhaustedPersistent, what, "%d bytes exceed the device's limit of %d", bytes, d.props.MaxAllocation)
	}
	return nil
}

// FitsWeights returns the error that NewExecutable would return now for a plan with so many bytes of weights, as far as
// the weights cause it: nil where they fit. budget as in ExecutableOptions.MemoryBudget.
//
// Errors: RESOURCE_EXHAUSTED_*.
func (d *Device) FitsWeights(bytes, budget int64) error {
	bytes = plan.AlignUp(bytes)
	if err := d.allocatable(bytes, "weights"); err != nil {
		return err
	}
	return d.account.fits(bytes, budget, "weights")
}

// reserve takes from the account the part of need bytes that b does not have yet.
func (b *block) reserve(need, budget int64, what string) error {
	more := need - b.taken
	if more <= 0 {
		return nil
	}
	if err := b.dev.account.take(more, budget, what); err != nil {
		return err
	}
	b.taken += more
	return nil
}

// free gives everything back; nil is ignored. Precondition: no pending work uses b.
func (b *block) free() {
	if b == nil {
		return
	}
	b.freeArrays()
	if !b.dev.abandoned() {
		b.dev.dev.DestroyBuffer(b.buffer)
		b.dev.dev.Free(b.memory)
		if b.pages != nil {
			_ = unix.Munmap(b.pages) // a mapping of its own: nothing can be wrong with it
		}
	}
	b.dev.account.give(b.taken)
	b.buffer, b.memory, b.taken, b.host, b.pages = 0, 0, 0, nil, nil
}

// zero clears b, which is new.
func (b *block) zero() error {
	if b == nil {
		return nil
	}
	if b.pages != nil { // zero, but not touched yet
		clear(b.pages)
		return nil
	}
	if b.host != nil {
		clear(b.host)
		return nil
	}
	var c vk.Commands
	c.Fill(b.buffer, 0, b.bytes, 0)
	c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer, deviceAccess)
	return b.dev.runOnce(&c)
}

// Stages and accesses of kernels and copies.
const (
	computeTransfer = vk.StageCompute | vk.StageTransfer
	deviceWrites    = vk.AccessShaderWrite | vk.AccessTransferWrite
	deviceAccess    = vk.AccessShaderRead | vk.AccessTransferRead | deviceWrites
)

// pagesFrom is the size in bytes from which on memory gets pages of its own.
const pagesFrom = 256 << 10

// From VkDriverId: VK_DRIVER_ID_GOOGLE_SWIFTSHADER.
const driverSwiftShader = 10

// touchesMemory selects drivers that write to all memory they allocate, at 0.5 to 0.7 ms a megabyte, and can import.
func touchesMemory(p *vk.Properties) bool { return p.DriverID == driverSwiftShader && p.HostAlign > 0 }

// inPages returns how much memory a block of so many bytes takes, and whether it is in pages of the host.
func (d *Device) inPages(bytes int64) (int64, bool) {
	if !touchesMemory(d.props) || bytes < pagesFrom {
		return bytes, false
	}
	return roundUp(bytes, max(d.props.HostAlign, int64(os.Getpagesize()))), true
}

// ownPages gives b new memory of the host, zero and untouched, and a buffer on it; false where the device refuses it.
func (b *block) ownPages() bool {
	pages, err := unix.Mmap(-1, 0, int(b.bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	if b.buffer, b.memory, err = b.dev.dev.ImportHost(pages, blockUsage); err != nil {
		_ = unix.Munmap(pages) // a mapping of its own: nothing can be wrong with it
		return false
	}
	hugepages.Advise(pages)
	b.pages = pages
	return true
}

// weightsTable counts the executables that share a block of packed constants because theirs would have the same bytes:
// mostly instances of one model for inputs of several sizes. The zero value is empty. Safe for concurrent use.
type weightsTable struct {
	mu    sync.Mutex
	users map[*block]int // guarded by mu
}

// share returns a block that has the first n bytes of b, which is full and will not be written again: one already in
// use, after which the caller frees b, or b itself. letGo undoes it. Only blocks that the host reads as fast as its own
// memory are compared.
func (t *weightsTable) share(b *block, n int64) *block {
	if b == nil || b.host == nil || !b.cached {
		return b
	}
	same := func(other *block) bool { return bytes.Equal(other.host[:n], b.host[:n]) }
	var found *block
	for _, other := range t.candidates(b) {
		if found == nil && same(other) {
			found = other
		} else {
			t.letGo(other)
		}
	}
	if found != nil {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		t.users = map[*block]int{}
	}
	t.users[b] = 1
	return b
}

// candidates takes all blocks of b's size; the caller lets them go.
func (t *weightsTable) candidates(b *block) (list []*block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other := range t.users {
		if other.bytes == b.bytes {
			t.users[other]++
			list = append(list, other)
		}
	}
	return list
}

// letGo frees b, which may be nil, unless others use it.
func (t *weightsTable) letGo(b *block) {
	t.mu.Lock()
	if n := t.users[b]; n > 1 {
		t.users[b]--
		t.mu.Unlock()
		return
	}
	delete(t.users, b)
	t.mu.Unlock()
	b.free()
}
