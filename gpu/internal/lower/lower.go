// Package lower turns the nodes of a graph into the steps of a plan: it chooses kernels, has weights packed and
// computes push constants. One op family a file, with the stem of its file in driver/ops and its folder in
// shaders.
//
// A rule has a check and a lowering; the check is the one predicate that Supports, Compile and the fusion
// passes ask. Choices between kernels follow plan.Facts, never a vendor. No Vulkan handle.
package lower

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// rule lowers one operation.
type rule struct {
	// check reports why the device cannot run n, nil when it can. lower must succeed after it.
	check func(f *plan.Facts, g *ir.Graph, n *ir.Node) error
	lower func(b *Builder, n *ir.Node) error
	// divide returns the ways to divide n where its tensors are too large, none where there are none; nil: never.
	// Precondition: check has nothing against n but the size of its tensors.
	divide func(g *ir.Graph, n *ir.Node) []division
	// inPlace: lower lets the output have the memory of the first input, where that is as large.
	inPlace bool
}

var rules = map[nn.OperationType]rule{}

// register adds a rule for each of types; called by the init function of each family's file.
func register(r rule, types ...nn.OperationType) {
	for _, t := range types {
		if _, twice := rules[t]; twice {
			panic(fmt.Sprintf("lower: %v has two rules", t))
		}
		rules[t] = r
	}
}

// Check reports why the device cannot run node n of g, nil when it can.
func Check(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	r, ok := rules[n.Op]
	if !ok {
		return fmt.Errorf("no kernel does %v", n.Op)
	}
	err := r.check(f, g, n)
	if !oversized(f, g, n) {
		return err
	}
	if err != nil {
		if _, err = divide(f, g, n, err); err != nil {
			return err
		}
	}
	return checkExchanges(f, g, n)
}

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
}

// step is a plan.Step whose arena offsets are not known yet.
type step struct {
	plan.Step
	refs []Binding
}

// Builder collects the steps of a plan.
type Builder struct {
	Facts *plan.Facts
	Graph *ir.Graph

	values  []value
	tensors []Value // by ir.ID; zero: not placed yet
	steps   []step
	weights *pack.Weights

	label   string
	why     []string   // see because
	serves  plan.IORef // of the steps that are appended
	when    plan.When
	host    []hostTensor // inputs in host memory
	hostOut []hostTensor // outputs
	shared  map[int]bool // values that several tensors name, or parts of them
	readers []int        // see uses
}

// NewBuilder returns a builder for g on a device with the given facts.
func NewBuilder(f *plan.Facts, g *ir.Graph) *Builder {
	return &Builder{
		Facts: f, Graph: g, values: make([]value, 1), tensors: make([]Value, len(g.Tensors)),
		weights: pack.NewWeights(pack.ConstantBytes(g)), shared: map[int]bool{},
	}
}

// Layout returns the device layout of tensor id.
func (b *Builder) Layout(id ir.ID) pack.Layout { return pack.LayoutOf(b.Graph.T(id)) }

// Temp reserves size bytes of the arena for use between steps of one node.
func (b *Builder) Temp(size int64) Value { return b.newValue(plan.Arena, size, 0) }

func (b *Builder) newValue(buffer plan.Buffer, size, offset int64) Value {
	id := len(b.values)
	b.values = append(b.values, value{buffer: buffer, size: size, offset: offset})
	return Value{id}
}

// Tensor returns the memory of tensor id in its device layout. Constants are placed among the weights at
// first use.
func (b *Builder) Tensor(id ir.ID) Value {
	if b.tensors[id].id == 0 {
		t := b.Graph.T(id)
		if l := pack.LayoutOf(t); t.Const != nil {
			recipe := pack.Recipe{How: "Pad", Shape: [6]int{l.Rows, l.C, l.Elem}}
			b.tensors[id] = b.Packed(t.Const, recipe, l.Bytes(), func() []byte { return l.Pad(t.Const) })
		} else {
			b.tensors[id] = b.Temp(l.Bytes())
		}
	}
	return b.tensors[id]
}

// LimitWeights says that the model has constants of n bytes; NewBuilder assumes that it has those of the graph.
func (b *Builder) LimitWeights(n int64) { b.weights.Limit(n) }

// Bound lets ctx stop the builder between packings, and fits as soon as the weights are too large; see pack.Weights.
func (b *Builder) Bound(ctx context.Context, fits pack.Fits) { b.weights.Bound(ctx, fits) }

// Packed places n bytes that do makes of constant c by recipe r; what was made once is not made again.
func (b *Builder) Packed(c []byte, r pack.Recipe, n int64, do func() []byte) Value {
	return b.newValue(plan.Weights, n, b.weights.Make(b.label, c, r, n, do))
}

// Weights places packed constants, which it retains; what has the same bytes has the same place.
func (b *Builder) Weights(data []byte) Value {
	return b.newValue(plan.Weights, int64(len(data)), b.weights.Place(b.label, data))
}

// WeightsU32 places words.
func (b *Builder) WeightsU32(words []uint32) Value { return b.Weights(pack.WordBytes(words)) }

// WeightsF32 places floats.
func (b *Builder) WeightsF32(v []float32) Value { return b.Weights(pack.FloatBytes(v)) }

// Alias makes out another name for the memory of in, which must have the same device layout.
//
// Precondition: nothing was bound to out before.
func (b *Builder) Alias(out, in ir.ID) {
	if b.tensors[out].id != 0 {
		panic("lower: alias of a tensor that has memory")
	}
	b.tensors[out] = b.Tensor(in)
	b.shared[b.tensors[out].id] = true
}

// CanAlias reports whether out has no memory of its own yet (it is no model output placed in host memory).
func (b *Builder) CanAlias(out ir.ID) bool { return b.tensors[out].id == 0 }

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

// rowGroups is the number of workgroups in a row of a dispatch; see shaders/include/common.glsl.
const rowGroups = 32768

// Dispatch appends a dispatch of count invocations in workgroups of localX. push holds the kernel's push
// constants; bindings are in the order of the kernel's binding numbers.
func (b *Builder) Dispatch(k shaders.Kernel, localX uint32, count int, push []uint32, c Cost, bindings ...Binding) {
	groups := (count + int(localX) - 1) / int(localX)
	grid := [3]uint32{uint32(groups), 1, 1}
	if groups > rowGroups {
		grid = [3]uint32{rowGroups, uint32((groups + rowGroups - 1) / rowGroups), 1}
	}
	b.dispatch(k, plan.Flat(localX), grid, push, c, bindings)
}

// DispatchGroups appends a dispatch of so many workgroups, whose shape the kernel's description fixes.
func (b *Builder) DispatchGroups(k shaders.Kernel, groups [3]uint32, push []uint32, c Cost, bindings ...Binding) {
	b.dispatch(k, k.Info().Workgroup, groups, push, c, bindings)
}

func (b *Builder) dispatch(k shaders.Kernel, local, groups [3]uint32, push []uint32, c Cost, bindings []Binding) {
	info := k.Info()
	if len(push) != info.PushWords || len(bindings) != len(info.Bindings) {
		panic(fmt.Sprintf("lower: %v takes %d push words and %d bindings, got %d and %d", k, info.PushWords, len(info.Bindings), len(push), len(bindings)))
	}
	for i, bd := range bindings {
		if (info.Bindings[i] == 's') != (bd.Format == plan.FormatNone) {
			panic(fmt.Sprintf("lower: %v binding %d is of the wrong kind", k, i))
		}
	}
	s := step{refs: bindings}
	s.Kernel, s.Local, s.Groups, s.Push, s.Label = k, local, groups, push, b.label
	b.finishStep(&s, c)
}

// Copy appends a copy of size bytes between the starts of two values.
func (b *Builder) Copy(dst, src Value, size int64) {
	s := step{refs: []Binding{{Value: src, Size: size}, {Value: dst, Size: size, Write: true}}}
	s.Kernel, s.Label = shaders.Copy, b.label
	b.finishStep(&s, Cost{})
}

func (b *Builder) finishStep(s *step, c Cost) {
	s.FLOP, s.Bytes = c.FLOP, c.Bytes
	s.Serves, s.When = b.serves, b.when
	s.Why = b.reasons(s)
	for i := range s.refs {
		if s.refs[i].Size == 0 {
			s.refs[i].Size = b.values[s.refs[i].Value.id].size - s.refs[i].Offset
		}
		if c.Bytes == 0 {
			s.Bytes += float64(s.refs[i].Size)
		}
	}
	b.steps = append(b.steps, *s)
}

// because notes for profiles what made the kernel of the steps that follow the right one.
func (b *Builder) because(why string) { b.why = append(b.why, why) }

// reasons is what was noted, and what the bindings of s tell.
func (b *Builder) reasons(s *step) string {
	list := b.why
	if slices.ContainsFunc(s.refs, func(r Binding) bool {
		return r.Format != plan.FormatNone && !r.Write && b.values[r.Value.id].buffer != plan.Weights
	}) {
		list = append(slices.Clip(list), "reads texels")
	}
	return strings.Join(list, "; ")
}

// Node lowers n. Precondition: Check(n) is nil.
//
// Errors: those of pack.Weights.
func (b *Builder) Node(n *ir.Node) error {
	b.label, b.why = n.Label(), nil
	lower := rules[n.Op].lower
	if oversized(b.Facts, b.Graph, n) {
		if err := rules[n.Op].check(b.Facts, b.Graph, n); err != nil {
			lower = func(b *Builder, n *ir.Node) error { return b.inPieces(n, err) }
		}
	}
	if err := lower(b, n); err != nil {
		return err
	}
	return b.weights.Err()
}

// quadLocal is the workgroup size of kernels that handle one quad an invocation.
const quadLocal = 64

// f32 is the push constant of a float.
func f32(x float64) uint32 { return math.Float32bits(float32(x)) }
