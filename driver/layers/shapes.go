package layers

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Reshape gives x other dimensions, of which one may be -1: what is left.
func (b *Builder) Reshape(x uint32, dims ...int) uint32 {
	return b.op(nn.OpReshape, nil, x, b.vector(dims))
}

// Squeeze drops the axes, which have size 1; without any, all that do.
func (b *Builder) Squeeze(x uint32, axes ...int) uint32 {
	if len(axes) == 0 {
		return b.op(nn.OpSqueeze, nil, x, b.Omitted(nn.TensorInt32))
	}
	return b.op(nn.OpSqueeze, nil, x, b.vector(axes))
}

// ExpandDims inserts a dimension of size 1 at the axis of the result, which counts from the end where it is negative.
func (b *Builder) ExpandDims(x uint32, axis int) uint32 { return b.op(nn.OpExpandDims, nil, x, axis) }

// Transpose makes dimension perm[i] of x dimension i of the result; without perm, the dimensions are reversed.
func (b *Builder) Transpose(x uint32, perm ...int) uint32 {
	if len(perm) == 0 {
		return b.op(nn.OpTranspose, nil, x, b.Omitted(nn.TensorInt32))
	}
	return b.op(nn.OpTranspose, nil, x, b.vector(perm))
}

// Concatenation puts tensors, which differ along the axis only, one behind the other.
func (b *Builder) Concatenation(axis int, x []uint32, q ...Quant) uint32 {
	inputs := append(append([]uint32(nil), x...), b.Scalar(axis))
	return b.apply(nn.OpConcatenation, nil, inputs, q)
}

// Split cuts x into n equal parts along the axis, which counts from the end where it is negative.
func (b *Builder) Split(x uint32, axis, n int) []uint32 {
	return b.applyAll(nn.OpSplit, max(n, 1), nil, b.list(x, axis, n), nil)
}

// Slice takes size[i] positions from begin[i] on of each dimension i of x; -1 stands for all that follow.
func (b *Builder) Slice(x uint32, begin, size []int) uint32 {
	return b.op(nn.OpSlice, nil, x, b.vector(begin), b.vector(size))
}

// ChannelShuffle takes in turn one position of each of the groups along the axis, which counts from the end where it is
// negative.
func (b *Builder) ChannelShuffle(x uint32, groups, axis int) uint32 {
	return b.op(nn.OpChannelShuffle, nil, x, groups, axis)
}

// StridedSlice takes every strides[i]th position of each dimension i of x from begin[i] on, until end[i] is reached or passed;
// negative positions count from the end.
func (b *Builder) StridedSlice(x uint32, begin, end, strides []int) uint32 {
	return b.op(nn.OpStridedSlice, nil, x, b.vector(begin), b.vector(end), b.vector(strides), 0, 0, 0)
}

// Reverse turns dimension axis of x round.
func (b *Builder) Reverse(x uint32, axis int) uint32 {
	return b.op(nn.OpReverse, nil, x, b.vector([]int{axis}))
}

// Tile repeats each dimension i of x multiples[i] times.
func (b *Builder) Tile(x uint32, multiples ...int) uint32 {
	return b.op(nn.OpTile, nil, x, b.vector(multiples))
}

// Pack joins tensors of one shape along a new axis of the result.
func (b *Builder) Pack(axis int, x []uint32) uint32 {
	return b.apply(nn.OpPack, nil, append([]uint32{b.Scalar(axis)}, x...), nil)
}

// Gather takes the positions that indices names along the axis of x; the dimensions of indices take the place of the
// axis.
func (b *Builder) Gather(x uint32, axis int, indices uint32) uint32 {
	return b.op(nn.OpGather, nil, x, axis, indices)
}

// EmbeddingLookup takes a row of the values, [n, ...], for each of the lookups.
func (b *Builder) EmbeddingLookup(lookups, values uint32) uint32 {
	return b.op(nn.OpEmbeddingLookup, nil, lookups, values)
}

// HashtableLookup takes for each of the lookups the row of the values, [n, ...], that has it as its key; keys, int32
// [n], ascend. hits, [k], is 1 where the key was found, else 0, with a row of zeros.
func (b *Builder) HashtableLookup(lookups, keys, values uint32) (rows, hits uint32) {
	x := b.Operand(values)
	list := b.derive(nn.OpHashtableLookup, []uint32{lookups, keys, values}, []nn.Operand{
		{Type: x.Type, Scale: x.Scale, ZeroPoint: x.ZeroPoint}, {Type: nn.TensorQuant8Asymm, Scale: 1},
	})
	return list[0], list[1]
}

// LSHProjection makes bits of the rows of x by the hash, [hashes, bits]. weights, [rows] of the type of the hash, may be left off.
func (b *Builder) LSHProjection(t ops.LSHType, hash, x uint32, weights ...uint32) uint32 {
	if len(weights) == 0 {
		weights = []uint32{b.Omitted(b.Operand(hash).Type)}
	}
	return b.op(nn.OpLshProjection, nil, hash, x, weights[0], int(t))
}

// RandomMultinomial draws samples of the classes of each row of logits, [n, classes], by two seeds.
func (b *Builder) RandomMultinomial(logits uint32, samples int, seeds uint32) uint32 {
	return b.op(nn.OpRandomMultinomial, nil, logits, samples, seeds)
}

// Select takes elements of x where the mask is true, else of y.
func (b *Builder) Select(mask, x, y uint32, q ...Quant) uint32 {
	return b.op(nn.OpSelect, q, mask, x, y)
}

// Fill is a tensor of type t, TENSOR_FLOAT32, TENSOR_FLOAT16 or TENSOR_INT32, all of whose elements are v.
func (b *Builder) Fill(t nn.OperandType, v float64, dims ...int) uint32 {
	var value any = float32(v)
	switch t {
	case nn.TensorFloat16:
		value = nn.HalfOf(float32(v))
	case nn.TensorInt32:
		value = b.int32(int(v))
	}
	return b.apply(nn.OpFill, &t, []uint32{b.vector(dims), b.Scalar(value)}, nil)
}

// Pad surrounds x with zeros: pads are the counts before and after each dimension.
func (b *Builder) Pad(x uint32, pads [][2]int) uint32 { return b.op(nn.OpPad, nil, x, b.pads(pads)) }

// PadWith surrounds x with a value: the stored number where x is quantised.
func (b *Builder) PadWith(x uint32, pads [][2]int, value float64) uint32 {
	var v any = value
	if b.Operand(x).Type.IsQuant8() {
		v = int(value)
	}
	return b.op(nn.OpPadV2, nil, x, b.pads(pads), v)
}

// MirrorPad surrounds x with its mirror image: symmetric repeats the edge.
func (b *Builder) MirrorPad(x uint32, pads [][2]int, symmetric bool) uint32 {
	mode := 0
	if symmetric {
		mode = 1
	}
	return b.op(nn.OpMirrorPad, nil, x, b.pads(pads), mode)
}

func (b *Builder) pads(pads [][2]int) uint32 {
	var list []int32
	for _, p := range pads {
		list = append(list, b.int32(p[0]), b.int32(p[1]))
	}
	return b.Ints(nn.Dims{uint32(len(pads)), 2}, list...)
}

// Rank is the number of x's dimensions, an INT32.
func (b *Builder) Rank(x uint32) uint32 { return b.op(nn.OpRank, nil, x) }
