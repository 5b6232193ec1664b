package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestNormalisationRules breaks normalisations by each rule that their operands, their number and their types fall under.
func TestNormalisationRules(t *testing.T) {
	for name, tc := range map[string]struct {
		make     func(b *layers.Builder, x uint32) uint32
		trailing int // inputs that may be left off
	}{
		"L2_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, 1) }, 1},
		"LOCAL_RESPONSE_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 {
			return b.LocalResponseNormalization(x, layers.LocalResponse{Radius: 2, Bias: 1, Alpha: 1, Beta: 0.5})
		}, 1},
		"INSTANCE_NORMALIZATION": {func(b *layers.Builder, x uint32) uint32 { return b.InstanceNormalization(x, 1, 0, 1e-3, false) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			x := b.Input(nn.TensorFloat32, nn.Dims{2, 3, 5, 7}, 0, 0)
			y := tc.make(&b, x)
			b.Output(y)
			m, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			list := m.Main.Operations[0].Inputs
			first, last := int(list[1]), int(list[len(list)-1])
			inputs := func(n int) func(*nn.Model) {
				return func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:n] }
			}
			short := clone(m)
			inputs(len(list) - tc.trailing)(short)
			if err := validate.Model(short); err != nil {
				t.Error(err)
			}
			retyped := map[nn.OperandType]nn.OperandType{nn.Int32: nn.Float32, nn.Float32: nn.Int32}[m.Main.Operands[first].Type]
			refuseFrom(t, m, []change{
				{"V3 scalar of rank 1", on(first, func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
				{"V4 scale of a parameter", on(first, func(o *nn.Operand) { o.Scale = 1 })},
				{"V4 scale of floats", on(int(y), func(o *nn.Operand) { o.Scale = 1 })},
				{"V5 zero point of floats", on(int(x), func(o *nn.Operand) { o.ZeroPoint = 1 })},
				{"V9 first parameter", on(first, func(o *nn.Operand) { o.Type = retyped })},
				{"V9 last parameter", on(last, func(o *nn.Operand) { o.Type = nn.Float32; o.Location.Length = 4 })},
				{"V9 half result", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorFloat16 })},
				{"V9 integers", on(int(x), func(o *nn.Operand) { o.Type = nn.TensorInt32 })},
				{"V15 a mandatory input less", inputs(len(list) - tc.trailing - 1)},
				{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
				{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
				{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{2, 3, 5, 6} })},
			})
		})
	}
}
