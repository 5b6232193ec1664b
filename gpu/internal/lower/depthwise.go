package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/ir"
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
	taps, quads := c.taps(), c.outQuads()
	if int64(taps*quads) > b.Facts.MaxTexelElements {
		return lowerDirect(b, c, "the filter exceeds a texel buffer")
	}
	var w func() []float32
	zero := 0
	push := ints(nil, 0, quads, (c.outW+depthwisePixels-1)/depthwisePixels)
	push = append(push, c.windowPush()...)
	texel := plan.FormatRGBA32F
	if c.x.Type.IsQuant8() {
		texel = plan.FormatRGBA8U
	}
	k, ok := b.chooseDepthwise(c, texel)
	if !ok {
		panic("lower: no depthwise kernel for any window")
	}
	var channels Value
	if c.x.Type.IsQuant8() {
		q := quantize(c)
		v, bias, bound := depthwiseWeights(c, q)
		if !exactSums(bound) {
			return lowerDirect(b, c, "sums that floats do not hold exactly")
		}
		w, zero = func() []float32 { return v }, q.wzero
		lo, hi := quantRange(c.y, activation(n))
		push = append(push, q.flip, f32(float64(q.xzero)))
		push = ints(push, q.doubleMask, int(c.y.Zero), int(lo), int(hi))
		channels = b.WeightsU32(packChannels(c, quads, k.Shift, bias))
	} else {
		w = func() []float32 { return padChannels(floats(c.w), taps, c.co) }
		lo, hi := floatRange(activation(n))
		push = append(push, f32(lo), f32(hi))
		channels = b.WeightsF32(padChannels(floats(c.bias), 1, c.co))
	}

	x, y := b.reach(k.Access, b.Tensor(n.In[0]), b.Tensor(n.Out[0]), texel)
	rows := c.y.Shape[0] * c.outH
	count := rows * int(push[2]) * quads
	push[0] = uint32(count)
	filter := b.packed(c.w.Const, "padChannels", [6]int{int(c.w.Type), zero, taps, c.co}, int64(taps*quads)*16,
		func() []byte { return floatBytes(w()) })
	b.Dispatch(shaders.Of(k), quadLocal, count, push, Cost{FLOP: c.flop()},
		x, b.Read(filter, plan.FormatRGBA32F), b.Read(channels, plan.FormatNone), y)
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
		if k.Elem != elem(c.x.Type) || k.Width != 0 && (k.Width != c.kW || k.Stride != c.strideW || c.strideW != c.strideH || c.dilW != 1) {
			return 0, ""
		}
		// Shifts of vectors by variables are fast on GPUs, and on CPUs with vectors of 8 lanes (AVX2 has them, SSE has not).
		if k.Shift == (b.Facts.Class != plan.ClassCPU || b.Facts.SubgroupSize >= 8) {
			speed *= 1.1
		}
		return speed * b.accessSpeed(k.Access, x, y, texel), why
	})
}

// padChannels copies rows of n floats into rows padded to a multiple of 4 with zeroes.
func padChannels(v []float32, rows, n int) []float32 {
	pitch := (n + 3) / 4 * 4
	out := make([]float32, rows*pitch)
	for r := range rows {
		copy(out[r*pitch:], v[r*n:(r+1)*n])
	}
	return out
}

// depthwiseWeights returns the filter less its zero point as floats and, for each channel, its bias and the
// largest magnitude of its sum of products.
func depthwiseWeights(c *conv, q *quantized) (w []float32, bias, bound []int) {
	taps := c.taps()
	v := make([]float32, taps*c.co)
	bias, bound = make([]int, c.co), make([]int, c.co)
	for o := range c.co {
		bias[o] = int(q.bias[o])
		for t := range taps {
			d := int(q.w[t*c.co+o]) - q.wzero
			v[t*c.co+o] = float32(d)
			bound[o] += 255 * max(d, -d)
		}
	}
	return padChannels(v, taps, c.co), bias, bound
}
