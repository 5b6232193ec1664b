package vulkan

import (
	"encoding/binary"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

const (
	// From Vulkan, VkPipelineCacheHeaderVersionOne: header size, version, vendor, device (32 bits each), UUID.
	binariesHeader  = 16 + 16
	binariesVersion = 1
	// maxBinaries bounds what is kept and taken back: every kernel that there is, in any driver's code, has a
	// tenth of it.
	maxBinaries = 64 << 20
)

// Binaries returns the pipelines that the device has compiled so far, by VK_KHR_pipeline_binary or as its
// VkPipelineCache tells them; nil where it tells nothing, as software implementations do, which compile elsewhere.
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

// AddBinaries gives the driver what Binaries returned in another process, so that it need not compile these
// pipelines. Data of another device or driver is left alone, and so is any when all pipelines of list are
// there already.
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
