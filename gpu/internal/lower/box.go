package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkBbox, lower: lowerBbox, divide: divideBbox}, nn.OpAxisAlignedBboxTransform)
	register(rule{check: checkKeypoint, lower: lowerKeypoint, divide: divideKeypoint}, nn.OpHeatmapMaxKeypoint)
}

func checkBbox(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if err := checkReal(g, n, n.In[2]); err != nil {
		return err
	}
	boxes, deltas := g.T(n.In[0]), g.T(n.In[1])
	if len(boxes.Shape) != 2 || len(deltas.Shape) != 2 || boxes.Shape[1] != 4 || boxes.Shape[0] != deltas.Shape[0] || deltas.Shape[1]%4 != 0 ||
		g.T(n.Out[0]).Elements() != deltas.Elements() || g.T(n.In[2]).Elements() != boxes.Shape[0] || len(g.T(n.In[3]).Shape) != 2 {
		return fmt.Errorf("boxes %v, deltas %v", boxes.Shape, deltas.Shape)
	}
	return emit.CheckTensors(f, g, n)
}

// divideBbox divides among boxes; the sizes of images stay whole.
func divideBbox(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(i int) bool { return i == 3 })
}

func lowerBbox(b *emit.Builder, n *ir.Node) {
	l := b.Layout(n.Out[0])
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(l.Quads).Ints(b.Graph.T(n.In[3]).Shape[0])
	b.Quads(shaders.Bbox, count, push, emit.Cost{FLOP: 80 * float64(count)},
		b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), b.In(n.In[3]), b.Out(n.Out[0]))
}

func checkKeypoint(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if err := checkReal(g, n); err != nil {
		return err
	}
	x, scores := g.T(n.In[0]), g.T(n.Out[0])
	if n.Attrs.(ops.Keypoint).NCHW || len(x.Shape) != 4 || x.Shape[1] != x.Shape[2] || x.Shape[1] < 2 || g.T(n.In[1]).Elements() != 4*x.Shape[0] ||
		scores.Elements() != x.Shape[0]*x.Shape[3] || g.T(n.Out[1]).Elements() != 2*scores.Elements() {
		return fmt.Errorf("keypoints of %v", x.Shape)
	}
	if positions := x.Shape[1] * x.Shape[1]; positions/4 >= emit.MaxLoop {
		return fmt.Errorf("heatmaps of %d elements", positions)
	}
	return emit.CheckTensors(f, g, n)
}

// divideKeypoint divides among boxes.
func divideKeypoint(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(int) bool { return false })
}

func lowerKeypoint(b *emit.Builder, n *ir.Node) {
	x, l := b.Graph.T(n.In[0]), b.Layout(n.Out[0])
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(l.Quads).Ints(l.C, x.Shape[1])
	b.Quads(shaders.Keypoint, count, push, emit.Cost{FLOP: float64(count) * float64(12*x.Shape[1]*x.Shape[2])},
		b.In(n.In[0]), b.In(n.In[1]), b.Out(n.Out[0]), b.Out(n.Out[1]))
}
