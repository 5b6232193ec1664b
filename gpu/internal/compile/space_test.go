package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestRearrangements: what only moves elements is one transposition, and two of NCHW have none between them.
func TestRearrangements(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   nn.Dims
		make func(b *layers.Builder, x uint32) uint32
		want string
	}{
		{"to depth", nn.Dims{1, 4, 6, 3}, func(b *layers.Builder, x uint32) uint32 { return b.SpaceToDepth(x, 2, false) }, `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,6,3]
			%2 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,3,2,3] = RESHAPE %0
			%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,3,2,2,3] = TRANSPOSE %2 {"perm":[0,1,3,2,4,5]}
			%1 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,3,12] = RESHAPE %3
			output %1`},
		{"padded, to batch", nn.Dims{1, 3, 6, 3}, func(b *layers.Builder, x uint32) uint32 {
			return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{Bottom: 1}, false)
		}, `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,3,6,3]
			%2 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,6,3] = PAD %0 {"pads":[[0,0],[0,1],[0,0],[0,0]],"value":9}
			%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,2,3,3] = RESHAPE %2
			%4 TENSOR_QUANT8_ASYMM(0.5,9) [2,3,1,2,2,3] = TRANSPOSE %3 {"perm":[2,4,0,1,3,5]}
			%1 TENSOR_QUANT8_ASYMM(0.5,9) [6,2,2,3] = RESHAPE %4
			output %1`},
		{"NCHW, there and back", nn.Dims{1, 3, 4, 6}, func(b *layers.Builder, x uint32) uint32 {
			return b.BatchToSpace(b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{}, true), [2]int{2, 3}, true)
		}, `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,3,4,6]
			%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,6,3] = TRANSPOSE %0 {"perm":[0,2,3,1]}
			%5 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,2,3,3] = RESHAPE %3
			%6 TENSOR_QUANT8_ASYMM(0.5,9) [2,3,1,2,2,3] = TRANSPOSE %5 {"perm":[2,4,0,1,3,5]}
			%4 TENSOR_QUANT8_ASYMM(0.5,9) [6,2,2,3] = RESHAPE %6
			%9 TENSOR_QUANT8_ASYMM(0.5,9) [2,3,1,2,2,3] = RESHAPE %4
			%10 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,2,3,3] = TRANSPOSE %9 {"perm":[2,3,0,4,1,5]}
			%8 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,6,3] = RESHAPE %10
			%2 TENSOR_QUANT8_ASYMM(0.5,9) [1,3,4,6] = TRANSPOSE %8 {"perm":[0,3,1,2]}
			output %2`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b layers.Builder
			b.Output(tc.make(&b, b.Input(nn.TensorQuant8Asymm, tc.in, 0.5, 9)))
			m, err := b.Build()
			require.NoError(t, err)
			g, err := Optimised(&lavapipe, m)
			require.NoError(t, err)
			require.Equal(t, lines(tc.want), lines(g.String()))
		})
	}
}

// TestLargeImageToBatch: an image that is larger than what a device binds becomes slices, which can be divided, of which each lies
// where the batch has it.
func TestLargeImageToBatch(t *testing.T) {
	var b layers.Builder
	b.Output(b.SpaceToBatch(b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 255, 96, 4}, 0.5, 9), [2]int{2, 1}, ops.Pad{Bottom: 1}, false))
	m, err := b.Build()
	require.NoError(t, err)
	facts := lavapipe
	facts.MaxStorageRange = 1 << 14
	g, err := Optimised(&facts, m)
	require.NoError(t, err)
	require.Equal(t, lines(`
		input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,255,96,4]
		%2 TENSOR_QUANT8_ASYMM(0.5,9) [1,256,96,4] = PAD %0 {"pads":[[0,0],[0,1],[0,0],[0,0]],"value":9}
		%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,128,96,4] = STRIDED_SLICE %2 {"begin":[0,0,0,0],"stride":[1,2,1,1],"size":[1,128,96,4]}
		%4 TENSOR_QUANT8_ASYMM(0.5,9) [1,128,96,4] = STRIDED_SLICE %2 {"begin":[0,1,0,0],"stride":[1,2,1,1],"size":[1,128,96,4]}
		%1 TENSOR_QUANT8_ASYMM(0.5,9) [2,128,96,4] = CONCATENATION %3 %4
		output %1`), lines(g.String()))
	p, weights, err := Model(t.Context(), &facts, m, nil)
	require.NoError(t, err)
	require.NoError(t, checkBounds(&facts, p, weights, 4))
}
