package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpConv2D, kernel{inputs: []int{7, 8, 10, 11, 13}, run: conv2D})
	register(nn.OpDepthwiseConv2D, kernel{inputs: []int{8, 9, 11, 12, 14}, run: depthwiseConv2D})
}

// Window is the geometry that convolutions and pools share. Implicit padding becomes explicit in resolve.
type Window struct {
	// Scheme is nn.PaddingSame or nn.PaddingValid; 0 means that the four pads below count.
	Scheme                                 int32
	PadLeft, PadRight, PadTop, PadBottom   int
	StrideW, StrideH, DilationW, DilationH int // dilation 0 counts as 1
}

// axis is one resolved spatial dimension.
type axis struct{ in, out, kernel, pad, stride, dilation int }

// resolve computes the output size of one dimension.
//
// SAME: out = ceil(in/stride), and the padding that this needs is split with the larger half at the end.
// Else: out = floor((in + pads - effective kernel) / stride) + 1.
func resolve(in, kernel, stride, dilation int, scheme int32, head, tail int) axis {
	if dilation == 0 {
		dilation = 1
	}
	if stride < 1 || dilation < 1 || kernel < 1 || head < 0 || tail < 0 {
		refuse("kernel %d, stride %d, dilation %d, padding %d and %d", kernel, stride, dilation, head, tail)
	}
	a := axis{in: in, kernel: kernel, pad: head, stride: stride, dilation: dilation}
	effective := (kernel-1)*dilation + 1
	switch scheme {
	case nn.PaddingSame:
		a.out = (in + stride - 1) / stride
		a.pad = max((a.out-1)*stride+effective-in, 0) / 2
		return a
	case nn.PaddingValid:
		a.pad, head, tail = 0, 0, 0
	case 0:
	default:
		refuse("unknown padding scheme %d", scheme)
	}
	room := in + head + tail - effective
	if room >= 0 {
		a.out = room/stride + 1
	} else if in > 0 {
		refuse("a kernel of %d does not fit into %d with padding %d and %d", effective, in, head, tail)
	}
	return a
}

func (w Window) resolve(h, width, kh, kw int) (y, x axis) {
	return resolve(h, kh, w.StrideH, w.DilationH, w.Scheme, w.PadTop, w.PadBottom),
		resolve(width, kw, w.StrideW, w.DilationW, w.Scheme, w.PadLeft, w.PadRight)
}

// ConvParams are the parameters of Conv2D and DepthwiseConv2D.
type ConvParams struct {
	Window
	Activation nn.Activation
	NCHW       bool // layout of input and output; the filter's never changes
	Multiplier int  // depthwise only: output channels per input channel
}

// Conv2D convolves x [N,H,W,Ci] with filter [Co,Kh,Kw,Ci] and adds bias [Co].
func Conv2D(x, filter, bias *Tensor, p ConvParams, out Format, ar Arithmetic) *Tensor {
	if len(x.Shape) != 4 || len(filter.Shape) != 4 {
		refuse("input %v and filter %v must have rank 4", x.Shape, filter.Shape)
	}
	x = toNHWC(x, p.NCHW)
	if filter.Shape[3] != x.Shape[3] {
		refuse("filter %v for %d input channels", filter.Shape, x.Shape[3])
	}
	ci, co := x.Shape[3], filter.Shape[0]
	finish := finisher(x, filter, bias, co, 0, p.Activation, out, ar)
	dot := func(pixel, weights []float64, xz, wz float64) float64 {
		sum := 0.0
		for c, v := range pixel {
			sum += (v - xz) * (weights[c] - wz)
		}
		return sum
	}
	return convolve(x, filter, co, p, out, func(at convTaps, o int) float64 {
		sum := 0.0
		for _, tap := range at.taps {
			w := filter.V[(o*at.kernel+tap.weight)*ci:][:ci]
			sum += dot(x.V[tap.pixel*ci:][:ci], w, at.xz, at.wz)
		}
		return finish(sum, o)
	})
}

// DepthwiseConv2D filters each channel of x [N,H,W,Ci] by itself with filter [1,Kh,Kw,Ci*Multiplier] and
// adds bias [Ci*Multiplier]. Output channel o reads input channel o/Multiplier.
func DepthwiseConv2D(x, filter, bias *Tensor, p ConvParams, out Format, ar Arithmetic) *Tensor {
	if len(x.Shape) != 4 || len(filter.Shape) != 4 {
		refuse("input %v and filter %v must have rank 4", x.Shape, filter.Shape)
	}
	x = toNHWC(x, p.NCHW)
	ci, co := x.Shape[3], filter.Shape[3]
	if filter.Shape[0] != 1 || p.Multiplier < 1 || co != ci*p.Multiplier {
		refuse("filter %v for %d input channels and multiplier %d", filter.Shape, ci, p.Multiplier)
	}
	finish := finisher(x, filter, bias, co, 3, p.Activation, out, ar)
	return convolve(x, filter, co, p, out, func(at convTaps, o int) float64 {
		sum := 0.0
		for _, tap := range at.taps {
			sum += (x.V[tap.pixel*ci+o/p.Multiplier] - at.xz) * (filter.V[tap.weight*co+o] - at.wz)
		}
		return finish(sum, o)
	})
}

// convTaps lists, for one output position, which input pixel meets which filter position; padding is
// left out, for it contributes zero.
type convTaps struct {
	taps   []convTap
	kernel int // filter positions
	xz, wz float64
}

type convTap struct{ pixel, weight int }

// convolve calls value for every output element of an NHWC convolution.
func convolve(x, filter *Tensor, co int, p ConvParams, out Format, value func(at convTaps, o int) float64) *Tensor {
	kh, kw := filter.Shape[1], filter.Shape[2]
	ay, ax := p.resolve(x.Shape[1], x.Shape[2], kh, kw)
	y := New(out, x.Shape[0], ay.out, ax.out, co)
	at := convTaps{kernel: kh * kw, xz: zeroOf(x), wz: zeroOf(filter)}
	i := 0
	for n := 0; n < x.Shape[0]; n++ {
		for oy := 0; oy < ay.out; oy++ {
			for ox := 0; ox < ax.out; ox++ {
				at.taps = at.taps[:0]
				for ky := range kh {
					iy := oy*ay.stride + ky*ay.dilation - ay.pad
					for kx := range kw {
						ix := ox*ax.stride + kx*ax.dilation - ax.pad
						if iy >= 0 && iy < ay.in && ix >= 0 && ix < ax.in {
							at.taps = append(at.taps, convTap{(n*ay.in+iy)*ax.in + ix, ky*kw + kx})
						}
					}
				}
				for o := range co {
					y.V[i] = value(at, o)
					i++
				}
			}
		}
	}
	return fromNHWC(y, p.NCHW)
}

// zeroOf is the stored value that stands for the real zero.
func zeroOf(t *Tensor) float64 {
	if t.Format().quantised() {
		return float64(t.ZeroPoint)
	}
	return 0
}

// finisher returns the function that turns the sum of products for output channel o into a stored
// output value: bias, rescaling, activation. Sums of 8-bit products are exact integers.
func finisher(x, filter, bias *Tensor, co, channelDim int, act nn.Activation, out Format, ar Arithmetic) func(sum float64, o int) float64 {
	if len(bias.Shape) != 1 || bias.Shape[0] != co {
		refuse("bias %v for %d output channels", bias.Shape, co)
	}
	clamp := clampFor(act, out)
	if !x.Type.IsQuant8() {
		if !x.Type.IsFloat() || !filter.Type.IsFloat() || !out.Type.IsFloat() {
			refuse("input %s, filter %s, output %s", x.Type, filter.Type, out.Type)
		}
		return func(sum float64, o int) float64 { return clamp(sum + bias.V[o]) }
	}
	if !out.Type.IsQuant8() || bias.Type != nn.TensorInt32 {
		refuse("quantised input with bias %s, output %s", bias.Type, out.Type)
	}
	if out.Scale <= 0 {
		refuse("output scale %v", out.Scale)
	}
	mult := make([]multiplier, co)
	if filter.Type == nn.TensorQuant8PerChannel {
		if len(filter.ChannelScales) != co || filter.ChannelDim != channelDim {
			refuse("%d channel scales of dimension %d for %d channels", len(filter.ChannelScales), filter.ChannelDim, co)
		}
		for o, s := range filter.ChannelScales {
			mult[o] = newMultiplier(x.Scale*s/out.Scale, ar)
		}
	} else {
		m := newMultiplier(productScale(x, filter)/out.Scale, ar)
		for o := range mult {
			mult[o] = m
		}
	}
	return func(sum float64, o int) float64 {
		q := mult[o].apply(int64(sum) + int64(bias.V[o]))
		return clamp(float64(q) + float64(out.ZeroPoint))
	}
}

// productScale multiplies two scales in float32, as TFLite and NNAPI do for per-tensor filters.
func productScale(a, b *Tensor) float64 { return float64(float32(a.Scale) * float32(b.Scale)) }

// toNHWC reorders [N,C,H,W] where nchw is set.
func toNHWC(x *Tensor, nchw bool) *Tensor {
	if !nchw {
		return x
	}
	return Transpose(x, []int{0, 2, 3, 1})
}

// fromNHWC reorders to [N,C,H,W] where nchw is set.
func fromNHWC(x *Tensor, nchw bool) *Tensor {
	if !nchw {
		return x
	}
	return Transpose(x, []int{0, 3, 1, 2})
}

func conv2D(c *call) *Tensor {
	var p ConvParams
	w, i := c.window(3, c.explicitForm(10, 7))
	p.Activation, p.NCHW = c.activation(i), c.flag(i+1)
	c.dilations(i+2, &w)
	p.Window = w
	return Conv2D(c.in[0], c.in[1], c.in[2], p, c.out, c.ar)
}

func depthwiseConv2D(c *call) *Tensor {
	var p ConvParams
	w, i := c.window(3, c.explicitForm(11, 8))
	p.Multiplier, p.Activation, p.NCHW = c.int(i), c.activation(i+1), c.flag(i+2)
	c.dilations(i+3, &w)
	p.Window = w
	return DepthwiseConv2D(c.in[0], c.in[1], c.in[2], p, c.out, c.ar)
}
