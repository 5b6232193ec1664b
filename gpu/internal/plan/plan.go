// Package plan is the compiled form of a model: buffers, steps, segments.
//
// A Plan is immutable and holds no Vulkan handle. Steps are in submission order; every byte of the
// arena is written before it is read; offsets and sizes are bytes. Packed weights travel beside the
// plan, so that a plan is small and can be printed, compared and stored.
package plan

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders"
)

// Align is the alignment of every tensor in the arena and in the weights, in bytes: the largest
// minStorageBufferOffsetAlignment and minTexelBufferOffsetAlignment that Vulkan allows.
const Align = 256

//go:generate go tool stringer -linecomment -output=names_gen.go -type=Buffer,Format,When

// Buffer names one of the memories that a step can bind.
type Buffer uint8

// The memories of an execution.
const (
	// Arena holds intermediate results; one for each slot; device-local.
	Arena Buffer = iota // arena
	// Weights holds packed constants; shared by all slots; device-local; read-only.
	Weights // weights
	// Host holds model inputs and outputs as clients see them; one for each slot; host-visible.
	Host // host
)

// Format is the texel format of a binding; FormatNone for a storage buffer, FormatBlocks for an array of them.
type Format uint8

// Texel formats that kernels use; all are required of every Vulkan device for uniform texel buffers.
const (
	FormatNone    Format = iota // buf
	FormatRGBA32F               // rgba32f
	FormatRGBA32U               // rgba32ui
	FormatR32U                  // r32ui
	FormatRG32U                 // rg32ui
	// FormatBlocks: an array of storage buffers, as large as the kernel says (family.Needs.BlockBytes).
	FormatBlocks // blocks
)

// TexelBytes is the size of one texel, 0 where there are none. Precondition: f is one of those above.
func (f Format) TexelBytes() int64 { return [...]int64{0, 16, 16, 4, 8, 0}[f] }

// Texels reports whether f is a format of texels.
func (f Format) Texels() bool { return f != FormatNone && f != FormatBlocks }

// Binding is the range of a memory that a kernel sees at one binding number. Offset is a multiple of
// Align.
type Binding struct {
	Buffer Buffer
	Format Format
	Offset int64
	Size   int64
	Write  bool // the step writes it (and may read it too)
	// Of names the model input or output whose tensor this is a part of, from byte At of the tensor on, a
	// multiple of Align. Where an execution binds that in memory of its own, the step sees that memory:
	// imported memory in place of Host, allocated memory in place of Host and Arena.
	Of IORef
	At int64
}

// IORef names a model input or output; the zero value names none.
type IORef int32

// InputRef names input i.
func InputRef(i int) IORef { return IORef(i + 1) }

// OutputRef names output i.
func OutputRef(i int) IORef { return -IORef(i + 1) }

// Input returns the input that r names.
func (r IORef) Input() (i int, ok bool) { return int(r) - 1, r > 0 }

// Output returns the output that r names.
func (r IORef) Output() (i int, ok bool) { return -int(r) - 1, r < 0 }

func (r IORef) String() string {
	if i, ok := r.Input(); ok {
		return fmt.Sprintf("input %d", i)
	}
	if i, ok := r.Output(); ok {
		return fmt.Sprintf("output %d", i)
	}
	return "none"
}

// When says in which executions a step runs.
type When uint8

const (
	// Always runs whatever is bound.
	Always When = iota // always
	// WhenDense runs unless Step.Transfers is bound in allocated memory.
	WhenDense // dense
	// WhenDevice runs only if Step.Transfers is bound in allocated memory.
	WhenDevice // device
)

// Step is one dispatch, or one copy when Kernel is shaders.Copy: from Bindings[0] to Bindings[1], of
// Bindings[1].Size bytes.
//
// A step that is left out leaves its barrier to the next one that runs.
type Step struct {
	Kernel   shaders.Kernel
	Local    [3]uint32 // shape of a workgroup: that of the kernel's description, where this fixes it
	Base     [3]uint32 // the first workgroup: a long dispatch is several steps
	Groups   [3]uint32 // workgroups from Base on; Base + Groups is at most MaxGroups each
	Push     []uint32  // push constants, at most 32 words
	Bindings []Binding // by binding number
	// Barrier: the step must see what earlier steps of this execution wrote, or overwrites what they
	// read. The first step of an execution never needs one.
	Barrier bool
	// Transfers is the input or output that this step does nothing but bring from one place or form to another;
	// none for a step that computes.
	Transfers IORef
	When      When
	Label     string  // operation and its position, and those that are fused into it, for dumps and profiles
	Why       string  // what made the compiler choose the kernel, for profiles; empty where there is no other
	FLOP      float64 // multiplications and additions
	Bytes     float64 // bytes read and written
}

// IO is a model input or output in the Host memory: Size dense, row-major bytes at Offset. Size is 0
// for an omitted input.
type IO struct {
	Name   string
	Offset int64
	Size   int64
	// DeviceBytes is the size in the device's form, which allocated memory holds. At least Size.
	DeviceBytes int64
}

// Plan is a compiled model.
type Plan struct {
	ArenaBytes  int64
	WeightBytes int64
	HostBytes   int64
	Inputs      []IO
	Outputs     []IO
	Steps       []Step
	// Segments[i] is the index of the first step after segment i; the last is len(Steps). A segment is
	// submitted as a whole.
	Segments []int
}

// Flat is the shape of a workgroup of n invocations in a row.
func Flat(n uint32) [3]uint32 { return [3]uint32{n, 1, 1} }

// Pipeline is what distinguishes two compute pipelines.
type Pipeline struct {
	Kernel shaders.Kernel
	Local  [3]uint32 // shape of a workgroup
}

// Pipeline that runs s, which is no Copy.
func (s *Step) Pipeline() Pipeline { return Pipeline{s.Kernel, s.Local} }

// Pipelines lists the distinct pipelines of p in the order of first use.
func (p *Plan) Pipelines() []Pipeline {
	var list []Pipeline
	seen := map[Pipeline]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		k := s.Pipeline()
		if s.Kernel != shaders.Copy && !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

// IO returns the input or output that r names. Precondition: it names one of p's.
func (p *Plan) IO(r IORef) *IO {
	if i, ok := r.Input(); ok {
		return &p.Inputs[i]
	}
	i, _ := r.Output()
	return &p.Outputs[i]
}

// FLOP is the sum over all steps.
func (p *Plan) FLOP() float64 {
	var n float64
	for i := range p.Steps {
		n += p.Steps[i].FLOP
	}
	return n
}
