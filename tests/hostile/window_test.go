//go:build linux

package hostile

import "github.com/nngpu/nngpu/driver/nn"

// window is a convolution or pool with explicit padding left, right, top, bottom, strides and dilations.
type window struct {
	typ        nn.OperandType
	in         nn.Dims
	kH, kW     uint32
	pads       [4]int32
	stride     [2]int32
	dilation   [2]int32
	multiplier int32
}

func (w window) params(b *nn.Builder, size bool) []uint32 {
	p := ints(b, w.pads[:]...)
	p = append(p, ints(b, w.stride[:]...)...)
	if size {
		p = append(p, ints(b, int32(w.kW), int32(w.kH))...)
	}
	if w.multiplier != 0 {
		p = append(p, b.Scalar(w.multiplier))
	}
	p = append(p, b.Scalar(0))
	if w.dilation != [2]int32{} {
		p = append(append(p, b.Scalar(false)), ints(b, w.dilation[:]...)...)
	}
	return p
}

func (w window) conv(b *nn.Builder) {
	x := input(b, w.typ, w.in...)
	in := []uint32{x, constant(b, w.typ, 5, w.kH, w.kW, w.in[3]), bias(b, w.typ, 5)}
	b.Output(op(b, nn.OpConv2D, w.typ, append(in, w.params(b, false)...)...))
}

// fed is conv with a filter that is an input.
func (w window) fed(b *nn.Builder) {
	x := input(b, w.typ, w.in...)
	in := []uint32{x, input(b, w.typ, 5, w.kH, w.kW, w.in[3]), bias(b, w.typ, 5)}
	b.Output(op(b, nn.OpConv2D, w.typ, append(in, w.params(b, false)...)...))
}

func (w window) depthwise(b *nn.Builder) {
	if w.multiplier == 0 {
		w.multiplier = 1
	}
	x := input(b, w.typ, w.in...)
	co := w.in[3] * uint32(max(w.multiplier, 1))
	in := []uint32{x, constant(b, w.typ, 1, w.kH, w.kW, co), bias(b, w.typ, co)}
	b.Output(op(b, nn.OpDepthwiseConv2D, w.typ, append(in, w.params(b, false)...)...))
}

func (w window) pool(o nn.OperationType) func(*nn.Builder) {
	return func(b *nn.Builder) {
		b.Output(op(b, o, w.typ, append([]uint32{input(b, w.typ, w.in...)}, w.params(b, true)...)...))
	}
}

// image is 4x5 pixels of 3 channels.
var image = nn.Dims{2, 4, 5, 3}

// all is the same padding on all sides.
func all(n int32) [4]int32 { return [4]int32{n, n, n, n} }

const far = 1 << 30 // the largest padding of a convolution

var windowCases = []hostileCase{
	{name: "conv padded by 2^30", want: runs, exact: true, model: window{f32, image, 3, 3, all(far), [2]int32{1 << 29, 1 << 29}, [2]int32{}, 0}.conv},
	{name: "conv padded by 2^30, 8-bit", want: runs, exact: true, model: window{u8, image, 3, 3, all(far), [2]int32{1 << 29, 1 << 29}, [2]int32{}, 0}.conv},
	{name: "conv padded by 2^30, signed", want: runs, exact: true, model: window{s8, image, 3, 3, all(far), [2]int32{far - 1, far - 1}, [2]int32{}, 0}.conv},
	{name: "fed conv padded by 2^30", want: runs, exact: true, model: window{f32, image, 3, 3, all(far), [2]int32{far, far}, [2]int32{}, 0}.fed},
	{name: "depthwise padded by 2^30", want: runs, exact: true, model: window{f32, image, 3, 3, all(far), [2]int32{1 << 29, 1 << 29}, [2]int32{}, 0}.depthwise},
	{name: "depthwise padded by 2^30, 8-bit", want: runs, exact: true, model: window{u8, image, 3, 3, all(far), [2]int32{1<<29 + 1, 1<<29 + 1}, [2]int32{}, 0}.depthwise},
	{name: "depthwise padded by 2^30, multiplier", want: runs, exact: true, model: window{f32, image, 2, 2, all(far), [2]int32{far, far}, [2]int32{}, 3}.depthwise},
	{name: "conv padded by 2^31-1", want: refused, says: "padding", model: window{f32, image, 3, 3, all(huge), [2]int32{huge, huge}, [2]int32{}, 0}.conv},
	{name: "depthwise padded by 2^31-1", want: refused, says: "padding", model: window{f32, image, 3, 3, all(huge), [2]int32{huge, huge}, [2]int32{}, 0}.depthwise},
	{name: "conv dilated by 2^30", want: runs, exact: true, model: window{f32, image, 2, 2, all(1 << 29), [2]int32{1, 1}, [2]int32{1 << 30, 1 << 30}, 0}.conv},
	{name: "depthwise dilated by 2^30", want: runs, exact: true, model: window{u8, image, 2, 2, [4]int32{far, 0, 0, far}, [2]int32{1, 1}, [2]int32{1 << 30, 1 << 30}, 0}.depthwise},
	{name: "conv dilated beyond 2^31", want: refused, says: "window", model: window{f32, image, 5, 5, all(far), [2]int32{1, 1}, [2]int32{1 << 29, 1 << 29}, 0}.conv},
	{name: "conv of dilation 2^31-1", want: invalid, says: "dilation", model: window{f32, image, 3, 3, all(0), [2]int32{1, 1}, [2]int32{huge, huge}, 0}.conv},
	{name: "conv of stride 2^31-1", want: runs, exact: true, model: window{f32, image, 3, 3, all(1), [2]int32{huge, huge}, [2]int32{}, 0}.conv},
	{name: "depthwise of stride 2^31-1", want: runs, exact: true, model: window{f32, image, 3, 3, all(1), [2]int32{huge, huge}, [2]int32{}, 0}.depthwise},
	{name: "conv whose SAME padding wraps", want: refused, says: "window", model: func(b *nn.Builder) {
		in := append([]uint32{input(b, f32, image...), constant(b, f32, 5, 9, 9, 3), constant(b, f32, 5)}, ints(b, 1, 1, 1, 0)...)
		b.Output(op(b, nn.OpConv2D, f32, append(append(in, b.Scalar(false)), ints(b, 1<<29, 1<<29)...)...))
	}},
	{name: "conv behind a large PAD", want: runs, exact: true, model: func(b *nn.Builder) {
		x := op(b, nn.OpPad, f32, input(b, f32, 1, 4, 5, 1), list(b, nn.Dims{4, 2}, 0, 0, 1000, 1001, 999, 1002, 0, 0))
		w := window{pads: all(far), stride: [2]int32{1 << 29, 1 << 28}}
		b.Output(op(b, nn.OpConv2D, f32, append([]uint32{x, constant(b, f32, 2, 3, 3, 1), constant(b, f32, 2)}, w.params(b, false)...)...))
	}},
	{name: "stride 0", want: invalid, says: "stride", model: window{f32, image, 3, 3, all(0), [2]int32{0, 1}, [2]int32{}, 0}.conv},
	{name: "stride -1", want: invalid, says: "stride", model: window{f32, image, 3, 3, all(0), [2]int32{1, -1}, [2]int32{}, 0}.depthwise},
	{name: "stride -2^31", want: invalid, says: "stride", model: window{f32, image, 3, 3, all(0), [2]int32{1, -1 << 31}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "dilation 0", want: invalid, says: "dilation", model: window{f32, image, 3, 3, all(0), [2]int32{1, 1}, [2]int32{0, 1}, 0}.conv},
	{name: "padding -1", want: invalid, says: "padding", model: window{f32, image, 3, 3, [4]int32{0, 0, -1, 0}, [2]int32{1, 1}, [2]int32{}, 0}.conv},
	{name: "multiplier -1", want: invalid, says: "multiplier", model: window{f32, image, 3, 3, all(0), [2]int32{1, 1}, [2]int32{}, -1}.depthwise},
	{name: "filter larger than the image", want: invalid, says: "does not fit", model: window{f32, image, 9, 9, all(1), [2]int32{1, 1}, [2]int32{}, 0}.conv},
	{name: "pool of a window of 0", want: invalid, says: "window", model: window{f32, image, 0, 3, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	{name: "pool of a window of 2^31-1", want: invalid, says: "window", model: window{f32, image, huge, huge, all(huge - 1), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	{name: "pool of a window of 2^30", want: refused, says: "window", model: window{f32, image, far, far, all(far - 1), [2]int32{far, far}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "pool of a window of 2^28", want: runs, model: window{f32, image, 1 << 28, 1 << 28, all(1<<28 - 1), [2]int32{1 << 27, 1 << 27}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "mean of a window of 2^28", want: runs, model: window{u8, image, 1 << 28, 1 << 28, all(1<<28 - 1), [2]int32{1 << 28, 1 << 28}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	{name: "L2 pool of stride 2^31-1", want: refused, says: "stride", model: window{f32, image, 2, 2, all(1), [2]int32{huge, huge}, [2]int32{}, 0}.pool(nn.OpL2Pool2D)},
	{name: "pool of a window of 1000", want: runs, exact: true, model: window{f32, image, 1000, 1001, all(998), [2]int32{997, 994}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	// Loops: an old lavapipe stops after 65,535 iterations of all loops together.
	{name: "maximum of a column of 50,000", want: runs, exact: true, model: window{f32, nn.Dims{1, 50_000, 1, 1}, 50_000, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "maximum of a row of 59,900", want: runs, exact: true, model: window{f32, nn.Dims{1, 1, 60_000, 1}, 1, 59_900, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "maximum of 29,000 by 59,000", want: runs, model: window{u8, nn.Dims{1, 300, 59_000, 1}, 29_000, 59_000, all(28_999), [2]int32{59_000, 29_000}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "maxima of rows that fit nowhere", want: refused, model: window{u8, nn.Dims{1, 1 << 20, 1, 1}, 1 << 20, 1 << 20, all(1<<20 - 1), [2]int32{1, huge >> 4}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "mean of a column of 50,000", want: runs, exact: true, model: window{f32, nn.Dims{1, 50_001, 1, 1}, 50_000, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	{name: "mean of 2 by 40,000", want: refused, says: "windows", model: window{f32, nn.Dims{1, 3, 40_001, 1}, 2, 40_000, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpAveragePool2D)},
	{name: "maximum of a column of 60,000", want: refused, says: "windows", model: window{f32, nn.Dims{1, 60_001, 1, 1}, 60_000, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.pool(nn.OpMaxPool2D)},
	{name: "conv of a column of 9,999", want: runs, exact: true, model: window{f32, nn.Dims{1, 10_000, 1, 1}, 9_999, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.conv},
	{name: "depthwise of a column of 14,999", want: runs, exact: true, model: window{f32, nn.Dims{1, 15_000, 1, 1}, 14_999, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.depthwise},
	{name: "conv of a column of 20,000", want: refused, says: "steps", model: window{f32, nn.Dims{1, 20_000, 1, 1}, 20_000, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.conv},
	{name: "depthwise of a column of 29,000", want: refused, says: "steps", model: window{f32, nn.Dims{1, 29_000, 1, 1}, 29_000, 1, all(0), [2]int32{1, 1}, [2]int32{}, 0}.depthwise},
	{name: "conv of 10^13 operations", want: refused, says: "operations", only: "swiftshader", model: func(b *nn.Builder) {
		in := []uint32{input(b, f32, 1, 8000, 8000, 1), constant(b, f32, 4, 140, 141, 1), constant(b, f32, 4)}
		b.Output(op(b, nn.OpConv2D, f32, append(in, ints(b, 1, 1, 1, 0)...)...))
	}},
	{name: "8-bit conv of 34,000 products", want: refused, says: "overflow", model: window{u8, nn.Dims{1, 1, 8_500, 1}, 1, 8_500, all(0), [2]int32{1, 1}, [2]int32{}, 0}.conv},
}
