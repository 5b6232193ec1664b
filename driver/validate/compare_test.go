package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// comparisonModel is z = x < y of 8-bit numbers of two scales: operands 0, 1 and 2.
func comparisonModel(t *testing.T) *nn.Model {
	t.Helper()
	var b layers.Builder
	x := b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3, 5}, 0.5, 9)
	b.Output(b.Less(x, b.Input(nn.TensorQuant8Asymm, nn.Dims{3, 1}, 0.1, 200)))
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestComparisonRules breaks a comparison by each rule that its operands, their number and their types fall under.
func TestComparisonRules(t *testing.T) {
	base := comparisonModel(t)
	if err := validate.Model(base); err != nil {
		t.Fatal(err)
	}
	const x, y, z = 0, 1, 2
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	refuseFrom(t, base, []change{
		{"V4 scale of booleans", on(z, func(o *nn.Operand) { o.Scale = 1 })},
		{"V4 scale of a quantised input", on(y, func(o *nn.Operand) { o.Scale = 0 })},
		{"V5 zero point of booleans", on(z, func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V5 zero point of a quantised input", on(x, func(o *nn.Operand) { o.ZeroPoint = 256 })},
		{"V9 result of the type of the inputs", on(z, func(o *nn.Operand) { o.Type, o.Scale = nn.TensorQuant8Asymm, 0.5 })},
		{"V9 inputs of two types", on(y, func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorFloat32, 0, 0 })},
		{"V9 inputs of two signednesses", on(y, func(o *nn.Operand) { o.Type, o.ZeroPoint = nn.TensorQuant8AsymmSigned, 0 })},
		{"V9 scalar input", on(y, func(o *nn.Operand) { *o = nn.Operand{Type: nn.Float32, Lifetime: nn.SubgraphInput} })},
		{"V15 no second input", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:1] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 a third input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"shapes that do not broadcast", on(y, func(o *nn.Operand) { o.Dims = nn.Dims{2, 1} })},
		{"result of another shape", on(z, func(o *nn.Operand) { o.Dims = nn.Dims{2, 3, 1} })},
	})
}
