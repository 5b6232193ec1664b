package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestBatchMatmulBecomes: what a matrix product becomes by its type and the number of batches.
func TestBatchMatmulBecomes(t *testing.T) {
	const (
		all  = nn.OpBatchMatmul
		move = nn.OpTranspose
		fc   = nn.OpFullyConnected
		conv = nn.OpGroupedConv2D
	)
	facts := lavapipe
	facts.MaxTexelElements = 1 << 16
	gpu := facts
	gpu.Class, gpu.SharedBytes, gpu.SubgroupSize = plan.ClassGPU, 48<<10, 32
	for _, tc := range []struct {
		name        string
		typ         nn.OperandType
		x, y        nn.Dims
		left, right bool
		constant    bool               // the right one
		want        []nn.OperationType // without RESHAPE
		gpu         []nn.OperationType // the same on GPUs; nil: not looked at
	}{
		{"one, weights as they are", nn.TensorFloat32, nn.Dims{3, 4}, nn.Dims{5, 4}, false, true, false, []nn.OperationType{fc}, nil},
		{"one", nn.TensorFloat16, nn.Dims{1, 3, 4}, nn.Dims{1, 3, 5}, true, false, false, []nn.OperationType{move, all}, []nn.OperationType{move, move, fc}},
		{"one of few rows", nn.TensorFloat16, nn.Dims{1, 4, 3}, nn.Dims{1, 4, 5}, true, false, false, []nn.OperationType{move, move, fc}, nil},
		{"several of few rows", nn.TensorFloat32, nn.Dims{2, 1, 256}, nn.Dims{2, 129, 256}, false, true, false, []nn.OperationType{nn.OpSplit, nn.OpSplit, fc, fc, nn.OpConcatenation}, nil},
		{"one by a constant", nn.TensorFloat32, nn.Dims{3, 4}, nn.Dims{4, 5}, false, false, true, []nn.OperationType{fc}, nil},
		{"sums too long for a tile", nn.TensorFloat32, nn.Dims{4, 1 << 16}, nn.Dims{1 << 16, 2}, false, false, false, []nn.OperationType{move, fc}, nil},
		{"several", nn.TensorQuant8AsymmSigned, nn.Dims{2, 3, 3, 4}, nn.Dims{2, 3, 5, 4}, false, true, false, []nn.OperationType{move, conv, move}, nil},
		{"several, right to be moved", nn.TensorFloat32, nn.Dims{6, 4, 3}, nn.Dims{6, 4, 5}, true, false, false, []nn.OperationType{move, move, conv, move}, []nn.OperationType{move, move, all}},
		{"several by constants", nn.TensorFloat32, nn.Dims{6, 3, 4}, nn.Dims{6, 4, 5}, false, false, true, []nn.OperationType{move, conv, move}, nil},
		{"several, not large, of whole tiles", nn.TensorFloat32, nn.Dims{3, 67, 32}, nn.Dims{3, 40, 32}, false, true, false, []nn.OperationType{move, conv, move}, nil},
		{"several, large", nn.TensorQuant8AsymmSigned, nn.Dims{3, 67, 30}, nn.Dims{3, 30, 29}, false, false, false, []nn.OperationType{all}, nil},
		{"several, larger", nn.TensorFloat32, nn.Dims{2, 64, 128}, nn.Dims{2, 128, 128}, false, true, false, []nn.OperationType{all}, []nn.OperationType{all}},
		{"several, large, by constants", nn.TensorFloat32, nn.Dims{2, 64, 128}, nn.Dims{2, 128, 128}, false, false, true, []nn.OperationType{nn.OpSplit, fc, fc, nn.OpConcatenation}, nil},
		{"integers", nn.TensorInt32, nn.Dims{6, 4, 3}, nn.Dims{6, 4, 5}, true, false, false, []nn.OperationType{move, move, nn.OpMul, nn.OpReduceSum}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b layers.Builder
			scale := float32(0)
			if tc.typ.IsQuant8() {
				scale = 0.5
			}
			y := uint32(0)
			if tc.constant {
				n, err := tc.y.Elements()
				require.NoError(t, err)
				y = b.Const(tc.typ, tc.y, scale, 0, make([]byte, int(n)*tc.typ.Bytes()))
			} else {
				y = b.Input(tc.typ, tc.y, scale, 0)
			}
			b.Output(b.BatchMatmul(b.Input(tc.typ, tc.x, scale, 0), y, tc.left, tc.right))
			m, err := b.Build()
			require.NoError(t, err)
			becomes := func(f *plan.Facts) (list []nn.OperationType) {
				g, err := Optimised(f, m)
				require.NoError(t, err)
				for i := range g.Nodes {
					if g.Nodes[i].Op != nn.OpReshape {
						list = append(list, g.Nodes[i].Op)
					}
				}
				return list
			}
			require.Equal(t, tc.want, becomes(&facts))
			if tc.gpu != nil {
				require.Equal(t, tc.gpu, becomes(&gpu))
			}
		})
	}
}
