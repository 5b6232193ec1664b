package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestCheckRuntimeParams: what the kernels that read their parameters from memory rely on.
func TestCheckRuntimeParams(t *testing.T) {
	f := &plan.Facts{MaxStorageRange: 1 << 27, MaxTexelElements: 1 << 27}
	params := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorInt32, Shape: shape} }
	float := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	for _, tc := range []struct {
		name         string
		op           nn.OperationType
		in, par, out ir.Tensor
		ok           bool
	}{
		{"pad", nn.OpPad, float(2, 3), params(2, 2), float(4, 3), true},
		{"pad of another rank", nn.OpPad, float(2, 3), params(2, 2), float(4, 3, 1), false},
		{"smaller", nn.OpPad, float(2, 3), params(2, 2), float(1, 3), false},
		{"too few paddings", nn.OpPad, float(2, 3), params(1, 2), float(4, 3), false},
		{"flat paddings", nn.OpMirrorPad, float(2, 3), params(4), float(3, 3), false},
		{"float paddings", nn.OpPadV2, float(2, 3), float(2, 2), float(3, 3), false},
		{"another type", nn.OpPad, float(2, 3), params(2, 2), params(3, 3), false},
		{"a scalar", nn.OpPad, float(), params(1, 2), float(), false},
		{"transpose", nn.OpTranspose, float(2, 3), params(2), float(3, 2), true},
		{"short permutation", nn.OpTranspose, float(2, 3), params(1), float(3, 2), false},
		{"more elements", nn.OpTranspose, float(2, 3), params(2), float(3, 3), false},
		{"mean", nn.OpMean, float(2, 3), params(7), float(2), true},
		{"many axes", nn.OpMean, float(2, 3), params(maxRuntimeAxes + 1), float(2), false},
		{"axes in a matrix", nn.OpMean, float(2, 3), params(1, 1), float(2), false},
		{"rank 5", nn.OpMean, float(1, 1, 1, 2, 3), params(1), float(1, 1, 1, 2), false},
		{"no whole number", nn.OpMean, float(2, 3), params(1), float(4), false},
		{"integers", nn.OpMean, params(2, 3), params(1), params(2), false},
		{"longest sum", nn.OpMean, float(maxRuntimeSum), params(1), float(1), true},
		{"longer", nn.OpMean, float(maxRuntimeSum + 1), params(1), float(1), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: tc.op}, tc.out, tc.in, tc.par)
			if err := Check(f, g, &g.Nodes[0]); tc.ok {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
			g.Nodes[0].In[1] = ir.None
			require.Error(t, Check(f, g, &g.Nodes[0]))
		})
	}
}
