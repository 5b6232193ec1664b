package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkResize, lower: (*Builder).lowerResize, divide: divideResize}, nn.OpResizeBilinear, nn.OpResizeNearestNeighbor)
}

func checkResize(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if in.Type != out.Type {
		return fmt.Errorf("the input is of %v, the output of %v", in.Type, out.Type)
	}
	if !isFloatTensor(in.Type) && !in.Type.IsQuant8() {
		return fmt.Errorf("%v of %v", n.Op, in.Type)
	}
	if in.Type.IsQuant8() && !in.SameQuant(out) {
		return fmt.Errorf("input and output of different scales")
	}
	if len(in.Shape) != 4 || len(out.Shape) != 4 || in.Shape[0] != out.Shape[0] || in.Shape[3] != out.Shape[3] {
		return fmt.Errorf("resizing %v to %v", in.Shape, out.Shape)
	}
	// Positions are float32, with which half of one is lost beyond 2^22: the last ones would lie outside.
	if max(in.Shape[1], in.Shape[2], out.Shape[1], out.Shape[2]) > 1<<22 {
		return fmt.Errorf("resizing %v to %v", in.Shape, out.Shape)
	}
	return checkTensors(f, g, firstInputOnly(n))
}

// resizeScale is the distance in the input of neighbouring output pixels, from TensorFlow Lite's
// reference_ops::ResizeBilinear and ResizeNearestNeighbor.
func resizeScale(in, out int, alignCorners bool) float32 {
	if alignCorners && out > 1 {
		return float32(in-1) / float32(out-1)
	}
	return float32(in) / float32(out)
}

func (b *Builder) lowerResize(n *ir.Node) error {
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	if in.Shape[1] == out.Shape[1] && in.Shape[2] == out.Shape[2] {
		b.aliasOrCopy(n.Out[0], n.In[0])
		return nil
	}
	l := b.Layout(n.Out[0])
	a := n.Attrs.(ops.Resize)
	units, unit := l.Quads, l.Elem
	if n.Op == nn.OpResizeNearestNeighbor {
		// Nothing but words move: count in the largest unit that a pixel divides into.
		for unit < 4 && units%2 == 0 {
			units, unit = units/2, unit*2
		}
	}
	// The place of a pixel costs more than its quads.
	run := min(4*b.run(), units)
	if b.run() == 1 {
		run = 1
	}
	runs := (units + run - 1) / run
	count := l.Rows * runs
	push := append(ints(nil, count, run, units), divisors(runs, out.Shape[2], out.Shape[1])...)
	push = ints(push, in.Shape[2], in.Shape[1])
	push = append(push, f32(float64(resizeScale(in.Shape[2], out.Shape[2], a.AlignCorners))),
		f32(float64(resizeScale(in.Shape[1], out.Shape[1], a.AlignCorners))))
	shift, round := 0.0, 0.0
	if a.HalfPixel {
		shift = 0.5
	}
	if a.AlignCorners {
		round = 0.5
	}
	push = append(push, f32(shift))
	if n.Op == nn.OpResizeNearestNeighbor {
		b.Dispatch(shaders.Of(family.Nearest{Words: unit}), quadLocal, count, append(push, f32(round)), Cost{}, b.In(n.In[0]), b.Out(n.Out[0]))
		return nil
	}
	push = append(push, pack.SignOffset(in.Type))
	x, y, texels := b.Tensor(n.In[0]), b.Tensor(n.Out[0]), quadTexels(in.Type)
	k, _ := choose(b, quadLocal, func(k family.Bilinear) (float64, string) {
		if k.Elem != elem(in.Type) {
			return 0, ""
		}
		return b.accessSpeed(k.Access, x, y, texels), ""
	})
	read, write := b.reach(k.Access, x, y, texels)
	b.Dispatch(shaders.Of(k), quadLocal, count, push, Cost{FLOP: 40 * float64(l.TotalQuads())}, read, write)
	return nil
}
