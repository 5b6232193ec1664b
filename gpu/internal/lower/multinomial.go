package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkMultinomial, lower: lowerMultinomial}, nn.OpRandomMultinomial)
}

func checkMultinomial(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, seeds, y := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if !isFloatTensor(x.Type) || seeds.Type != nn.TensorInt32 || y.Type != nn.TensorInt32 {
		return fmt.Errorf("logits of %v, seeds of %v, samples of %v", x.Type, seeds.Type, y.Type)
	}
	samples := n.Attrs.(ops.Multinomial).Samples
	if len(x.Shape) != 2 || seeds.Elements() != 2 || len(y.Shape) != 2 || y.Shape[0] != x.Shape[0] || y.Shape[1] != samples {
		return fmt.Errorf("logits %v, seeds %v, samples %v", x.Shape, seeds.Shape, y.Shape)
	}
	l := pack.LayoutOf(x)
	if l.Quads > emit.MaxLoop/2 { // two loops
		return fmt.Errorf("%d classes", l.C)
	}
	if size := int64(l.TotalQuads()) * 16; size > f.MaxStorageRange {
		return fmt.Errorf("the sums need %d bytes, more than the device binds", size)
	}
	return emit.CheckTensors(f, g, n)
}

// lowerMultinomial adds up the classes of each row, then draws from the sums.
func lowerMultinomial(b *emit.Builder, n *ir.Node) {
	x, y := b.Layout(n.In[0]), b.Layout(n.Out[0])
	sums := b.Temp(int64(x.TotalQuads()) * 16)
	kernel := shaders.MultinomialSumF32
	if b.Graph.T(n.In[0]).Type == nn.TensorFloat16 {
		kernel = shaders.MultinomialSumF16
	}
	b.Quads(kernel, x.Rows, emit.Ints(x.Rows, x.Quads, x.C), emit.Cost{FLOP: 120 * float64(x.TotalQuads())},
		b.In(n.In[0]), b.Write(sums, plan.FormatNone))
	count := y.TotalQuads()
	push := emit.Ints(count).Divisors(y.Quads).Ints(4*x.Quads, x.C)
	b.Quads(shaders.MultinomialDraw, count, push, emit.Cost{FLOP: 200 * float64(count)},
		b.Read(sums, plan.FormatNone), b.In(n.In[1]), b.Out(n.Out[0]))
}
