package plan

// Class groups devices by how kernels run fast on them.
type Class string

// Device classes. See docs/architecture.md for what is chosen by class.
const (
	ClassCPU Class = "cpu" // software implementations: big register tiles, no shared memory
	ClassGPU Class = "gpu"
)

// Facts is what the compiler knows of a device. Plans made for equal facts are equal.
type Facts struct {
	Class            Class
	MaxStorageRange  int64 // bytes of one storage buffer binding
	MaxTexelElements int64 // texels of one texel buffer binding
	StorageAlign     int64 // bytes
	TexelAlign       int64 // bytes
	MaxLocalX        uint32
	MaxInvocations   uint32 // of one workgroup
	MaxGroupsX       uint32
	MaxGroupsY       uint32
	SubgroupSize     uint32
	// IntegerDot: packed 4x8-bit dot products are a feature of the device and enabled.
	IntegerDot bool
	// IntegerDotFast: the device reports them as accelerated, of mixed signedness too.
	IntegerDotFast bool
	// Float16: arithmetic with floats of 16 bits is a feature of the device and enabled.
	Float16 bool
	// StorageTexelRGBA32F: storage texel buffers of this format can be written.
	StorageTexelRGBA32F bool
	// MaxLoop is the number of iterations that a rolled loop may have; 0 for any. lower stays below 60,000
	// everywhere, which a device must do to be accepted.
	MaxLoop int
	// TexelStores: the driver compiles kernels that store to storage buffers several times slower than those
	// that store to texel buffers.
	TexelStores bool
	// Quick: kernels that compile fast are better than kernels that run fast.
	Quick bool
	// Unified: device-local memory is host-visible, so that Host memory is as good as the arena.
	Unified bool
	// Measured are the rates that were measured on the device; zero where they were not. They decide how steps are
	// cut into segments, not what is computed.
	Measured Rates `json:"-"`
	// TimestampPeriod is nanoseconds a tick; 0 where the queue has no timestamps.
	TimestampPeriod float64
}
