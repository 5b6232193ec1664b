package lower

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func TestComparisonRefusals(t *testing.T) {
	typed := func(t nn.OperandType, shape ...int) ir.Tensor { return ir.Tensor{Type: t, Shape: shape, Scale: 1} }
	const f, u, b8 = nn.TensorFloat32, nn.TensorQuant8Asymm, nn.TensorBool8
	for name, tc := range map[string]struct{ x, y, z ir.Tensor }{
		"types":      {typed(f, 3), typed(u, 3), typed(b8, 3)},
		"result":     {typed(f, 3), typed(f, 3), typed(f, 3)},
		"unknown":    {typed(nn.TensorQuant16Symm, 3), typed(nn.TensorQuant16Symm, 3), typed(b8, 3)},
		"scale":      {typed(u, 3), ir.Tensor{Type: u, Shape: []int{3}}, typed(b8, 3)},
		"shapes":     {typed(f, 3), typed(f, 2), typed(b8, 3)},
		"dimensions": {typed(f, 2, 1, 2, 1, 2, 4), typed(f, 1, 2, 1, 2, 1, 4), typed(b8, 2, 2, 2, 2, 2, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: nn.OpLess}, tc.z, tc.x, tc.y)
			require.Error(t, Check(&softwareFacts, g, &g.Nodes[0]))
		})
	}
}

// TestComparisonsShareTheirKernels: one for a type and a form of the operands; a row that comes first is turned round.
func TestComparisonsShareTheirKernels(t *testing.T) {
	row, whole := ir.Tensor{Type: nn.TensorFloat32, Shape: []int{7}}, ir.Tensor{Type: nn.TensorFloat32, Shape: []int{5, 7}}
	for _, tc := range []struct {
		x, y ir.Tensor
		form family.Operands
		when relations
	}{
		{whole, whole, family.Same, relLess}, {whole, row, family.Row, relLess}, {row, whole, family.Row, relGreater},
		{ir.Tensor{Type: nn.TensorFloat32, Shape: []int{5, 1}}, row, family.Broadcast, relLess},
	} {
		g := singleNode(ir.Node{Op: nn.OpLess}, ir.Tensor{Type: nn.TensorBool8, Shape: []int{5, 7}}, tc.x, tc.y)
		p, _ := lowerFor(t, softwareFacts, g)
		for _, s := range p.Steps {
			if s.Transfers == 0 {
				require.Equal(t, shaders.Of(family.Compare{Elem: family.F32, Operands: tc.form}), s.Kernel)
				require.Equal(t, uint32(tc.when), s.Push[1])
			}
		}
	}
	require.Equal(t, relLess|relGreater|relUnordered, (relLess | relGreater | relUnordered).swapped())
	require.Equal(t, relGreater|relEqual, (relLess | relEqual).swapped())
}

// TestComparedScales: products of the scales are neither denormal nor infinite.
func TestComparedScales(t *testing.T) {
	for _, s := range [][2]float32{{0.5, 0.25}, {1e-45, 1e-45}, {math.MaxFloat32, 1e-45}, {3, 1e-30}} {
		x, y := ir.Tensor{Type: nn.TensorQuant8Asymm, Scale: s[0]}, ir.Tensor{Type: nn.TensorQuant8Asymm, Scale: s[1]}
		push := comparedBytes(nn.OpLess, &x, &y)
		a, b := float64(math.Float32frombits(push[4])), float64(math.Float32frombits(push[5]))
		require.True(t, a >= 0.5 && a < 1 && b >= 0x1p-100, "%v became %v and %v", s, a, b)
		if ratio := float64(s[1]) / float64(s[0]); ratio > 0x1p-99 {
			require.Equal(t, ratio, b/a)
		}
	}
}
