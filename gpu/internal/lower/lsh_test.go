package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestLSHRefusals: rows and hashes that would make a kernel loop too long or need too much, and shapes that do not go together.
func TestLSHRefusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	bytes := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: shape, Scale: 1} }
	i32 := func(n int) ir.Tensor { return ir.Tensor{Type: nn.TensorInt32, Shape: []int{n}} }
	for _, tc := range []struct {
		name string
		typ  ops.LSHType
		in   []ir.Tensor
		out  ir.Tensor
		runs bool
	}{
		{"dense", ops.LSHDense, []ir.Tensor{f32(4, 2), bytes(3, 7), f32(3)}, i32(8), true},
		{"dense as sparse", ops.LSHDense, []ir.Tensor{f32(4, 2), bytes(3, 7), f32(3)}, i32(4), false},
		{"long rows", ops.LSHSparse, []ir.Tensor{f32(4, 2), bytes(3, 1_000_000), f32(3)}, i32(4), true},
		{"rows too long", ops.LSHSparse, []ir.Tensor{f32(4, 2), bytes(3, 4_000_000), f32(3)}, i32(4), false},
		{"many rows", ops.LSHSparse, []ir.Tensor{f32(4, 2), bytes(60_000, 3), f32(60_000)}, i32(4), true},
		{"too many rows", ops.LSHSparse, []ir.Tensor{f32(4, 2), bytes(60_001, 3), f32(60_001)}, i32(4), false},
		{"too many hashes of all rows", ops.LSHSparse, []ir.Tensor{f32(1024, 8), bytes(50_000, 3), f32(50_000)}, i32(1024), false},
		{"33 bits", ops.LSHPacked, []ir.Tensor{f32(1, 33), bytes(3, 3), f32(3)}, i32(1), false},
		{"weights of other rows", ops.LSHPacked, []ir.Tensor{f32(4, 2), bytes(3, 3), f32(4)}, i32(4), false},
		{"hash of bytes", ops.LSHPacked, []ir.Tensor{bytes(4, 2), bytes(3, 3), f32(3)}, i32(4), false},
		{"float result", ops.LSHPacked, []ir.Tensor{f32(4, 2), bytes(3, 3), f32(3)}, f32(4), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: nn.OpLshProjection, Attrs: ops.LSH{Type: tc.typ}}, tc.out, tc.in...)
			if err := Check(&facts, g, &g.Nodes[0]); tc.runs {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
}
