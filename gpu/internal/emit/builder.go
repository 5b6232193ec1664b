// Package emit builds the steps of a plan: values and their memory, dispatches, what moves data from one form to
// another, the choice among variants of a kernel, conversions of inputs and outputs, and at last lifetimes, places in
// the arena and barriers. It knows nodes by their tensors only, and no operation; no Vulkan handle.
package emit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// Value is a piece of memory that steps bind: a tensor, packed weights, or scratch. Values of the arena
// get their offset when the lifetimes are known.
type Value struct {
	id int // index into Builder.values; 0 is no value
}

type value struct {
	buffer plan.Buffer
	size   int64
	offset int64 // arena: filled in by the planner
	// of is the model input or output whose tensor this is, in the device's form or, in Host, in the client's.
	of plan.IORef
	// parent is the value in whose memory this is, at offset; 0: none.
	parent int
}

// Binding is what a kernel sees at one binding number: Size bytes of a value from Offset on. Size 0 means
// all of it.
type Binding struct {
	Value  Value
	Format plan.Format
	Offset int64 // multiple of plan.Align
	Size   int64
	Write  bool
	// Apart is a number of Builder.Apart that several bindings share of which no two touch the same bytes, although
	// their ranges overlap, so that no barrier is needed between them. 0: nothing is known.
	Apart int
}

// step is a plan.Step whose arena offsets are not known yet.
type step struct {
	plan.Step
	refs []Binding
}

// Builder collects the steps of a plan. Between NewBuilder and Finish it is used by one goroutine: first PlaceIO and
// PlaceIn, then LoadInputs, the nodes, StoreOutputs.
type Builder struct {
	Facts *plan.Facts
	Graph *ir.Graph

	values  []value
	tensors []Value // by ir.ID; zero: not placed yet
	steps   []step
	weights *pack.Weights

	label   string
	why     []string   // see Because
	asked   int        // choices since Begin
	serves  plan.IORef // of the steps that are appended
	when    plan.When
	host    []hostTensor  // inputs in host memory
	hostOut []hostTensor  // outputs
	shared  map[int]bool  // values that several tensors name, or parts of them
	readers []int         // see uses
	made    map[any]Value // see Once
	aparts  int           // see Apart
	blocks  int64         // see Blocks
}

// NewBuilder returns a builder for g on a device with the given facts.
func NewBuilder(f *plan.Facts, g *ir.Graph) *Builder {
	return &Builder{
		Facts: f, Graph: g, values: make([]value, 1), tensors: make([]Value, len(g.Tensors)),
		weights: pack.NewWeights(pack.ConstantBytes(g)), shared: map[int]bool{}, made: map[any]Value{},
	}
}

// Begin says what the following steps are for: a label for people.
func (b *Builder) Begin(label string) { b.label, b.why, b.asked = label, nil, 0 }

// Because notes for profiles why the kernel of the following steps is the right one.
func (b *Builder) Because(why string) {
	if !slices.Contains(b.why, why) { // an operation may have thousands of steps that are chosen alike
		b.why = append(b.why, why)
	}
}

// Instead notes why, in place of what was noted for kernels that were tried before.
func (b *Builder) Instead(why string) { b.why = []string{why} }

// Err is the first failure so far, of packing weights; see pack.Weights.
func (b *Builder) Err() error { return b.weights.Err() }

// Layout returns the device layout of tensor id.
func (b *Builder) Layout(id ir.ID) pack.Layout { return pack.LayoutOf(b.Graph.T(id)) }

// Temp reserves size bytes of the arena for use between steps of one node.
func (b *Builder) Temp(size int64) Value { return b.newValue(plan.Arena, size, 0) }

// Host is size bytes of host memory from offset on, in which a model input or output lies as the client sees it.
func (b *Builder) Host(size, offset int64, of plan.IORef) Value {
	v := b.newValue(plan.Host, size, offset)
	b.values[v.id].of = of
	return v
}

// Once returns what do made when it was first asked for with the same key: scratch that several nodes read, and none
// writes.
func (b *Builder) Once(key any, do func() Value) Value {
	v, ok := b.made[key]
	if !ok {
		v = do()
		b.made[key] = v
	}
	return v
}

// Apart returns another number for Binding.Apart.
func (b *Builder) Apart() int {
	b.aparts++
	return b.aparts
}

func (b *Builder) newValue(buffer plan.Buffer, size, offset int64) Value {
	id := len(b.values)
	b.values = append(b.values, value{buffer: buffer, size: size, offset: offset})
	return Value{id}
}

// Tensor returns the memory of tensor id in its device layout. Constants are placed among the weights at
// first use.
func (b *Builder) Tensor(id ir.ID) Value {
	if !b.Placed(id) {
		t := b.Graph.T(id)
		if l := pack.LayoutOf(t); t.Const != nil {
			recipe := pack.Recipe{How: "Pad", Shape: [6]int{l.Rows, l.C, l.Elem}}
			b.tensors[id] = b.Packed(t.Const, recipe, l.Bytes(), func(dst []byte) { l.Pad(dst, t.Const) })
		} else {
			b.tensors[id] = b.Temp(l.Bytes())
		}
	}
	return b.tensors[id]
}

// Bound is pack.Weights.Bound. Without it, the model's constants are taken to be those of the graph.
func (b *Builder) Bound(ctx context.Context, n int64, fits pack.Fits) { b.weights.Bound(ctx, n, fits) }

// Packed places n bytes that do fills from constant c by recipe r; the same are not made again.
func (b *Builder) Packed(c []byte, r pack.Recipe, n int64, do pack.Fill) Value {
	return b.newValue(plan.Weights, n, b.weights.Make(b.label, c, r, n, do))
}

// Weights places packed constants, which it retains; equal bytes share a place.
func (b *Builder) Weights(data []byte) Value {
	return b.newValue(plan.Weights, int64(len(data)), b.weights.Place(b.label, data))
}

// WeightsU32 places words.
func (b *Builder) WeightsU32(words []uint32) Value { return b.Weights(pack.WordBytes(words)) }

// WeightsF32 places floats.
func (b *Builder) WeightsF32(v []float32) Value { return b.Weights(pack.FloatBytes(v)) }

// Read binds all of v as a storage buffer or, with a format, as a texel buffer.
func (b *Builder) Read(v Value, f plan.Format) Binding { return Binding{Value: v, Format: f} }

// Write binds all of v for writing.
func (b *Builder) Write(v Value, f plan.Format) Binding {
	return Binding{Value: v, Format: f, Write: true}
}

// In binds tensor id for reading as a storage buffer.
func (b *Builder) In(id ir.ID) Binding { return b.Read(b.Tensor(id), plan.FormatNone) }

// Out binds tensor id for writing as a storage buffer.
func (b *Builder) Out(id ir.ID) Binding { return b.Write(b.Tensor(id), plan.FormatNone) }

// FitsTexels reports whether all of v, a tensor, can be bound as one texel buffer of format f.
func (b *Builder) FitsTexels(v Value, f plan.Format) bool {
	return !b.Facts.BuffersOnly && b.values[v.id].size/f.TexelBytes() <= b.Facts.MaxTexelElements
}

// Cost is the work of a step for the estimate of its time.
type Cost struct {
	FLOP  float64 // multiplications and additions
	Bytes float64 // read and written; 0: the sum of the bindings
}

// QuadLocal is the workgroup size of kernels in which one invocation handles one quad.
const QuadLocal = 64

// Quads appends a dispatch of count invocations in workgroups of QuadLocal; see Dispatch.
func (b *Builder) Quads(k shaders.Kernel, count int, push []uint32, c Cost, bindings ...Binding) {
	b.Dispatch(k, QuadLocal, count, push, c, bindings...)
}

// rowGroups is the number of workgroups in a row of a dispatch; see shaders/include/common.glsl.
const rowGroups = 32768

// Dispatch appends a dispatch of count invocations in workgroups of localX. push holds the kernel's push
// constants; bindings are in the order of the kernel's binding numbers.
func (b *Builder) Dispatch(k shaders.Kernel, localX uint32, count int, push []uint32, c Cost, bindings ...Binding) {
	b.dispatch(k, plan.Flat(localX), Grid((count+int(localX)-1)/int(localX)), push, c, bindings)
}

// Grid is the shape of a dispatch of that many workgroups, or a few more, which kernels count through.
func Grid(groups int) [3]uint32 {
	if groups > rowGroups {
		return [3]uint32{rowGroups, uint32((groups + rowGroups - 1) / rowGroups), 1}
	}
	return [3]uint32{uint32(groups), 1, 1}
}

// DispatchGroups appends a dispatch of these workgroups, whose shape follows from the kernel's description.
func (b *Builder) DispatchGroups(k shaders.Kernel, groups [3]uint32, push []uint32, c Cost, bindings ...Binding) {
	b.dispatch(k, b.Facts.Workgroup(k.Info(), 0), groups, push, c, bindings)
}

func (b *Builder) dispatch(k shaders.Kernel, local, groups [3]uint32, push []uint32, c Cost, bindings []Binding) {
	info := k.Info()
	if len(push) != info.PushWords || len(bindings) != len(info.Bindings) {
		panic(fmt.Sprintf("emit: %v takes %d push words and %d bindings, got %d and %d", k, info.PushWords, len(info.Bindings), len(push), len(bindings)))
	}
	for i, bd := range bindings {
		if (info.Bindings[i] == 's') != (bd.Format == plan.FormatNone) {
			panic(fmt.Sprintf("emit: %v binding %d is of the wrong kind", k, i))
		}
	}
	s := step{refs: bindings}
	s.Kernel, s.Local, s.Groups, s.Push = k, local, groups, push
	b.append(&s, c)
}

// Copy appends a copy of size bytes between the starts of two values.
func (b *Builder) Copy(dst, src Value, size int64) {
	s := step{refs: []Binding{{Value: src, Size: size}, {Value: dst, Size: size, Write: true}}}
	s.Kernel = shaders.Copy
	b.append(&s, Cost{})
}

func (b *Builder) append(s *step, c Cost) {
	s.FLOP, s.Bytes = c.FLOP, c.Bytes
	s.Label, s.Transfers, s.When = b.label, b.serves, b.when
	s.Why = b.reasons(s)
	for i := range s.refs {
		s.refs[i].Size = b.Bytes(s.refs[i])
		if c.Bytes == 0 {
			s.Bytes += float64(s.refs[i].Size)
		}
	}
	b.steps = append(b.steps, *s)
}

// Bytes is the size of what r binds.
func (b *Builder) Bytes(r Binding) int64 {
	if r.Size != 0 {
		return r.Size
	}
	return b.values[r.Value.id].size - r.Offset
}

// reasons are those that were noted, and those that follow from the bindings of s.
func (b *Builder) reasons(s *step) string {
	list := b.why
	if slices.ContainsFunc(s.refs, func(r Binding) bool {
		return r.Format != plan.FormatNone && !r.Write && b.values[r.Value.id].buffer != plan.Weights
	}) {
		list = append(slices.Clip(list), "reads texels")
	}
	return strings.Join(list, "; ")
}
