package lower

import (
	"cmp"
	"fmt"
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

// Paddings, permutations and axes that are known only at run time lie in memory, as the second input of their node, and
// the kernels read them there. They may hold anything: the shapes are those that the model states, and values that
// contradict them give wrong results, but never an access outside of a tensor.

// maxRuntimeRank bounds the loops over dimensions.
const maxRuntimeRank = 64

// hasRuntimeParam reports whether the parameter of PAD, TRANSPOSE or MEAN node n is a tensor.
func hasRuntimeParam(n *ir.Node) bool { return len(n.In) == 2 }

// checkRuntimeParam checks the parameter of n, which must have the given shape.
func checkRuntimeParam(g *ir.Graph, n *ir.Node, shape ...int) error {
	if n.In[1] == ir.None {
		return fmt.Errorf("the parameter has no value")
	}
	t := g.T(n.In[1])
	if t.Type != nn.TensorInt32 || !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("a parameter of %v %v instead of %v %v", t.Type, t.Shape, nn.TensorInt32, shape)
	}
	return nil
}

func checkPadRuntime(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]).Shape, g.T(n.Out[0]).Shape
	if len(in) == 0 || len(in) != len(out) || len(in) > maxRuntimeRank {
		return fmt.Errorf("padding of %v to %v", in, out)
	}
	for i := range in {
		if in[i] > out[i] {
			return fmt.Errorf("padding of %v to %v", in, out)
		}
	}
	return cmp.Or(checkRuntimeParam(g, n, len(in), 2), checkMoved(f, g, firstInputOnly(n)))
}

func lowerPadRuntime(b *emit.Builder, n *ir.Node) {
	from, to := b.Layout(n.In[0]), b.Layout(n.Out[0])
	push := emit.Ints(to.TotalQuads()).Divisors(to.Quads).Ints(len(to.Dims), 4*from.Quads, 4*from.TotalQuads()-1)
	var k shaders.Kernel
	if n.Op == nn.OpMirrorPad {
		k = shaders.Of(family.Move{Op: family.MirrorRuntime, Bytes: to.Elem})
		push = push.Ints(number(n.Attrs.(ops.MirrorPadding).Symmetric))
	} else {
		k = shaders.Of(family.Move{Op: family.PadRuntime, Bytes: to.Elem})
		push = push.Words(fillOf(n, b.Graph.T(n.Out[0]).Type))
	}
	moveRuntime(b, k, n, from.Dims, push)
}

func checkTransposeRuntime(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if len(in.Shape) == 0 || len(in.Shape) != len(out.Shape) || len(in.Shape) > maxRuntimeRank || in.Elements() != out.Elements() {
		return fmt.Errorf("transposition of %v to %v", in.Shape, out.Shape)
	}
	return cmp.Or(checkRuntimeParam(g, n, len(in.Shape)), checkMoved(f, g, firstInputOnly(n)))
}

func lowerTransposeRuntime(b *emit.Builder, n *ir.Node) {
	from, to := b.Layout(n.In[0]), b.Layout(n.Out[0])
	last := len(from.Dims) - 1
	strides := make([]int, len(from.Dims))
	strides[last] = 1
	size := 4 * from.Quads
	for i := last - 1; i >= 0; i-- {
		strides[i] = size
		size *= from.Dims[i]
	}
	push := emit.Ints(to.TotalQuads()).Divisors(to.Quads).Ints(len(to.Dims), 4*from.TotalQuads()-1)
	k := shaders.Of(family.Move{Op: family.TransposeRuntime, Bytes: to.Elem})
	moveRuntime(b, k, n, strides, push)
}

// moveRuntime dispatches a kernel that gathers the output's quads. of has what the kernel needs to know of each
// dimension of the input.
func moveRuntime(b *emit.Builder, k shaders.Kernel, n *ir.Node, of []int, push []uint32) {
	to := b.Layout(n.Out[0])
	var table emit.Push
	for i := range to.Dims {
		table = table.Ints(of[i], to.Dims[i])
	}
	b.Quads(k, to.TotalQuads(), push, emit.Cost{}, b.In(n.In[0]), b.In(n.In[1]),
		b.Read(b.WeightsU32(table), plan.FormatNone), b.Out(n.Out[0]))
}

// maxRuntimeSum is the number of elements that the kernel of MEAN sums up for one of the output: it has a single stage,
// and its loops over elements and axes together stay below 60,000 iterations.
const maxRuntimeSum = 50_000

// maxRuntimeAxes is the number of axes that the kernel of MEAN looks at.
const maxRuntimeAxes = 1 << 10

func checkMeanRuntime(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	var axes []int
	if n.In[1] != ir.None {
		axes = g.T(n.In[1]).Shape
	}
	if len(axes) != 1 || axes[0] > maxRuntimeAxes || len(in.Shape) == 0 || len(in.Shape) > 4 {
		return fmt.Errorf("axes of shape %v for %v", axes, in.Shape)
	}
	if err := checkRuntimeParam(g, n, axes[0]); err != nil {
		return err
	}
	if in.Type != out.Type || in.Elements()%out.Elements() != 0 {
		return fmt.Errorf("the mean of %v %v as %v %v", in.Type, in.Shape, out.Type, out.Shape)
	}
	count := in.Elements() / out.Elements()
	if count > maxRuntimeSum {
		return fmt.Errorf("the mean of %d elements over axes that are known only at run time", count)
	}
	if err := emit.CheckWork(40 * float64(max(count, axes[0])) * float64(pack.LayoutOf(out).TotalQuads())); err != nil {
		return err
	}
	return cmp.Or(checkNumbers(n.Op, in, out), emit.CheckTensors(f, g, n))
}

func lowerMeanRuntime(b *emit.Builder, n *ir.Node) {
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	from, to := b.Layout(n.In[0]), b.Layout(n.Out[0])
	count := in.Elements() / out.Elements()
	push := emit.Ints(to.TotalQuads()).Divisors(to.Quads).Ints(to.C, b.Graph.T(n.In[1]).Shape[0], len(from.Dims))
	push = push.Ints(emit.Outermost(from.Dims, 4, 1)...).Ints(4*from.Quads, count)
	f := meanFinish(in, out, count)
	if in.Type.IsQuant8() {
		push = push.Words(f.bytes(int(pack.SignOffset(in.Type)), count)...)
	} else {
		push = push.Words(f.floats()...)
	}
	b.Quads(shaders.Of(family.MeanRuntime{Elem: elem(in.Type)}), to.TotalQuads(), push, emit.Cost{FLOP: 4 * float64(count*to.TotalQuads())},
		b.In(n.In[0]), b.Out(n.Out[0]), b.In(n.In[1]))
}
