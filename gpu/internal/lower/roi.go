package lower

import (
	"cmp"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// roiUnrolled is a constant of shaders/include/roi.glsl: the columns of a cell that a round of its loop takes.
const roiUnrolled = 8

func init() {
	register(rule{check: checkRoi, lower: lowerRoi, divide: divideRoi}, nn.OpRoiAlign, nn.OpRoiPooling)
}

// checkReal reports tensors other than float32 and, where they are among integers, int32.
func checkReal(g *ir.Graph, n *ir.Node, integers ...ir.ID) error {
	for _, ids := range [2][]ir.ID{n.In, n.Out} {
	next:
		for _, id := range ids {
			for _, i := range integers {
				if id == i && g.T(id).Type == nn.TensorInt32 {
					continue next
				}
			}
			if t := g.T(id).Type; t != nn.TensorFloat32 {
				return fmt.Errorf("%v of %v", n.Op, t)
			}
		}
	}
	return nil
}

// roiOf has the attributes that both operations share, and the samples of a cell of ROI_ALIGN.
func roiOf(n *ir.Node) (a ops.Roi, samples [2]int) {
	switch a := n.Attrs.(type) {
	case ops.RoiAlign:
		return a.Roi, a.Samples
	default:
		return a.(ops.RoiPooling).Roi, samples
	}
}

// roiLoops is the most iterations that a cell takes: the box may be such that a single cell covers all of the image.
func roiLoops(n *ir.Node, x *ir.Tensor) float64 {
	_, samples := roiOf(n)
	var in [2]float64
	for i := range in {
		size := float64(x.Shape[1+i])
		switch {
		case n.Op == nn.OpRoiPooling:
			in[i] = size
		case samples[i] == 0: // they are more than half a pixel apart
			in[i] = 2*size + 8
		default:
			in[i] = min(float64(samples[i]), 4*size+16)
		}
	}
	return in[0] * float64(int(in[1]+roiUnrolled-1)/roiUnrolled)
}

func checkRoi(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if err := checkReal(g, n, n.In[2]); err != nil {
		return err
	}
	a, _ := roiOf(n)
	if a.NCHW || len(x.Shape) != 4 || len(y.Shape) != 4 || x.Shape[3] != y.Shape[3] || a.Size != [2]int(y.Shape[1:3]) ||
		g.T(n.In[1]).Elements() != 4*y.Shape[0] || g.T(n.In[2]).Elements() != y.Shape[0] {
		return fmt.Errorf("regions of %v in %v", x.Shape, y.Shape)
	}
	if loops := roiLoops(n, x); loops > emit.MaxLoop {
		return fmt.Errorf("cells of up to %.0f samples", roiUnrolled*loops)
	}
	return emit.CheckTensors(f, g, n)
}

// divideRoi divides among boxes; the images stay whole.
func divideRoi(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(i int) bool { return i == 0 })
}

func lowerRoi(b *emit.Builder, n *ir.Node) {
	a, samples := roiOf(n)
	x, l := b.Graph.T(n.In[0]), b.Layout(n.Out[0])
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(l.Quads, a.Size[1], a.Size[0]).Ints(x.Shape[2], x.Shape[1], x.Shape[0]).
		Floats(float64(a.Ratio[1]), float64(a.Ratio[0])).Ints(samples[1], samples[0])
	k, perCell := shaders.RoiAlign, 64.0
	if n.Op == nn.OpRoiPooling {
		k, perCell = shaders.RoiPool, 16.0
	}
	perCell *= cmp.Or(float64(samples[0]*samples[1]), 4) // only the data tells what a box takes
	b.Quads(k, count, push, emit.Cost{FLOP: perCell * float64(count)}, b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), b.Out(n.Out[0]))
}
