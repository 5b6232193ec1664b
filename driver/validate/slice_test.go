package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestSliceRules breaks a SLICE by each rule that its operands, their number and their types fall under.
func TestSliceRules(t *testing.T) {
	var b layers.Builder
	y := b.Slice(b.Input(nn.TensorQuant8Asymm, nn.Dims{4, 5, 6}, 0.5, 9), []int{1, 0, 2}, []int{2, 5, 3})
	b.Output(y)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	begin, size := m.Main.Operations[0].Inputs[1], m.Main.Operations[0].Inputs[2]
	refuseFrom(t, m, []change{
		{"V4 scale of begin", on(int(begin), func(o *nn.Operand) { o.Scale = -1 })},
		{"V4 other scale of the result", on(int(y), func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V5 other zero point of the result", on(int(y), func(o *nn.Operand) { o.ZeroPoint = 8 })},
		{"V9 float begin", on(int(begin), func(o *nn.Operand) { o.Type = nn.TensorFloat32 })},
		{"V9 scalar size", on(int(size), func(o *nn.Operand) { o.Type, o.Dims, o.Location.Length = nn.Int32, nil, 4 })},
		{"V9 signed result", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V15 no size", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:2] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 a fourth input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"beyond the end", func(m *nn.Model) { m.Values[m.Main.Operands[begin].Location.Offset] = 3 }},
		{"of no size", func(m *nn.Model) { m.Values[m.Main.Operands[size].Location.Offset] = 0 }},
		{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{2, 5, 4} })},
	})
}

// TestLogicalRules breaks LOGICAL_AND by each rule that its operands, their number and their types fall under.
func TestLogicalRules(t *testing.T) {
	var b layers.Builder
	x, y := b.Input(nn.TensorBool8, nn.Dims{2, 3}, 0, 0), b.Input(nn.TensorBool8, nn.Dims{3}, 0, 0)
	z := b.LogicalAnd(x, y)
	b.Output(z)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	refuseFrom(t, m, []change{
		{"V4 scale of booleans", on(int(z), func(o *nn.Operand) { o.Scale = 1 })},
		{"V9 integers", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorInt32 })},
		{"V9 result of integers", on(int(z), func(o *nn.Operand) { o.Type = nn.TensorInt32 })},
		{"V15 no second input", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:1] }},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 a third input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"shapes that do not broadcast", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
	})
}
