package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// depthwisePixels is the number of neighbouring output pixels of one invocation (PX of depthwise.comp).
const depthwisePixels = 4

func lowerDepthwise(b *Builder, n *ir.Node) error {
	c := convOf(b.Graph, n)
	switch {
	case !c.constant():
		return lowerDirect(b, c, "the filter is known at run time only")
	case c.multiplier != 1:
		return lowerDirect(b, c, "several outputs of a channel")
	}
	taps, quads := c.Taps, c.OutQuads()
	if int64(taps*quads) > b.Facts.MaxTexelElements {
		return lowerDirect(b, c, "the filter exceeds a texel buffer")
	}
	filter, zero := func() []float32 { return pack.Floats(c.W) }, 0
	push := ints(nil, 0, quads, (c.outW+depthwisePixels-1)/depthwisePixels)
	push = append(push, c.windowPush()...)
	texel := plan.FormatRGBA32F
	if c.X.Type.IsQuant8() {
		texel = plan.FormatRGBA8U
	}
	k, ok := b.chooseDepthwise(c, texel)
	if !ok {
		panic("lower: no depthwise kernel for any window")
	}
	var channels Value
	if c.X.Type.IsQuant8() {
		q := pack.Quantize(&c.Filter)
		bias, bound := q.DepthwiseBounds()
		if !pack.ExactSums(bound) {
			return lowerDirect(b, c, "sums that floats do not hold exactly")
		}
		filter, zero = q.Floats, q.WZero
		lo, hi := pack.QuantRange(c.Y, activation(n))
		push = append(push, q.Flip, f32(float64(q.XZero)))
		push = ints(push, q.Rounding, int(c.Y.Zero), int(lo), int(hi))
		channels = b.WeightsU32(c.Channels(quads, k.Shift, bias))
	} else {
		lo, hi := pack.FloatRange(activation(n))
		push = append(push, f32(lo), f32(hi))
		channels = b.WeightsF32(pack.PadRows(pack.Floats(c.Bias), 1, c.Out))
	}

	x, y := b.reach(k.Access, b.Tensor(n.In[0]), b.Tensor(n.Out[0]), texel)
	rows := c.Y.Shape[0] * c.outH
	count := rows * int(push[2]) * quads
	push[0] = uint32(count)
	recipe := pack.Recipe{How: "PadRows", Shape: [6]int{int(c.W.Type), zero, taps, c.Out}}
	weights := b.Packed(c.W.Const, recipe, int64(taps*quads)*16, func() []byte { return pack.FloatBytes(pack.PadRows(filter(), taps, c.Out)) })
	b.Dispatch(shaders.Of(k), quadLocal, count, push, Cost{FLOP: c.flop()},
		x, b.Read(weights, plan.FormatRGBA32F), b.Read(channels, plan.FormatNone), y)
	return nil
}

// chooseDepthwise returns the kernel for c with texels of the given format: one for its window, where there is one.
func (b *Builder) chooseDepthwise(c *conv, texel plan.Format) (k family.Depthwise, ok bool) {
	x, y := b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0])
	return choose(b, quadLocal, func(k family.Depthwise) (speed float64, why string) {
		speed, why = 1, "any window"
		if k.Width != 0 {
			speed, why = 1.5, fmt.Sprintf("a window %d wide, stride %d", k.Width, k.Stride)
			if b.Facts.Quick { // one kernel for all windows is enough where kernels are to be few
				speed = 0.5
			}
		}
		if k.Elem != elem(c.X.Type) || k.Width != 0 && (k.Width != c.kW || k.Stride != c.strideW || c.strideW != c.strideH || c.dilW != 1) {
			return 0, ""
		}
		// Shifts of vectors by variables are fast on GPUs, and on CPUs with vectors of 8 lanes (AVX2 has them, SSE has not).
		if k.Shift == (b.Facts.Class != plan.ClassCPU || b.Facts.SubgroupSize >= 8) {
			speed *= 1.1
		}
		return speed * b.accessSpeed(k.Access, x, y, texel), why
	})
}
