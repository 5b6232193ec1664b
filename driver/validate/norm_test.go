package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestNormalisationRules(t *testing.T) {
	for name, f := range map[string]transformation{
		"L2_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, 1) }, 1},
		"LOCAL_RESPONSE_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 {
			return b.LocalResponseNormalization(x, layers.LocalResponse{Radius: 2, Bias: 1, Alpha: 1, Beta: 0.5})
		}, 1},
		"INSTANCE_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 { return b.InstanceNormalization(x, 1, 0, 1e-3, false) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f.refuse(t, nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{2, 3, 5, 7}}, func(m *nn.Model, x, _, y int) []change {
				list := m.Main.Operations[0].Inputs
				last := int(list[len(list)-1])
				return []change{
					{"V4 scale of floats", on(y, func(o *nn.Operand) { o.Scale = 1 })},
					{"V5 zero point of floats", on(x, func(o *nn.Operand) { o.ZeroPoint = 1 })},
					{"V9 last parameter", on(last, func(o *nn.Operand) { o.Type, o.Location.Length = nn.Float32, 4 })},
					{"V9 half result", on(y, func(o *nn.Operand) { o.Type = nn.TensorFloat16 })},
				}
			})
		})
	}
	bytes := nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{2, 3, 5, 7}, Scale: 0.5, ZeroPoint: 9}
	l2 := transformation{func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, 1) }, 1}
	l2.refuse(t, bytes, func(_ *nn.Model, _, _, y int) []change {
		return []change{
			{"V4 scale of the input", on(y, func(o *nn.Operand) { o.Scale = 0.5 })},
			{"V5 zero point of the input", on(y, func(o *nn.Operand) { o.ZeroPoint = 9 })},
		}
	})
}
