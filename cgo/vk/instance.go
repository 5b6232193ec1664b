//go:build linux && cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"

	binding "github.com/vulkan-go/vulkan"
)

// Validation says what VK_LAYER_KHRONOS_validation checks.
type Validation uint32

// Checks of the validation layer; 0 leaves it out.
const (
	ValidateCore Validation = C.NNGPU_VALIDATE_CORE
	// ValidateSync adds synchronization: missing barriers.
	ValidateSync Validation = C.NNGPU_VALIDATE_SYNC
)

// Instance is a VkInstance. Safe for concurrent use, except Close.
type Instance struct {
	c      *C.nngpu_instance
	handle uint64
	usual  bool // of the drivers that the loader finds by itself
}

// held is the first usual instance, which Close leaves alone: the loader unloads the drivers with the last instance, and
// that of NVIDIA (580.159) cannot be loaded any number of times in one process. Guarded by loaderMu.
var held *C.nngpu_instance

// InstanceOptions steer NewInstance.
type InstanceOptions struct {
	Validation Validation
	Windows    bool  // surfaces can be made: NewXlibSurface
	Env        []Env // holds while the instance is made
}

// NewInstance makes an instance. Precondition: Load succeeded.
//
// Errors: ErrIncompatibleDriver when no driver can be used, ErrNoLayer, ErrOutOfMemory, ErrNotSupported where no driver knows
// windows of X11.
func NewInstance(o InstanceOptions) (*Instance, error) {
	loaderMu.Lock()
	defer loaderMu.Unlock()
	if proc.proc == nil {
		return nil, ErrNoLoader
	}
	var inst *Instance
	windows := C.int(0)
	if o.Windows {
		windows = 1
	}
	err := withEnv(o.Env, func() error {
		r := C.nngpu_instance_create(proc.proc, C.uint32_t(o.Validation), windows)
		if err := check("vkCreateInstance", r.result); err != nil {
			return err
		}
		inst = &Instance{c: r.instance, handle: uint64(r.handle), usual: len(o.Env) == 0}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := bind(inst.handle); err != nil {
		C.nngpu_instance_destroy(inst.c)
		return nil, err
	}
	return inst, nil
}

// Close destroys the instance. Precondition: its devices are closed and no other call is under way.
func (i *Instance) Close() {
	if i.c == nil {
		return
	}
	if !i.hold() {
		C.nngpu_instance_destroy(i.c)
	}
	i.c = nil
}

// hold reports whether i becomes the instance that is held.
func (i *Instance) hold() bool {
	loaderMu.Lock()
	defer loaderMu.Unlock()
	if !i.usual || held != nil {
		return false
	}
	held = i.c
	return true
}

// Messages takes the warnings and errors that the validation layer has reported since the last call.
func (i *Instance) Messages() []string {
	var list []string
	for {
		m := C.nngpu_instance_message(i.c)
		if m == nil {
			return list
		}
		list = append(list, takeString(m))
	}
}

// Physical is a VkPhysicalDevice, which can be opened.
type Physical struct {
	inst   *Instance
	handle uint64
}

// PhysicalDevices lists the devices in the loader's order.
func (i *Instance) PhysicalDevices() ([]Physical, error) {
	inst := toInstance(i.handle)
	for {
		var n uint32
		r := binding.EnumeratePhysicalDevices(inst, &n, nil)
		if err := check("vkEnumeratePhysicalDevices", r); err != nil {
			return nil, err
		}
		handles := make([]binding.PhysicalDevice, n)
		if n > 0 {
			r = binding.EnumeratePhysicalDevices(inst, &n, handles)
		}
		if Result(r) == incomplete { // one more since the count
			continue
		}
		if err := check("vkEnumeratePhysicalDevices", r); err != nil {
			return nil, err
		}
		list := make([]Physical, n)
		for k := range list {
			list[k] = Physical{inst: i, handle: fromPhysical(handles[k])}
		}
		return list, nil
	}
}

// DeviceType is a VkPhysicalDeviceType.
type DeviceType uint32

// Device types of Vulkan.
const (
	TypeOther DeviceType = iota
	TypeIntegrated
	TypeDiscrete
	TypeVirtual
	TypeCPU
)

func (t DeviceType) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("DeviceType(%d)", uint32(t))
}

var typeNames = [...]string{"other", "integrated", "discrete", "virtual", "cpu"}

// MemoryFlags are VkMemoryPropertyFlags.
type MemoryFlags uint32

// Properties of memory types.
const (
	DeviceLocal MemoryFlags = 1 << iota
	HostVisible
	HostCoherent
	HostCached
	LazilyAllocated
	Protected
)

// MemoryType is a kind of memory that buffers can live in.
type MemoryType struct {
	Flags MemoryFlags
	Heap  int
}

// Properties describe a physical device. Sizes are bytes.
type Properties struct {
	Name                string
	Type                DeviceType
	API                 uint32 // Vulkan version, packed as by VK_MAKE_API_VERSION
	DriverVersion       uint32 // packed as the vendor likes
	VendorID, DeviceID  uint32
	DriverID            uint32 // VkDriverId, 0 when unknown
	DriverName          string // empty when unknown
	DriverInfo          string
	DeviceUUID          [16]byte
	DriverUUID          [16]byte
	PipelineCacheUUID   [16]byte
	MaxStorageRange     int64
	MaxTexelElements    int64
	MaxAllocation       int64
	StorageAlign        int64
	TexelAlign          int64
	MaxGroups           [3]uint32
	MaxLocal            [3]uint32
	MaxInvocations      uint32
	MaxShared           uint32
	SubgroupSize        uint32
	ComputeUnits        uint32  // streaming multiprocessors, compute units; 0 where the device does not say
	SubgroupOps         uint32  // VkSubgroupFeatureFlags of compute shaders
	MaxArray            int64   // storage buffers of one Array; 0: FeatureArrays cannot be asked for
	MaxArrays           int64   // storage buffers of all arrays that there are at once
	TimestampPeriod     float64 // nanoseconds a tick
	Timeline            bool
	IntegerDot          bool
	IntegerDotFast      bool
	Float16             bool // shaderFloat16
	Int8                bool // shaderInt8
	Matrix              bool // FeatureMatrix can be asked for
	Calibrated          bool // Device.Calibrate
	Robust              bool // robustBufferAccess can be asked for
	StorageTexelRGBA32F bool
	MemoryTypes         []MemoryType
	Heaps               []int64
	HostImport          bool     // Device.ImportHost
	HostAlign           int64    // divides the address and the size of what it imports; 0 without
	OpaqueFD, DmaBuf    External // of buffers with all the usages that this package names
	Priorities          bool     // Queues.Priority can be asked for
	SyncFD              bool     // Device.SyncFD
	Binaries            bool     // VK_KHR_pipeline_binary: FeatureBinaries can be asked for
	Swapchain           bool     // VK_KHR_swapchain: FeatureSwapchain can be asked for, where the instance knows windows
	semaphoreFD         bool     // VK_KHR_external_semaphore_fd
	priorityExtension   uint32
	hasBudget           bool
}

// APIVersion is the Vulkan version as text.
func (p *Properties) APIVersion() string {
	return fmt.Sprintf("%d.%d.%d", p.API>>22&0x7f, p.API>>12&0x3ff, p.API&0xfff)
}

var errOld = errors.New("older than Vulkan 1.1")

// Properties reads the device's properties. The error is ErrIncompatibleDriver for a device older than 1.1.
func (p Physical) Properties() (*Properties, error) {
	var base binding.PhysicalDeviceProperties
	binding.GetPhysicalDeviceProperties(toPhysical(p.handle), &base)
	base.Deref()
	base.Limits.Deref()
	defer base.Free()
	out := &Properties{
		Name: binding.ToString(base.DeviceName[:]), Type: DeviceType(base.DeviceType), API: base.ApiVersion,
		DriverVersion: base.DriverVersion, VendorID: base.VendorID, DeviceID: base.DeviceID,
		PipelineCacheUUID: base.PipelineCacheUUID,
	}
	readLimits(out, &base.Limits)
	if out.API < 1<<22|1<<12 {
		return nil, fmt.Errorf("%s has Vulkan %s: %w: %w", out.Name, out.APIVersion(), ErrIncompatibleDriver, errOld)
	}
	info := C.nngpu_physical_query(p.inst.c, C.uint64_t(p.handle), C.uint32_t(out.API))
	if err := check("vkEnumerateDeviceExtensionProperties", info.result); err != nil {
		return nil, err
	}
	out.DriverID = uint32(info.driver_id)
	out.DriverName, out.DriverInfo = C.GoString(&info.driver_name[0]), C.GoString(&info.driver_info[0])
	for i := range out.DeviceUUID {
		out.DeviceUUID[i], out.DriverUUID[i] = byte(info.device_uuid[i]), byte(info.driver_uuid[i])
	}
	out.MaxAllocation = clampSize(uint64(info.max_allocation))
	out.SubgroupSize, out.SubgroupOps = uint32(info.subgroup_size), uint32(info.subgroup_ops)
	out.ComputeUnits = uint32(info.compute_units)
	out.Timeline = info.timeline != 0
	out.IntegerDot = info.integer_dot != 0
	out.IntegerDotFast = info.dot_fast != 0
	out.Float16 = info.float16 != 0
	out.Int8 = info.int8 != 0
	out.Matrix = info.matrix != 0
	out.Calibrated = info.calibrated != 0
	out.MaxArray, out.MaxArrays = int64(info.max_array), int64(info.max_arrays)
	out.Robust = info.robust != 0
	out.StorageTexelRGBA32F = info.texel_rgba32f != 0
	out.hasBudget = info.budget != 0
	out.semaphoreFD = info.semaphore_fd != 0
	out.SyncFD = p.exportsSemaphore(syncFD, out.semaphoreFD)
	out.Binaries = info.pipeline_binary != 0
	out.Swapchain = info.swapchain != 0
	out.priorityExtension = uint32(info.priority)
	out.Priorities = info.priority != 0
	// The extension is all that counts: SwiftShader imports buffers, but denies it when asked the way external asks.
	out.HostImport, out.HostAlign = info.host_memory != 0, clampSize(uint64(info.host_align))
	out.OpaqueFD = p.external(OpaqueFD, info.memory_fd != 0)
	out.DmaBuf = p.external(DmaBuf, info.dma_buf != 0)
	p.readMemory(out)
	return out, nil
}

func readLimits(out *Properties, l *binding.PhysicalDeviceLimits) {
	out.MaxStorageRange = int64(l.MaxStorageBufferRange)
	out.MaxTexelElements = int64(l.MaxTexelBufferElements)
	out.StorageAlign = int64(l.MinStorageBufferOffsetAlignment)
	out.TexelAlign = int64(l.MinTexelBufferOffsetAlignment)
	out.MaxGroups = l.MaxComputeWorkGroupCount
	out.MaxLocal = l.MaxComputeWorkGroupSize
	out.MaxInvocations = l.MaxComputeWorkGroupInvocations
	out.MaxShared = l.MaxComputeSharedMemorySize
	out.TimestampPeriod = float64(l.TimestampPeriod)
}

func (p Physical) readMemory(out *Properties) {
	var mem binding.PhysicalDeviceMemoryProperties
	binding.GetPhysicalDeviceMemoryProperties(toPhysical(p.handle), &mem)
	mem.Deref()
	defer mem.Free()
	for i := range mem.MemoryTypes[:mem.MemoryTypeCount] {
		t := &mem.MemoryTypes[i]
		t.Deref()
		out.MemoryTypes = append(out.MemoryTypes, MemoryType{Flags: MemoryFlags(t.PropertyFlags), Heap: int(t.HeapIndex)})
	}
	for i := range mem.MemoryHeaps[:mem.MemoryHeapCount] {
		h := &mem.MemoryHeaps[i]
		h.Deref()
		out.Heaps = append(out.Heaps, clampSize(uint64(h.Size)))
	}
}

// clampSize turns a VkDeviceSize into an int64; drivers say "no limit" with all bits set.
func clampSize(n uint64) int64 { return int64(min(n, 1<<62)) }

// Budget is the number of bytes of a heap that this process may expect to get: the driver's word where it
// has VK_EXT_memory_budget, else nine tenths of the heap.
func (p Physical) Budget(props *Properties, heap int) int64 {
	size := props.Heaps[heap]
	if props.hasBudget && heap < C.NNGPU_MAX_HEAPS {
		b := C.nngpu_physical_budget(p.inst.c, C.uint64_t(p.handle))
		if n := clampSize(uint64(b.budget[heap])); n > 0 {
			return min(n, size)
		}
	}
	return size / 10 * 9
}

// HasBudget reports whether Room has an answer: VK_EXT_memory_budget.
func (p *Properties) HasBudget() bool { return p.hasBudget }

// Room is the number of bytes of a heap that this process may expect to get beyond what it has, at this moment, by
// the driver's estimate of all processes. Precondition: HasBudget.
func (p Physical) Room(heap int) int64 {
	if heap >= C.NNGPU_MAX_HEAPS {
		return 1 << 62
	}
	b := C.nngpu_physical_budget(p.inst.c, C.uint64_t(p.handle))
	return max(clampSize(uint64(b.budget[heap]))-clampSize(uint64(b.usage[heap])), 0)
}

// QueueFamily is a group of like queues.
type QueueFamily struct {
	Compute, Graphics bool
	Count             int
	TimestampBits     int
}

// QueueFamilies lists the families by index, at most 16.
func (p Physical) QueueFamilies() []QueueFamily {
	c := C.nngpu_physical_families(p.inst.c, C.uint64_t(p.handle))
	list := make([]QueueFamily, int(c.count))
	for i := range list {
		list[i] = QueueFamily{
			Compute: c.flags[i]&2 != 0, Graphics: c.flags[i]&1 != 0, // VkQueueFlagBits
			Count: int(c.queues[i]), TimestampBits: int(c.timestamp_bits[i]),
		}
	}
	return list
}
