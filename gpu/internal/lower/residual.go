package lower

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// residual is the position, among the inputs of a convolution, of a tensor that is added to the product. Most convolutions
// have none. One that has it applies its activation after the addition; its second output stands for the product alone,
// which no node reads, but whose scale and zero point count.
const residual = 3

// Adds returns one node that does the work of convolution p and of add, an ADD that is the only reader of p's result. Not
// ok on processors, where an ADD of its own is as fast, and for operands that no kernel adds.
func Adds(f *plan.Facts, g *ir.Graph, p, add *ir.Node) (both ir.Node, ok bool) {
	y := g.T(add.Out[0])
	switch {
	case f.Class != plan.ClassGPU || !y.Type.IsFloat() && !y.Type.IsQuant8():
		return both, false
	case p.Op != nn.OpConv2D && p.Op != nn.OpFullyConnected && p.Op != nn.OpGroupedConv2D || len(p.In) > residual:
		return both, false
	case activation(p) != nn.ActNone || oversized(f, g, p) || oversized(f, g, add):
		return both, false
	}
	other := add.In[0]
	if other == p.Out[0] {
		other = add.In[1]
	}
	if other == p.Out[0] || !slices.Equal(g.T(other).Shape, y.Shape) || !slices.Equal(g.T(p.Out[0]).Shape, y.Shape) {
		return both, false
	}
	both = *p
	both.Fuse(add)
	both.In, both.Out = append(slices.Clone(p.In), other), []ir.ID{add.Out[0], p.Out[0]}
	both.Attrs = p.Attrs.(ops.Activated).WithActivation(activation(add))
	return both, true
}

// apartFrom divides n, a node of Adds, into the convolution and the ADD that it was made of.
func apartFrom(n *ir.Node) (product, add *ir.Node) {
	p := *n
	p.In, p.Out, p.Attrs = n.In[:residual], n.Out[1:], n.Attrs.(ops.Activated).WithActivation(nn.ActNone)
	return &p, &ir.Node{
		Op: nn.OpAdd, In: []ir.ID{n.Out[1], n.In[residual]}, Out: n.Out[:1], Attrs: ops.Arithmetic{Act: activation(n)}, Source: n.Source,
	}
}

// adder reports whether k can add a tensor to its results, for which it has a push constant and a binding.
func adder(k family.Gemm) bool { return k.Matrix != (family.Matrix{}) || k.Shared && k.M > 1 }

// adds reports whether k does the ADD of c, whose constants lie among those of the channels if it is one of 8 bits.
func (c *conv) adds(k family.Gemm) bool {
	return c.add != nil && adder(k) && (k.Elem != family.Q8 || c.constant())
}

// end are the push constants for what becomes of c's sums of floats in k.
func (c *conv) end(k family.Gemm) emit.Push {
	switch {
	case c.adds(k):
		return emit.Push(pack.Bounds(c.Y, activation(c.add))).Ints(1)
	case adder(k):
		return emit.Push(pack.Bounds(c.Y, activation(c.node))).Ints(0)
	}
	return pack.Bounds(c.Y, activation(c.node))
}

// records are those of so many quads of channels of 8 bits, behind them the constants of the ADD if k does that, in whole
// quads of words, and where these begin; 0: there are none.
func (c *conv) records(g *ir.Graph, k family.Gemm, quads int, bias []int) (list []uint32, addend int) {
	list = c.Channels(quads, bias)
	if !c.adds(k) {
		return list, 0
	}
	addend = len(list) / 4
	o := binaries[nn.OpAdd]
	list = append(list, o.quantPush(g.T(c.add.In[0]), g.T(c.add.In[1]), g.T(c.add.Out[0]), activation(c.add))...)
	return append(list, make([]uint32, -len(list)&3)...), addend
}

// result binds the result of c in k and, if k is an adder, what it and the kernel that ends its sums bind behind all else:
// the tensor that c adds, by which that is done, or unused.
func (c *conv) result(b *emit.Builder, k family.Gemm, unused emit.Value) (y emit.Binding, added []emit.Binding) {
	out := c.node.Out[0]
	if c.adds(k) {
		other := c.add.In[1]
		out, unused = c.add.Out[0], b.Tensor(other)
		b.InPlace(out, other)
		c.add = nil
	}
	if adder(k) {
		added = []emit.Binding{b.Read(unused, plan.FormatNone)}
	}
	return b.Out(out), added
}

// QuickAdd is the ADD that s does along with its product, as the step of its own that it is in a quick form, with what
// plan.Facts.StepTime needs of it. Not ok if s adds nothing. Of the parts of a split step only the first one has it.
func QuickAdd(s *plan.Step) (add plan.Step, ok bool) {
	elem, channels := family.Elem(""), 2
	switch k := s.Kernel.Key().(type) {
	case family.Gemm:
		if !adder(k) || k.Split || s.Groups[2] > 1 { // sums in parts: GemmSum ends them; a batch adds nothing
			return add, false
		}
		elem = k.Elem
	case family.GemmSum:
		elem, channels = k.Elem, 1
	default:
		return add, false
	}
	added, unused := s.Bindings[len(s.Bindings)-1], s.Bindings[channels] // see conv.result
	if s.Base != [3]uint32{} || added.Buffer == unused.Buffer && added.Offset == unused.Offset {
		return add, false
	}
	k := family.Binary{Op: family.Add, Elem: elem, Operands: family.Same}
	if elem == family.Q8 {
		k.Op = family.AddSub
	}
	return plan.Step{Kernel: shaders.Of(k), Local: plan.Flat(emit.QuadLocal), Bytes: 3 * float64(added.Size)}, true
}
