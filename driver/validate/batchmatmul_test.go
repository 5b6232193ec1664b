package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestBatchMatmulRules breaks BATCH_MATMUL by each rule that its operands, their number and types fall under.
func TestBatchMatmulRules(t *testing.T) {
	var b layers.Builder
	x, y := b.Input(nn.TensorQuant8AsymmSigned, nn.Dims{2, 3, 4}, 0.5, 9), b.Input(nn.TensorQuant8AsymmSigned, nn.Dims{2, 5, 4}, 0.25, -7)
	z := b.BatchMatmul(x, y, false, true, layers.Quant{Scale: 2, Zero: 1})
	b.Output(z)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	in := m.Main.Operations[0].Inputs
	left, right, flag, result := int(in[0]), int(in[1]), int(in[2]), int(z)
	refuseFrom(t, m, []change{
		{"V2 before AIDL 2", func(m *nn.Model) { m.Level = nn.AIDL1 }},
		{"V3 flag of rank 1", on(flag, func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V4 no scale", on(left, func(o *nn.Operand) { o.Scale = 0 })},
		{"V4 scale of a flag", on(flag, func(o *nn.Operand) { o.Scale = 1 })},
		{"V5 zero point", on(result, func(o *nn.Operand) { o.ZeroPoint = 128 })},
		{"V9 float flag", on(flag, func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"V9 unsigned left", on(left, func(o *nn.Operand) { o.Type, o.ZeroPoint = nn.TensorQuant8Asymm, 0 })},
		{"V9 unsigned right", on(right, func(o *nn.Operand) { o.Type, o.ZeroPoint = nn.TensorQuant8Asymm, 0 })},
		{"V9 float result", on(result, func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorFloat32, 0, 0 })},
		{"V15 no last flag", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:3] }},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 a fifth input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"depths that differ", on(right, func(o *nn.Operand) { o.Dims = nn.Dims{2, 5, 3} })},
		{"batches that differ", on(right, func(o *nn.Operand) { o.Dims = nn.Dims{1, 5, 4} })},
		{"a result of another shape", on(result, func(o *nn.Operand) { o.Dims = nn.Dims{2, 5, 3} })},
		{"rank 1", on(left, func(o *nn.Operand) { o.Dims = nn.Dims{4} })},
	})
}
