package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// castKey asks for the kernel that converts the elements of x to those of y.
func castKey(x, y *ir.Tensor) family.Cast { return family.Cast{From: elem(x.Type), To: elem(y.Type)} }

func init() {
	register(rule{check: checkCast, lower: lowerCast, divide: divideElementwise}, nn.OpCast)
}

func checkCast(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	signed := x.Type == nn.TensorQuant8AsymmSigned || y.Type == nn.TensorQuant8AsymmSigned
	if _, ok := shaders.Find(castKey(x, y)); (!ok || signed) && x.Type != y.Type {
		return fmt.Errorf("%v to %v", x.Type, y.Type)
	}
	return checkElementwise(f, g, n)
}

// lowerCast converts the stored numbers; scales and zero points do not count.
func lowerCast(b *emit.Builder, n *ir.Node) {
	x, y := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	if x.Type == y.Type {
		b.Forward(n.Out[0], n.In[0])
		return
	}
	l := b.Layout(n.Out[0])
	count := l.TotalQuads()
	push := []uint32{uint32(count), uint32(l.Quads), uint32(l.C)}
	b.Quads(shaders.Of(castKey(x, y)), count, push, emit.Cost{FLOP: float64(4 * count)}, b.In(n.In[0]), b.Out(n.Out[0]))
}
