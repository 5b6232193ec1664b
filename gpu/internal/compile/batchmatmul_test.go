package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestBatchMatmulBecomes: what a matrix product becomes by its type and the number of batches.
func TestBatchMatmulBecomes(t *testing.T) {
	const (
		move = nn.OpTranspose
		fc   = nn.OpFullyConnected
		conv = nn.OpGroupedConv2D
	)
	for _, tc := range []struct {
		name        string
		typ         nn.OperandType
		x, y        nn.Dims
		left, right bool
		want        []nn.OperationType // without RESHAPE
	}{
		{"one, weights as they are", nn.TensorFloat32, nn.Dims{3, 4}, nn.Dims{5, 4}, false, true, []nn.OperationType{fc}},
		{"one, both to be moved", nn.TensorFloat16, nn.Dims{1, 4, 3}, nn.Dims{1, 4, 5}, true, false, []nn.OperationType{move, move, fc}},
		{"several", nn.TensorQuant8AsymmSigned, nn.Dims{2, 3, 3, 4}, nn.Dims{2, 3, 5, 4}, false, true, []nn.OperationType{move, conv, move}},
		{"several, right to be moved", nn.TensorFloat32, nn.Dims{6, 4, 3}, nn.Dims{6, 4, 5}, true, false, []nn.OperationType{move, move, conv, move}},
		{"several, large and of whole tiles", nn.TensorFloat32, nn.Dims{3, 67, 32}, nn.Dims{3, 40, 32}, false, true, []nn.OperationType{move, conv, move}},
		{"several, large", nn.TensorQuant8AsymmSigned, nn.Dims{3, 67, 30}, nn.Dims{3, 30, 29}, false, false, []nn.OperationType{move, nn.OpSplit, nn.OpSplit, fc, fc, fc, nn.OpConcatenation}},
		{"several, larger", nn.TensorFloat32, nn.Dims{2, 64, 128}, nn.Dims{2, 128, 128}, false, true, []nn.OperationType{nn.OpSplit, nn.OpSplit, fc, fc, nn.OpConcatenation}},
		{"integers", nn.TensorInt32, nn.Dims{6, 4, 3}, nn.Dims{6, 4, 5}, true, false, []nn.OperationType{move, move, nn.OpMul, nn.OpReduceSum}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b layers.Builder
			scale := float32(0)
			if tc.typ.IsQuant8() {
				scale = 0.5
			}
			b.Output(b.BatchMatmul(b.Input(tc.typ, tc.x, scale, 0), b.Input(tc.typ, tc.y, scale, 0), tc.left, tc.right))
			m, err := b.Build()
			require.NoError(t, err)
			g, err := Optimised(&lavapipe, m)
			require.NoError(t, err)
			var got []nn.OperationType
			for i := range g.Nodes {
				if g.Nodes[i].Op != nn.OpReshape {
					got = append(got, g.Nodes[i].Op)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
