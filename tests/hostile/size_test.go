//go:build linux

package hostile

import (
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// shared are n uses of one constant of the given size.
func shared(n int, d nn.Dims, use func(b *nn.Builder, i int, at nn.Location) uint32) func() *nn.Model {
	return func() *nn.Model {
		var b nn.Builder
		value := constant(&b, u8, d...)
		copied := nntest.Build(&b)
		b = nn.Builder{}
		at := nn.Location{Length: copied.Main.Operands[value].Location.Length, PoolIndex: b.Pool(nn.HostMemory(copied.Values))}
		b.Output(op(&b, nn.OpAbs, f32, input(&b, f32, 3)))
		for i := range n {
			b.Output(use(&b, i, at))
		}
		return nntest.Build(&b)
	}
}

// view is another constant operand of the bytes at a place.
func view(b *nn.Builder, at nn.Location, t nn.OperandType, scale float32, zero int32, d ...uint32) uint32 {
	return b.Reference(t, d, scale, zero, at)
}

var sizeCases = []hostileCase{
	{name: "results beyond the budget", want: exhausted, model: func(b *nn.Builder) {
		x := input(b, u8, 1<<22, 4)
		y := op(b, nn.OpConcatenation, u8, x, x, x, x, x, x, b.Scalar(0))
		z := op(b, nn.OpMul, u8, y, y, b.Scalar(0))
		for range 3 {
			z = op(b, nn.OpAdd, u8, z, op(b, nn.OpMul, u8, z, y, b.Scalar(0)), b.Scalar(0))
		}
		b.Output(z)
	}},
	{name: "outputs beyond the budget", want: exhausted, model: func(b *nn.Builder) {
		x := input(b, f32, 1, 1)
		for range 60 {
			b.Output(op(b, nn.OpPad, f32, x, list(b, nn.Dims{2, 2}, 0, 0, 0, 1<<22)))
		}
	}},
	// A filter that every zero point of both types packs in its own way, 256 KB each.
	{name: "one filter packed 1,000 times", want: exhausted, only: "swiftshader", whole: shared(1000, nn.Dims{1, 1, 8000, 1}, func(b *nn.Builder, i int, at nn.Location) uint32 {
		typ, zero := u8, int32(i%256)
		if i%512 >= 256 {
			typ, zero = s8, zero-128
		}
		x := input(b, typ, 1, 1, 8000, 1)
		w := view(b, at, typ, 0.5, zero, 1, 1, 8000, 1)
		s := b.Const(i32, nn.Dims{1}, 0.25, 0, []byte{byte(i), byte(i >> 8), 0, 0})
		return op(b, nn.OpConv2D, typ, append([]uint32{x, w, s}, ints(b, 2, 1, 1, 0)...)...)
	})},
	{name: "one filter packed the same way", want: compiles, whole: shared(1000, nn.Dims{1, 1, 8000, 1}, func(b *nn.Builder, i int, at nn.Location) uint32 {
		x := input(b, u8, 1, 1, 8000, 1)
		w := view(b, at, u8, 0.5, 3, 1, 1, 8000, 1)
		return op(b, nn.OpConv2D, u8, append([]uint32{x, w, bias(b, u8, 1)}, ints(b, 2, 1, 1, 0)...)...)
	})},
	// Folded, each would be 4 MB.
	{name: "one constant dequantised 1,000 times", want: compiles, whole: shared(1000, nn.Dims{1 << 20}, func(b *nn.Builder, i int, at nn.Location) uint32 {
		y := op(b, nn.OpDequantize, f32, view(b, at, u8, float32(1+i), 3, 1<<20))
		return op(b, nn.OpMean, f32, y, list(b, nn.Dims{1}, 0), b.Scalar(0))
	})},
	{name: "one constant reshaped to rows of a byte", want: exhausted, whole: shared(100, nn.Dims{1 << 21}, func(b *nn.Builder, i int, at nn.Location) uint32 {
		at.Offset += uint32(i)
		at.Length -= uint32(i)
		y := op(b, nn.OpAbs, f32, op(b, nn.OpDequantize, f32, reshaped(b, u8, view(b, at, u8, 0.5, 3, 1<<21-uint32(i)), -1, 1)))
		return op(b, nn.OpMean, f32, y, list(b, nn.Dims{1}, 0), b.Scalar(0))
	})},
	{name: "a filter of 2^20 channels of one", want: compiles, time: 15 * time.Second, model: func(b *nn.Builder) {
		x := input(b, f32, 1, 1, 1, 1)
		in := []uint32{x, constant(b, f32, 1<<20, 1, 1, 1), constant(b, f32, 1<<20)}
		b.Output(op(b, nn.OpConv2D, f32, append(in, ints(b, 2, 1, 1, 0)...)...))
	}},
	{name: "scales of 2^20 channels", want: compiles, time: 15 * time.Second, model: func(b *nn.Builder) {
		x := b.Input(u8, nn.Dims{1, 1}, 0.5, 3)
		w := b.PerChannel(nn.Dims{1 << 20, 1}, repeat(1<<20, float32(0.5)), 0, make([]byte, 1<<20))
		b.Output(op(b, nn.OpFullyConnected, u8, x, w, b.Const(i32, nn.Dims{1 << 20}, 0, 0, make([]byte, 4<<20)), b.Scalar(0)))
	}},
}
