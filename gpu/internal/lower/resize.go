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
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkResize, lower: lowerResize, divide: divideResize}, nn.OpResizeBilinear, nn.OpResizeNearestNeighbor)
}

func checkResize(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if err := checkSameType(in, out); err != nil {
		return err
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
	// Positions are float32, which cannot represent a half beyond 2^22: the last ones would lie outside.
	if max(in.Shape[1], in.Shape[2], out.Shape[1], out.Shape[2]) > 1<<22 {
		return fmt.Errorf("resizing %v to %v", in.Shape, out.Shape)
	}
	return emit.CheckTensors(f, g, firstInputOnly(n))
}

// resizeScale is the distance in the input of neighbouring output pixels, from TensorFlow Lite's
// reference_ops::ResizeBilinear and ResizeNearestNeighbor.
func resizeScale(in, out int, alignCorners bool) float32 {
	if alignCorners && out > 1 {
		return float32(in-1) / float32(out-1)
	}
	return float32(in) / float32(out)
}

func lowerResize(b *emit.Builder, n *ir.Node) {
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	if in.Shape[1] == out.Shape[1] && in.Shape[2] == out.Shape[2] {
		b.Forward(n.Out[0], n.In[0])
		return
	}
	l := b.Layout(n.Out[0])
	a := n.Attrs.(ops.Resize)
	units, unit := l.Quads, l.Elem
	var wide bool
	switch {
	case n.Op == nn.OpResizeNearestNeighbor:
		// Only words are moved: count in the largest unit that divides a pixel.
		for unit < 4 && units%2 == 0 {
			units, unit = units/2, unit*2
		}
	case in.Type.IsQuant8() && l.C%16 == 0:
		_, wide = emit.Choose(b, emit.QuadLocal, func(family.BilinearWide) (float64, string) {
			return b.WideSpeed(l.Rows, family.Texels, b.Tensor(n.In[0])), ""
		})
		if wide {
			units /= 4
		}
	}
	run := min(b.PlaceQuads(), units)
	runs := (units + run - 1) / run
	count := l.Rows * runs
	push := emit.Ints(count, run, units).Divisors(runs, out.Shape[2], out.Shape[1]).Ints(in.Shape[2], in.Shape[1])
	shift, round := 0.0, 0.0
	if a.HalfPixel {
		shift = 0.5
	}
	if a.AlignCorners {
		round = 0.5
	}
	scale := func(axis int) float64 { return float64(resizeScale(in.Shape[axis], out.Shape[axis], a.AlignCorners)) }
	push = push.Floats(scale(2), scale(1), shift)
	if n.Op == nn.OpResizeNearestNeighbor {
		pixels := max(b.PlaceQuads()/2/units, 1)
		blocks := (out.Shape[2] + pixels - 1) / pixels
		count = out.Shape[0] * out.Shape[1] * blocks * runs
		push = emit.Ints(count, run, units).Divisors(runs, blocks, out.Shape[1]).Ints(pixels, out.Shape[2], in.Shape[2], in.Shape[1])
		push = push.Floats(scale(2), scale(1), shift)
		k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Nearest) (float64, string) {
			if k.Words != unit {
				return 0, ""
			}
			return b.MoveSpeed(k.Access, b.Tensor(n.In[0]), plan.FormatRGBA32U), ""
		})
		x := emit.ReadBy(k.Access, b.In(n.In[0]), plan.FormatRGBA32U)
		b.Quads(shaders.Of(k), count, push.Floats(round), emit.Cost{}, x, b.Out(n.Out[0]))
		return
	}
	push = push.Words(pack.SignOffset(in.Type))
	cost := emit.Cost{FLOP: 40 * float64(l.TotalQuads())}
	if wide {
		x := b.Read(b.Tensor(n.In[0]), plan.FormatRGBA32U)
		b.Quads(shaders.Of(family.BilinearWide{}), count, push, cost, x, b.Out(n.Out[0]))
		return
	}
	x, y, texels := b.Tensor(n.In[0]), b.Tensor(n.Out[0]), quadTexels(elem(in.Type))
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Bilinear) (float64, string) {
		if k.Elem != elem(in.Type) {
			return 0, ""
		}
		return b.AccessSpeed(k.Access, x, y, texels), ""
	})
	read, write := b.Reach(k.Access, x, y, texels)
	b.Quads(shaders.Of(k), count, push, cost, read, write)
}

// divideResize divides between images and, where the nearest row does not depend on rounding, between rows of the
// input: one becomes 2^k rows of the output. Bilinear weights are relative to the first row of the image.
func divideResize(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	scale := y.Shape[1] / x.Shape[1]
	if x.Shape[0] != 1 {
		return divideImages(g, n)
	}
	if n.Op != nn.OpResizeNearestNeighbor || n.Attrs.(ops.Resize).AlignCorners || scale*x.Shape[1] != y.Shape[1] || scale&(scale-1) != 0 {
		return nil
	}
	return []division{{x.Shape[1], func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, 1, from, to), along(y, 1, from*scale, to*scale)), n.Attrs
	}}}
}
