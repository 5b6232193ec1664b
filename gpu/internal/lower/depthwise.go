package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
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
	name := map[nn.OperandType]string{
		nn.TensorFloat32: "f32", nn.TensorFloat16: "f16", nn.TensorQuant8Asymm: "q8", nn.TensorQuant8AsymmSigned: "q8",
	}[c.x.Type]
	name = "conv_depthwise_" + name
	// One kernel for all windows is enough where kernels are to be few.
	if !b.Facts.Quick && c.dilW == 1 && c.strideW == c.strideH && (c.kW == 3 || c.kW == 5) && c.strideW <= 2 {
		name += fmt.Sprintf("_k%ds%d", c.kW, c.strideW)
		b.because(fmt.Sprintf("a window %d wide, stride %d", c.kW, c.strideW))
	} else {
		b.because("any window")
	}

	taps, quads := c.taps(), c.outQuads()
	if int64(taps*quads) > b.Facts.MaxTexelElements {
		return lowerDirect(b, c, "the filter exceeds a texel buffer")
	}
	var w func() []float32
	zero := 0
	push := ints(nil, 0, quads, (c.outW+depthwisePixels-1)/depthwisePixels)
	push = append(push, c.windowPush()...)
	var channels Value
	shift := false
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
		shift = useShifts(b.Facts)
		channels = b.WeightsU32(packChannels(c, quads, shift, bias))
	} else {
		w = func() []float32 { return padChannels(floats(c.w), taps, c.co) }
		lo, hi := floatRange(activation(n))
		push = append(push, f32(lo), f32(hi))
		channels = b.WeightsF32(padChannels(floats(c.bias), 1, c.co))
	}

	x, format := b.Tensor(n.In[0]), plan.FormatNone
	texel := map[nn.OperandType]plan.Format{
		nn.TensorFloat32: plan.FormatRGBA32F, nn.TensorQuant8Asymm: plan.FormatRGBA8U, nn.TensorQuant8AsymmSigned: plan.FormatRGBA8U,
	}[c.x.Type]
	if texel != plan.FormatNone && b.FitsTexels(x, texel) {
		name += "_texel"
		format = texel
	}
	y := b.Out(n.Out[0])
	if format == plan.FormatRGBA32F && b.storesTexels(n.Out[0], format) {
		name += "_store"
		y.Format = format
	}
	if shift {
		name += "_shift"
	}
	rows := c.y.Shape[0] * c.outH
	count := rows * int(push[2]) * quads
	push[0] = uint32(count)
	filter := b.packed(c.w.Const, "padChannels", [6]int{int(c.w.Type), zero, taps, c.co}, int64(taps*quads)*16,
		func() []byte { return floatBytes(w()) })
	b.Dispatch(kernel(name), quadLocal, count, push, Cost{FLOP: c.flop()},
		b.Read(x, format), b.Read(filter, plan.FormatRGBA32F), b.Read(channels, plan.FormatNone), y)
	return nil
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

// useShifts reports whether shifts of vectors by variables are fast: on GPUs, and on CPUs with vectors of 8
// lanes (AVX2 has them, SSE has not).
func useShifts(f *plan.Facts) bool { return f.Class != plan.ClassCPU || f.SubgroupSize >= 8 }
