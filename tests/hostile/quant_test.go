//go:build linux

package hostile

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// edges are scales at the edges of float32.
var edges = []float32{math.SmallestNonzeroFloat32, 1e-38, 1.17549435e-38, 1e-20, 1e20, math.MaxFloat32}

// scaled is every 8-bit operation on tensors of type t with scales from, other and to.
func scaled(t nn.OperandType, zero int32, from, other, to float32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		d := nn.Dims{1, 4, 4, 5}
		x, y := b.Input(t, d, from, zero), b.Input(t, d, other, zero)
		result := func(o nn.OperationType, scale float32, in ...uint32) {
			z := b.Temp(t, nil, scale, zero)
			b.Op(o, in, []uint32{z})
			b.Output(z)
		}
		none := b.Scalar(0)
		result(nn.OpAdd, to, x, y, none)
		result(nn.OpSub, to, x, y, b.Scalar(3))
		result(nn.OpMul, to, x, y, b.Scalar(1))
		result(nn.OpMaximum, to, x, y)
		result(nn.OpMinimum, to, x, y)
		result(nn.OpPrelu, to, x, y)
		result(nn.OpSquaredDifference, to, x, y)
		result(nn.OpHardSwish, to, x)
		result(nn.OpRsqrt, to, x)
		result(nn.OpRelu6, from, x)
		result(nn.OpRequantize, to, x)
		result(nn.OpMean, to, x, b.Ints(nn.Dims{2}, 1, 2), b.Scalar(1))
		result(nn.OpConcatenation, to, x, y, b.Scalar(3))
		result(nn.OpResizeBilinear, from, x, b.Scalar(7), b.Scalar(3))
		result(nn.OpAveragePool2D, from, append([]uint32{x}, ints(b, 1, 1, 1, 2, 2, 3)...)...)
		if product := float64(from) * float64(other); product > 1e-45 && product < math.MaxFloat32 {
			w := b.Const(t, nn.Dims{3, 2, 2, 5}, other, zero, make([]byte, 60))
			s := b.Const(i32, nn.Dims{3}, float32(product), 0, []byte{255, 255, 255, 127, 0, 0, 0, 128, 1, 2, 3, 4})
			result(nn.OpConv2D, to, append([]uint32{x, w, s}, ints(b, 1, 1, 1, 2)...)...)
		}
		f := b.Temp(f32, nil, 0, 0)
		b.Op(nn.OpDequantize, []uint32{x}, []uint32{f})
		b.Output(f)
		result(nn.OpQuantize, to, f)
	}
}

// perChannel is a convolution with scales by channel of a filter of 5 channels.
func perChannel(dim uint32, scales ...float32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		x := b.Input(u8, nn.Dims{1, 4, 4, 3}, 0.5, 3)
		w := b.PerChannel(nn.Dims{5, 2, 2, 3}, scales, dim, make([]byte, 60))
		in := []uint32{x, w, b.Const(i32, nn.Dims{5}, 0, 0, make([]byte, 20))}
		b.Output(op(b, nn.OpConv2D, u8, append(in, ints(b, 2, 1, 1, 0)...)...))
	}
}

// quantised is RELU of a tensor of the given scale and zero point.
func quantised(t nn.OperandType, scale float32, zero int32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		y := b.Temp(t, nil, scale, zero)
		b.Op(nn.OpRelu, []uint32{b.Input(t, nn.Dims{5}, scale, zero)}, []uint32{y})
		b.Output(y)
	}
}

var inf = float32(math.Inf(1))

var quantCases = append([]hostileCase{
	{name: "scale 0", want: invalid, says: "scale", model: quantised(u8, 0, 3)},
	{name: "scale -1", want: invalid, says: "scale", model: quantised(u8, -1, 3)},
	{name: "scale Inf", want: invalid, says: "scale", model: quantised(s8, inf, 3)},
	{name: "scale NaN", want: invalid, says: "scale", model: quantised(s8, inf-inf, 3)},
	{name: "zero point 256", want: invalid, says: "zero point", model: quantised(u8, 1, 256)},
	{name: "zero point -129", want: invalid, says: "zero point", model: quantised(s8, 1, -129)},
	{name: "zero point 2^31-1", want: invalid, says: "zero point", model: quantised(u8, 1, huge)},
	{name: "scale of a float", want: invalid, says: "scale", model: quantised(f32, 1, 0)},
	{name: "channel scales", want: runs, exact: true, model: perChannel(0, 1, 0.1, 0.01, 0.001, 1e-9)},
	{name: "channel scales at the edges", want: runs, model: perChannel(0, math.SmallestNonzeroFloat32, math.MaxFloat32, 1e-30, 1e30, 1)},
	{name: "channel scales too few", want: invalid, says: "scales", model: perChannel(0, 1, 1, 1, 1)},
	{name: "channel scales too many", want: invalid, says: "scales", model: perChannel(0, 1, 1, 1, 1, 1, 1)},
	{name: "channel scales, none", want: invalid, says: "scales", model: perChannel(0)},
	{name: "channel scale 0", want: invalid, says: "scale", model: perChannel(0, 1, 0, 1, 1, 1)},
	{name: "channel scale NaN", want: invalid, says: "scale", model: perChannel(0, 1, inf-inf, 1, 1, 1)},
	{name: "channel scales along dimension 3", want: invalid, says: "dimension", model: perChannel(3, 1, 1, 1)},
	{name: "channel scales along dimension 2^32-1", want: invalid, says: "dimension", model: perChannel(1<<32-1, 1, 1, 1, 1, 1)},
	{name: "channel scales of a result", want: invalid, model: func(b *nn.Builder) {
		x := b.Input(u8, nn.Dims{1, 4, 4, 3}, 0.5, 3)
		b.Output(op(b, nn.OpRelu, nn.TensorQuant8PerChannel, x))
	}},
}, edgeCases()...)

// edgeCases have three scales, one of them at an edge, or all.
func edgeCases() []hostileCase {
	var list []hostileCase
	for i, s := range edges {
		u := edges[len(edges)-1-i]
		list = append(list,
			hostileCase{name: fmt.Sprintf("scale %g", s), want: runs, model: scaled(u8, 255, s, s, s)},
			hostileCase{name: fmt.Sprintf("scale %g from %g", s, u), want: runs, model: scaled(s8, -128, u, 1, s)},
		)
	}
	return list
}
