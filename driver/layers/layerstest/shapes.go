package layerstest

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

var pads = [][2]int{{1, 0}, {2, 1}}

var shapes = map[nn.OperationType]func(b *builder) []uint32{
	nn.OpReshape:       unary(func(b *builder, x uint32) uint32 { return b.Reshape(x, 7, 3) }),
	nn.OpSqueeze:       func(b *builder) []uint32 { return one(b.Squeeze(b.x(3, 1, 7))) },
	nn.OpExpandDims:    unary(func(b *builder, x uint32) uint32 { return b.ExpandDims(x, 1) }),
	nn.OpTranspose:     unary(func(b *builder, x uint32) uint32 { return b.Transpose(x, 1, 0) }),
	nn.OpConcatenation: unary(func(b *builder, x uint32) uint32 { return b.Concatenation(-1, []uint32{x, b.x(3, 5)}) }),
	nn.OpSplit:         func(b *builder) []uint32 { return b.Split(b.x(3, 6), -1, 2) },
	nn.OpSlice:         unary(func(b *builder, x uint32) uint32 { return b.Slice(x, []int{1, 2}, []int{2, -1}) }),
	nn.OpStridedSlice:  unary(func(b *builder, x uint32) uint32 { return b.StridedSlice(x, []int{0, 1}, []int{3, 6}, []int{2, 2}) }),
	nn.OpChannelShuffle: func(b *builder) []uint32 {
		return one(b.ChannelShuffle(b.x(3, 6), 3, -1))
	},
	nn.OpReverse:   unary(func(b *builder, x uint32) uint32 { return b.Reverse(x, 1) }),
	nn.OpTile:      unary(func(b *builder, x uint32) uint32 { return b.Tile(x, 2, 3) }),
	nn.OpPack:      unary(func(b *builder, x uint32) uint32 { return b.Pack(1, []uint32{x, b.x(3, 7)}) }),
	nn.OpGather:    unary(func(b *builder, x uint32) uint32 { return b.Gather(x, 1, b.of(nn.TensorInt32, 2)) }),
	nn.OpPad:       unary(func(b *builder, x uint32) uint32 { return b.Pad(x, pads) }),
	nn.OpPadV2:     unary(func(b *builder, x uint32) uint32 { return b.PadWith(x, pads, 1) }),
	nn.OpMirrorPad: unary(func(b *builder, x uint32) uint32 { return b.MirrorPad(x, pads, false) }),
	nn.OpEmbeddingLookup: func(b *builder) []uint32 {
		return one(b.EmbeddingLookup(b.of(nn.TensorInt32, 4), b.x(3, 7)))
	},
	nn.OpHashtableLookup: func(b *builder) []uint32 {
		rows, hits := b.HashtableLookup(b.of(nn.TensorInt32, 4), b.Ints(nn.Dims{3}, 1, 2, 5), b.x(3, 7))
		return []uint32{rows, hits}
	},
	nn.OpSelect: func(b *builder) []uint32 { return one(b.Select(b.of(nn.TensorBool8, 3, 7), b.x(3, 7), b.x(3, 7))) },
	nn.OpLshProjection: func(b *builder) []uint32 {
		return one(b.LSHProjection(ops.LSHDense, b.Floats(nn.Dims{2, 3}, 1, 2, 3, 4, 5, 6), b.x(3, 7)))
	},
	nn.OpRandomMultinomial: func(b *builder) []uint32 {
		return one(b.RandomMultinomial(b.x(3, 7), 5, b.Ints(nn.Dims{2}, 1, 2)))
	},
	nn.OpRank: func(b *builder) []uint32 {
		if b.typ == nn.TensorQuant8PerChannel { // of constants only
			return []uint32{b.Rank(b.PerChannel(nn.Dims{3, 7}, []float32{1, 2, 3}, 0, make([]byte, 21))), b.Relu(b.of(nn.TensorFloat32, 3))}
		}
		return one(b.Rank(b.x(3, 7)))
	},
	// The leading input is a parameter, so that the model needs another one.
	nn.OpFill: func(b *builder) []uint32 {
		return []uint32{b.Fill(nn.TensorFloat32, 1.5, 3, 7), b.Relu(b.of(nn.TensorFloat32, 3))}
	},
}
