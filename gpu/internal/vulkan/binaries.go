package vulkan

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

const (
	// From Vulkan, VkPipelineCacheHeaderVersionOne: header size, version, vendor, device (32 bits each), UUID.
	binariesHeader  = 16 + 16
	binariesVersion = 1
	// maxBinaries bounds what is kept and taken back: with any driver the code of all kernels takes a tenth of it.
	maxBinaries = 64 << 20
)

// Binaries returns the pipelines that the device has compiled so far, from VK_KHR_pipeline_binary or its
// VkPipelineCache; nil where these give nothing, as with software implementations, which compile elsewhere.
func (d *Device) Binaries() ([]byte, error) {
	t := &d.pipelines
	if t.khr != nil {
		return t.khr.encode(), nil
	}
	t.cacheMu.RLock()
	defer t.cacheMu.RUnlock()
	b, err := d.dev.PipelineCacheData(t.cache)
	if err != nil {
		return nil, d.failure("pipeline cache", err)
	}
	if len(b) <= binariesHeader || len(b) > maxBinaries || !binariesFit(d.props, b) {
		return nil, nil
	}
	return b, nil
}

// AddBinaries gives the driver what Binaries returned in another process, so that it need not compile these pipelines.
// Data of another device or driver is ignored, and so is all data when the pipelines of list are there already.
//
// A driver trusts the content: the caller has verified it.
func (d *Device) AddBinaries(b []byte, list []plan.Pipeline) error {
	if khr := d.pipelines.khr; khr != nil {
		if !d.pipelines.has(list) {
			khr.add(b)
		}
		return nil
	}
	if len(b) <= binariesHeader || len(b) > maxBinaries || !binariesFit(d.props, b) || d.pipelines.has(list) {
		return nil
	}
	from, err := d.dev.NewPipelineCache(b)
	if err != nil {
		return d.failure("pipeline cache", err)
	}
	defer vk.Destroy(d.dev, from)
	t := &d.pipelines
	t.cacheMu.Lock()
	defer t.cacheMu.Unlock()
	return d.failure("pipeline cache", d.dev.MergePipelineCache(t.cache, from))
}

// binariesFit reports whether the header of b names the device.
func binariesFit(p *vk.Properties, b []byte) bool {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	return len(b) >= binariesHeader && word(0) == binariesHeader && word(1) == binariesVersion &&
		word(2) == p.VendorID && word(3) == p.DeviceID && [16]byte(b[16:32]) == p.PipelineCacheUUID
}

// has reports whether all pipelines of list are there or being made.
func (t *pipelineTable) has(list []plan.Pipeline) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range list {
		if t.entries[key] == nil {
			return false
		}
	}
	return true
}

// binaryDevice is what binaryTable needs of a vk.Device with VK_KHR_pipeline_binary. No software implementation has
// the extension: tests put a fake here, and the calls behind have not met a driver.
type binaryDevice interface {
	BinaryKey() ([]byte, error)
	CapturePipeline(code []uint32, layout vk.PipelineLayout, w vk.Workgroup) (vk.Pipeline, []vk.Binary, error)
	PipelineOf(list []vk.Binary, code []uint32, layout vk.PipelineLayout, w vk.Workgroup) (vk.Pipeline, error)
}

// binaryTable keeps the binaries of pipelines, compiled here or taken over, in place of a VkPipelineCache, which Vulkan
// forbids beside them. Safe for concurrent use.
type binaryTable struct {
	dev binaryDevice
	key []byte // the driver's; immutable

	mu    sync.Mutex
	list  map[plan.Pipeline][]vk.Binary // guarded by mu
	bytes int                           // guarded by mu; of all that is kept
}

// newBinaryTable returns nil where the device does without.
func newBinaryTable(dev binaryDevice, has bool) *binaryTable {
	if !has {
		return nil
	}
	key, err := dev.BinaryKey()
	if err != nil || len(key) == 0 || len(key) > vk.MaxBinaryKey {
		return nil
	}
	return &binaryTable{dev: dev, key: key, list: map[plan.Pipeline][]vk.Binary{}}
}

// pipeline makes a pipeline of the binaries that are there, else compiles it and keeps its binaries.
func (t *binaryTable) pipeline(key plan.Pipeline, code []uint32, layout vk.PipelineLayout, w vk.Workgroup) (vk.Pipeline, error) {
	t.mu.Lock()
	list := t.list[key]
	t.mu.Unlock()
	if len(list) > 0 {
		p, err := t.dev.PipelineOf(list, code, layout, w)
		if err == nil || errors.Is(err, vk.ErrDeviceLost) {
			return p, err
		}
		t.forget(key) // a driver may refuse them for any reason
	}
	p, list, err := t.dev.CapturePipeline(code, layout, w)
	if err != nil {
		return 0, err
	}
	t.keep(key, list)
	return p, nil
}

// binarySize is the number of bytes of an encoded entry.
func binarySize(key plan.Pipeline, list []vk.Binary) int {
	n := 4 + len(key.Kernel.String()) + 3*4 + 4
	for _, b := range list {
		n += 4 + len(b.Key) + 4 + len(b.Data)
	}
	return n
}

// keep adds an entry, unless there is one or no room for it.
func (t *binaryTable) keep(key plan.Pipeline, list []vk.Binary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := binarySize(key, list)
	if len(list) == 0 || len(t.list[key]) > 0 || t.bytes+n > maxBinaries-binaryHeader {
		return
	}
	t.list[key] = list
	t.bytes += n
}

func (t *binaryTable) forget(key plan.Pipeline) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if list := t.list[key]; len(list) > 0 {
		t.bytes -= binarySize(key, list)
		delete(t.list, key)
	}
}

// The encoding, all numbers 32 bits, little endian; a text or content is its length and its bytes:
//
//	magic, version, global key, number of pipelines
//	for each: kernel, shape of a workgroup (3 numbers), number of binaries; for each of these: key, content
const (
	binaryMagic   = 0x4250_4e4e // "NNPB"
	binaryVersion = 2
	binaryHeader  = 4 + 4 + 4 + vk.MaxBinaryKey + 4
)

// encode returns all entries, in the order of their keys; nil if there is none.
func (t *binaryTable) encode() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == 0 {
		return nil
	}
	word := binary.LittleEndian.AppendUint32
	text := func(b []byte, s []byte) []byte { return append(word(b, uint32(len(s))), s...) }
	b := make([]byte, 0, binaryHeader+t.bytes)
	b = word(word(b, binaryMagic), binaryVersion)
	b = word(text(b, t.key), uint32(len(t.list)))
	keys := slices.SortedFunc(maps.Keys(t.list), func(a, b plan.Pipeline) int {
		if c := strings.Compare(a.Kernel.String(), b.Kernel.String()); c != 0 {
			return c
		}
		return slices.Compare(a.Local[:], b.Local[:])
	})
	for _, key := range keys {
		b = text(b, []byte(key.Kernel.String()))
		for _, n := range key.Local {
			b = word(b, n)
		}
		b = word(b, uint32(len(t.list[key])))
		for _, x := range t.list[key] {
			b = text(text(b, x.Key), x.Data)
		}
	}
	return b
}

// add takes over what encode gave in another process. Data of another driver or shape is ignored; kernels that this
// program does not have are skipped.
func (t *binaryTable) add(data []byte) {
	list, ok := decodeBinaries(data, t.key)
	if !ok {
		return
	}
	for key, binaries := range list {
		t.keep(key, binaries)
	}
}

// decodeBinaries reads what was written under the driver's key. The result does not alias data.
func decodeBinaries(data, key []byte) (map[plan.Pipeline][]vk.Binary, bool) {
	if len(data) > maxBinaries {
		return nil, false
	}
	r := binaryReader{rest: data}
	if r.word() != binaryMagic || r.word() != binaryVersion || string(r.bytes()) != string(key) {
		return nil, false
	}
	out := map[plan.Pipeline][]vk.Binary{}
	for n := r.word(); n > 0 && !r.short; n-- {
		kernel, known := shaders.ByName(string(r.bytes()))
		p := plan.Pipeline{Kernel: kernel, Local: [3]uint32{r.word(), r.word(), r.word()}}
		count := r.word()
		if count == 0 || count > vk.MaxBinaries || len(out[p]) > 0 {
			return nil, false
		}
		var list []vk.Binary
		for ; count > 0 && !r.short; count-- {
			b := vk.Binary{Key: slices.Clone(r.bytes()), Data: slices.Clone(r.bytes())}
			if len(b.Key) == 0 || len(b.Key) > vk.MaxBinaryKey {
				return nil, false
			}
			list = append(list, b)
		}
		if known {
			out[p] = list
		}
	}
	return out, !r.short && len(r.rest) == 0
}

// binaryReader reads front to back; past the end it gives zeros and notes that.
type binaryReader struct {
	rest  []byte
	short bool
}

func (r *binaryReader) word() uint32 {
	if len(r.rest) < 4 {
		r.rest, r.short = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

func (r *binaryReader) bytes() []byte {
	n := r.word()
	if uint64(n) > uint64(len(r.rest)) {
		r.rest, r.short = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
