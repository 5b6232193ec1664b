//go:build linux

package hostile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// pad is a PAD by constant paddings.
func pad(o nn.OperationType, t nn.OperandType, d nn.Dims, pads ...int32) func(*nn.Builder) {
	return single(o, t, d, func(b *nn.Builder) []uint32 {
		in := []uint32{list(b, nn.Dims{uint32(len(d)), 2}, pads...)}
		if o == nn.OpMirrorPad {
			in = append(in, b.Scalar(1))
		}
		return in
	})
}

func transpose(t nn.OperandType, d nn.Dims, perm ...int32) func(*nn.Builder) {
	return single(nn.OpTranspose, t, d, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{uint32(len(perm))}, perm...)}
	})
}

// fed is an operation of rank 3 whose parameter is an input of the model, as are paddings, axes and permutations
// that say nothing sensible.
func fed(o nn.OperationType, t nn.OperandType, from, to, param nn.Dims) func(*nn.Builder) {
	return func(b *nn.Builder) {
		in := []uint32{input(b, t, from...), b.Input(i32, param, 0, 0)}
		switch o {
		case nn.OpMirrorPad, nn.OpMean:
			in = append(in, b.Scalar(1))
		}
		scale, zero := quantOf(t)
		y := b.Temp(t, to, scale, zero)
		b.Op(o, in, []uint32{y})
		b.Output(y)
	}
}

func resize(o nn.OperationType, t nn.OperandType, d nn.Dims, w, h int32, flags ...bool) func(*nn.Builder) {
	return single(o, t, d, func(b *nn.Builder) []uint32 {
		in := append(ints(b, w, h), b.Scalar(false))
		for _, f := range flags {
			in = append(in, b.Scalar(f))
		}
		return in
	})
}

func broadcast(o nn.OperationType, t nn.OperandType, x, y nn.Dims) func(*nn.Builder) {
	return func(b *nn.Builder) { b.Output(op(b, o, t, input(b, t, x...), input(b, t, y...))) }
}

// concat joins copies of one input.
func concat(t nn.OperandType, d nn.Dims, n int, axis int32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		b.Output(op(b, nn.OpConcatenation, t, append(repeat(n, input(b, t, d...)), b.Scalar(axis))...))
	}
}

var moveCases = []hostileCase{
	{name: "image of five pixels", want: runs, exact: true, model: concat(f32, nn.Dims{5, 3}, 2, 1)},
	{name: "image of one pixel", want: runs, exact: true, model: concat(f32, nn.Dims{2, 1, 1, 3}, 2, 3)},
	{name: "concat of 3,000, innermost", want: runs, exact: true, model: concat(f32, nn.Dims{3, 1}, 3000, 1)},
	{name: "concat of 3,000, outermost", want: runs, exact: true, model: concat(u8, nn.Dims{1, 3}, 3000, 0)},
	{name: "concat of no tensor", want: invalid, model: func(b *nn.Builder) { b.Output(op(b, nn.OpConcatenation, f32, b.Scalar(0))) }},
	{name: "concat along axis 4", want: invalid, says: "axis", model: concat(f32, nn.Dims{2, 3, 4, 5}, 2, 4)},
	{name: "concat along axis -2^31", want: invalid, says: "axis", model: concat(f32, nn.Dims{2, 3}, 2, -1<<31)},
	{name: "concat beyond 2^32", want: invalid, model: concat(u8, nn.Dims{1 << 28, 1}, 17, 0)},
	{name: "concat beyond the budget", want: exhausted, only: "swiftshader", model: concat(u8, nn.Dims{1 << 20, 16}, 24, 0)},
	{name: "pad by 2^31-1", want: invalid, says: "exceed", model: pad(nn.OpPad, f32, nn.Dims{1, 1, 1, 1}, 0, 0, huge, huge, 0, 0, 0, 0)},
	{name: "pad to 2^32-1 bytes", want: refused, model: pad(nn.OpPad, u8, nn.Dims{1}, huge, huge)},
	{name: "pad to rows of a byte", want: refused, model: pad(nn.OpPad, u8, nn.Dims{1, 1}, 1<<30, 0, 0, 0)},
	{name: "pad to a row of 2^24", want: runs, exact: false, model: pad(nn.OpPad, u8, nn.Dims{1, 1}, 0, 0, 1<<23, 1<<23)},
	{name: "pad by -1", want: invalid, says: "negative", model: pad(nn.OpPad, f32, nn.Dims{2, 2}, 0, 0, -1, 0)},
	{name: "pad of rank 8", want: runs, exact: true, model: pad(nn.OpPad, f32, nn.Dims{1, 2, 1, 3, 1, 2, 1, 3}, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1)},
	{name: "mirror of rank 12", want: runs, exact: true, model: pad(nn.OpMirrorPad, u8, nn.Dims{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2},
		repeat(24, int32(1))...)},
	{name: "mirror of more than there is", want: invalid, says: "exceeds", model: pad(nn.OpMirrorPad, f32, nn.Dims{2, 3}, 0, 0, 4, 0)},
	{name: "transpose of rank 8", want: refused, says: "dimensions", model: transpose(f32, slices.Repeat(nn.Dims{2}, 8), 7, 6, 5, 4, 3, 2, 1, 0)},
	{name: "transpose of ones", want: runs, exact: true, model: transpose(f32, nn.Dims{1, 3, 1, 1, 4, 1, 1, 5}, 7, 6, 5, 4, 3, 2, 1, 0)},
	{name: "transpose that is none", want: invalid, says: "permutation", model: transpose(f32, nn.Dims{2, 3}, 1, 1)},
	{name: "transpose of -1", want: invalid, says: "permutation", model: transpose(f32, nn.Dims{2, 3}, -1, 0)},
	{name: "transpose of long rows", want: runs, model: transpose(u8, nn.Dims{1, 1 << 22}, 1, 0)},
	{name: "broadcast in every second dimension", want: refused, says: "alternate", model: broadcast(nn.OpMaximum, f32,
		nn.Dims{2, 1, 2, 1, 2, 1, 2, 1, 2, 1}, nn.Dims{1, 2, 1, 2, 1, 2, 1, 2, 1, 2})},
	{name: "broadcast of rank 64", want: runs, exact: true, model: broadcast(nn.OpMinimum, u8, append(slices.Repeat(nn.Dims{1}, 62), 3, 5), nn.Dims{5})},
	{name: "broadcast of rank 65", want: invalid, says: "rank", model: broadcast(nn.OpMinimum, u8, append(slices.Repeat(nn.Dims{1}, 63), 3, 5), nn.Dims{5})},
	{name: "broadcast beyond 2^32", want: invalid, says: "exceed", model: broadcast(nn.OpMaximum, f32, nn.Dims{1 << 20, 1}, nn.Dims{1, 1 << 20})},
	{name: "broadcast to 2^31 numbers", want: refused, model: broadcast(nn.OpMaximum, u8, nn.Dims{1 << 15, 1}, nn.Dims{1, 1 << 16})},
	{name: "rows of one number", want: refused, model: broadcast(nn.OpMaximum, u8, nn.Dims{1<<32 - 1, 1}, nn.Dims{1})},
	{name: "resize to 2^31-1", want: invalid, says: "exceed", model: resize(nn.OpResizeBilinear, f32, image, huge, huge)},
	{name: "resize to a row of 2^31-1", want: refused, model: resize(nn.OpResizeNearestNeighbor, u8, nn.Dims{1, 1, 1, 1}, huge, 1)},
	{name: "resize to 0", want: invalid, model: resize(nn.OpResizeBilinear, f32, image, 0, 5)},
	{name: "resize to -1", want: invalid, model: resize(nn.OpResizeNearestNeighbor, f32, image, 5, -1)},
	{name: "resize of 2^23 columns", want: refused, says: "resizing", model: resize(nn.OpResizeBilinear, u8, nn.Dims{1, 1, 1 << 23, 1}, 1<<22, 1, false, true)},
	{name: "resize of 2^22 columns", want: runs, model: resize(nn.OpResizeBilinear, u8, nn.Dims{1, 1, 1 << 22, 1}, 1<<22-1, 1, false, true)},
	{name: "resize of 2^22 columns, corners", want: runs, model: resize(nn.OpResizeNearestNeighbor, u8, nn.Dims{1, 1, 1<<22 - 1, 1}, 1<<22, 1, true, false)},
	{name: "resize one way and the other", want: invalid, says: "exclude", model: resize(nn.OpResizeBilinear, f32, image, 3, 3, true, true)},
	{name: "resize by 3e38", want: invalid, says: "too large", model: single(nn.OpResizeBilinear, f32, image, func(b *nn.Builder) []uint32 {
		return []uint32{b.Scalar(3e38), b.Scalar(3e38)}
	})},
	{name: "resize by NaN", want: invalid, says: "NaN", model: single(nn.OpResizeBilinear, f32, image, func(b *nn.Builder) []uint32 {
		nan := b.Const(nn.Float32, nil, 0, 0, []byte{0, 0, 0xc0, 0x7f})
		return []uint32{nan, nan}
	})},
	{name: "fed PAD", want: runs, fills: 4, model: fed(nn.OpPad, f32, nn.Dims{3, 5, 6}, nn.Dims{5, 7, 9}, nn.Dims{3, 2})},
	{name: "fed PAD, 8-bit", want: runs, fills: 4, model: fed(nn.OpPad, u8, nn.Dims{3, 5, 6}, nn.Dims{5, 7, 9}, nn.Dims{3, 2})},
	{name: "fed MIRROR_PAD", want: runs, fills: 4, model: fed(nn.OpMirrorPad, f32, nn.Dims{3, 5, 6}, nn.Dims{5, 7, 9}, nn.Dims{3, 2})},
	{name: "fed MIRROR_PAD of rank 60", want: runs, fills: 4, model: fed(nn.OpMirrorPad, u8, append(slices.Repeat(nn.Dims{1}, 58), 3, 3), append(slices.Repeat(nn.Dims{1}, 58), 4, 5), nn.Dims{60, 2})},
	{name: "fed MIRROR_PAD of rank 65", want: invalid, says: "rank", model: fed(nn.OpMirrorPad, u8, append(slices.Repeat(nn.Dims{1}, 63), 3, 3), append(slices.Repeat(nn.Dims{1}, 63), 4, 5), nn.Dims{65, 2})},
	{name: "fed PAD that shrinks", want: invalid, says: "no paddings", model: fed(nn.OpPad, f32, nn.Dims{3, 5, 6}, nn.Dims{3, 4, 6}, nn.Dims{3, 2})},
	{name: "fed TRANSPOSE", want: runs, fills: 4, model: fed(nn.OpTranspose, f32, nn.Dims{3, 5, 6}, nn.Dims{6, 5, 3}, nn.Dims{3})},
	{name: "fed TRANSPOSE, 8-bit", want: runs, fills: 4, model: fed(nn.OpTranspose, u8, nn.Dims{3, 5, 6}, nn.Dims{5, 6, 3}, nn.Dims{3})},
	{name: "fed MEAN", want: runs, fills: 4, model: fed(nn.OpMean, f32, nn.Dims{3, 5, 6}, nn.Dims{3, 1, 1}, nn.Dims{3})},
	{name: "fed MEAN, 8-bit", want: runs, fills: 4, model: fed(nn.OpMean, u8, nn.Dims{3, 5, 6}, nn.Dims{1, 1, 6}, nn.Dims{1000})},
	{name: "fed MEAN of many axes", want: invalid, says: "axes", model: fed(nn.OpMean, f32, nn.Dims{3, 5, 6}, nn.Dims{3, 1, 1}, nn.Dims{1 << 20})},
	{name: "fed MEAN of 50,000", want: runs, fills: 4, model: fed(nn.OpMean, f32, nn.Dims{2, 500, 100}, nn.Dims{2, 1, 1}, nn.Dims{1 << 10})},
	{name: "fed MEAN of 60,000", want: refused, says: "mean", model: fed(nn.OpMean, f32, nn.Dims{2, 600, 100}, nn.Dims{2, 1, 1}, nn.Dims{2})},
	{name: "reshape to 2^32", want: invalid, model: single(nn.OpReshape, f32, nn.Dims{2, 3}, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{3}, -1, 65536, 65536)}
	})},
	{name: "reshape to nothing", want: invalid, model: single(nn.OpReshape, f32, nn.Dims{2, 3}, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{2}, 0, -1)}
	})},
	{name: "reshape of rank 9", want: invalid, says: "dimensions", model: single(nn.OpReshape, f32, nn.Dims{2, 3}, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{9}, 1, 1, 1, 1, 1, 1, 1, 2, 3)}
	})},
	{name: "reshape of rows of one byte", want: runs, model: single(nn.OpReshape, u8, nn.Dims{1 << 22, 1}, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{2}, 2, -1)}
	})},
	{name: "expand at axis 2^31-1", want: invalid, says: "axis", model: single(nn.OpExpandDims, f32, nn.Dims{2, 3}, func(b *nn.Builder) []uint32 { return ints(b, huge) })},
	{name: "squeeze of axis -9", want: invalid, says: "axis", model: single(nn.OpSqueeze, f32, nn.Dims{1, 3}, func(b *nn.Builder) []uint32 { return []uint32{list(b, nn.Dims{1}, -9)} })},
}
