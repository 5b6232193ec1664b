package ref

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	quantised := func(scale float64, zero int, v ...float64) *Tensor {
		return raw(t, Format{nn.TensorQuant8Asymm, scale, zero}, []int{len(v)}, v...)
	}
	for name, tc := range map[string]struct {
		op   nn.OperationType
		x, y *Tensor
		want []float64
	}{
		"floats":   {nn.OpLess, f32(t, []int{6}, -1, 0, math.Copysign(0, -1), nan, -inf, 1), f32(t, []int{6}, 0, 0, 0, inf, nan, inf), []float64{1, 0, 0, 0, 0, 1}},
		"equal":    {nn.OpEqual, f32(t, []int{4}, 1, 0, nan, inf), f32(t, []int{4}, 1, math.Copysign(0, -1), nan, nan), []float64{1, 1, 0, 0}},
		"not":      {nn.OpNotEqual, f32(t, []int{4}, 1, 0, nan, inf), f32(t, []int{4}, 1, math.Copysign(0, -1), nan, nan), []float64{0, 0, 1, 1}},
		"at most":  {nn.OpLessEqual, f32(t, []int{4}, 1, 2, nan, -inf), f32(t, []int{4}, 1, 1, 1, -inf), []float64{1, 0, 0, 1}},
		"more":     {nn.OpGreater, f32(t, []int{4}, 1, 2, nan, inf), f32(t, []int{4}, 1, 1, 1, 1), []float64{0, 1, 0, 1}},
		"at least": {nn.OpGreaterEqual, f32(t, []int{4}, 1, 2, nan, 0), f32(t, []int{4}, 1, 1, 1, 1), []float64{1, 1, 0, 0}},
		"scales":   {nn.OpLess, quantised(0.5, 10, 0, 10, 14, 15), quantised(1, 0, 0, 0, 2, 2), []float64{1, 0, 0, 0}},
		// 3 * 0.1 is less than 0.3, but not in float32.
		"rounded":  {nn.OpLess, quantised(float64(float32(0.1)), 0, 3), quantised(float64(float32(0.3)), 0, 1), []float64{0}},
		"and":      {nn.OpLogicalAnd, raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 0, 1, 7), raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 1, 0, 2), []float64{0, 0, 0, 1}},
		"or":       {nn.OpLogicalOr, raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 0, 1, 7), raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 1, 0, 2), []float64{0, 1, 1, 1}},
		"not x":    {nn.OpLogicalNot, raw(t, Format{Type: nn.TensorBool8}, []int{3}, 0, 1, 9), nil, []float64{1, 0, 0}},
		"booleans": {nn.OpLess, raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 0, 1, 1), raw(t, Format{Type: nn.TensorBool8}, []int{4}, 0, 1, 0, 1), []float64{0, 1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			k := kernels[tc.op]
			y := k.run(&call{in: []*Tensor{tc.x, tc.y}, out: Format{Type: nn.TensorBool8}})
			require.Equal(t, tc.want, y.V)
		})
	}
	mustRefuse(t, func() {
		Compare(f32(t, []int{1}, 1), raw(t, int32Format, []int{1}, 1), nil, Format{Type: nn.TensorBool8})
	})
	mustRefuse(t, func() { Compare(f32(t, []int{1}, 1), f32(t, []int{1}, 1), nil, float32Format) })
}
