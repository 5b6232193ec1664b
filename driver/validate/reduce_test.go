package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestReductionRules breaks reductions by each rule that their operands, their number and their types fall under.
func TestReductionRules(t *testing.T) {
	for name, tc := range map[string]struct {
		typ  nn.OperandType
		make func(b *layers.Builder, x uint32) uint32
	}{
		"REDUCE_MAX":  {nn.TensorQuant8Asymm, func(b *layers.Builder, x uint32) uint32 { return b.ReduceMax(x, []int{1}, false) }},
		"REDUCE_MIN":  {nn.TensorQuant8Asymm, func(b *layers.Builder, x uint32) uint32 { return b.ReduceMin(x, []int{1}, false) }},
		"REDUCE_PROD": {nn.TensorFloat32, func(b *layers.Builder, x uint32) uint32 { return b.ReduceProd(x, []int{1}, false) }},
		"REDUCE_SUM":  {nn.TensorFloat32, func(b *layers.Builder, x uint32) uint32 { return b.ReduceSum(x, []int{1}, false) }},
		"REDUCE_ALL":  {nn.TensorBool8, func(b *layers.Builder, x uint32) uint32 { return b.ReduceAll(x, []int{1}, false) }},
		"REDUCE_ANY":  {nn.TensorBool8, func(b *layers.Builder, x uint32) uint32 { return b.ReduceAny(x, []int{1}, false) }},
		"ARGMAX":      {nn.TensorQuant8Asymm, func(b *layers.Builder, x uint32) uint32 { return b.ArgMax(x, 1) }},
		"ARGMIN":      {nn.TensorQuant8Asymm, func(b *layers.Builder, x uint32) uint32 { return b.ArgMin(x, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			scale, zero := float32(0), int32(0)
			if tc.typ.IsQuant8() {
				scale, zero = 0.5, 9
			}
			x := b.Input(tc.typ, nn.Dims{4, 3, 2}, scale, zero)
			y := tc.make(&b, x)
			b.Output(y)
			m, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			in := m.Main.Operations[0].Inputs
			param, last := int(in[1]), len(in)
			changes := []change{
				{"V4 scale of the parameter", on(param, func(o *nn.Operand) { o.Scale = -1 })},
				{"V9 float parameter", on(param, func(o *nn.Operand) {
					o.Type = map[bool]nn.OperandType{true: nn.TensorFloat32, false: nn.Float32}[o.Type.IsTensor()]
				})},
				{"V9 result of floats or bytes", on(int(y), func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorQuant8AsymmSigned, 1, 0 })},
				{"V9 input of 16 bits", on(int(x), func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorQuant16Asymm, 1, 0 })},
				{"V15 a mandatory input less", func(m *nn.Model) { m.Main.Operations[0].Inputs = in[:last-1] }},
				{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
				{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
				{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{4, 3} })},
			}
			if tc.typ.IsQuant8() && last == 3 {
				changes = append(changes,
					change{"V4 other scale of the result", on(int(y), func(o *nn.Operand) { o.Scale = 0.25 })},
					change{"V5 other zero point of the result", on(int(y), func(o *nn.Operand) { o.ZeroPoint = 8 })})
			}
			refuseFrom(t, m, changes)
		})
	}
}
