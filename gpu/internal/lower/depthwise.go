package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// depthwisePixels is the number of neighbouring output pixels of one invocation (PX of depthwise.comp).
const depthwisePixels = 4

func lowerDepthwise(b *emit.Builder, n *ir.Node) {
	c := convOf(b.Graph, n)
	switch {
	case !c.constant():
		lowerDirect(b, c.node, "the filter is known at run time only")
		return
	case c.multiplier != 1:
		lowerDirect(b, c.node, "several outputs of a channel")
		return
	}
	taps, quads := c.Taps, c.OutQuads()
	if int64(taps*quads) > b.Facts.MaxTexelElements {
		lowerDirect(b, c.node, "the filter exceeds a texel buffer")
		return
	}
	filter, zero := func() []float32 { return pack.Floats(c.W) }, 0
	runs := (c.outW + depthwisePixels - 1) / depthwisePixels // in a row
	count := c.Y.Shape[0] * c.outH * runs * quads
	push := emit.Ints(count, quads, runs).Words(c.windowPush()...)
	texel := plan.FormatRGBA32F
	if c.X.Type.IsQuant8() {
		texel = plan.FormatRGBA8U
	}
	k, ok := chooseDepthwise(b, c, texel)
	if !ok {
		panic("lower: no depthwise kernel for any window")
	}
	var channels emit.Value
	if c.X.Type.IsQuant8() {
		q := pack.Quantize(&c.Filter)
		bias, bound := q.DepthwiseBounds()
		if !pack.ExactSums(bound) {
			lowerDirect(b, c.node, "sums that floats do not hold exactly")
			return
		}
		filter, zero = q.Floats, q.WZero
		push = push.Words(q.Flip).Floats(float64(q.XZero)).Ints(q.Rounding, int(c.Y.Zero))
		channels = b.WeightsU32(c.Channels(quads, k.Shift, bias))
	} else {
		channels = b.WeightsF32(pack.PadRows(pack.Floats(c.Bias), 1, c.Out))
	}
	push = push.Words(pack.Bounds(c.Y, activation(n))...)
	x, y := b.Reach(k.Access, b.Tensor(n.In[0]), b.Tensor(n.Out[0]), texel)
	recipe := pack.Recipe{How: "PadRows", Shape: [6]int{int(c.W.Type), zero, taps, c.Out}}
	weights := b.Packed(c.W.Const, recipe, int64(taps*quads)*16, func() []byte { return pack.FloatBytes(pack.PadRows(filter(), taps, c.Out)) })
	b.Quads(shaders.Of(k), count, push, emit.Cost{FLOP: c.flop()},
		x, b.Read(weights, plan.FormatRGBA32F), b.Read(channels, plan.FormatNone), y)
}

// chooseDepthwise returns the kernel for c with texels of the given format: one for its window, where there is one.
func chooseDepthwise(b *emit.Builder, c *conv, texel plan.Format) (k family.Depthwise, ok bool) {
	x, y := b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0])
	return emit.Choose(b, emit.QuadLocal, func(k family.Depthwise) (speed float64, why string) {
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
		return speed * b.AccessSpeed(k.Access, x, y, texel), why
	})
}
