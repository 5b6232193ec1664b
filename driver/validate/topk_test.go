package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestTopKRules breaks a TOPK_V2 by each rule that its operands, their number and their types fall under.
func TestTopKRules(t *testing.T) {
	var b layers.Builder
	values, indices := b.TopK(b.Input(nn.TensorQuant8Asymm, nn.Dims{2, 3, 5}, 0.5, 9), 2)
	b.Output(values)
	b.Output(indices)
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
	k := m.Main.Operations[0].Inputs[1]
	refuseFrom(t, m, []change{
		{"V3 k of rank 1", on(int(k), func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V4 scale of k", on(int(k), func(o *nn.Operand) { o.Scale = 1 })},
		{"V4 other scale of the values", on(int(values), func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V5 other zero point of the values", on(int(values), func(o *nn.Operand) { o.ZeroPoint = 8 })},
		{"V9 float indices", on(int(indices), func(o *nn.Operand) { o.Type = nn.TensorFloat32 })},
		{"V9 signed values", on(int(values), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V9 float k", on(int(k), func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"V9 k that is a tensor", on(int(k), func(o *nn.Operand) { o.Type, o.Dims = nn.TensorInt32, nn.Dims{1} })},
		{"V15 no k", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:1] })},
		{"V16 no indices", op(func(o *nn.Operation) { o.Outputs = o.Outputs[:1] })},
		{"V16 no values", op(func(o *nn.Operation) { o.Outputs = o.Outputs[1:] })},
		{"V17 a third input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a third output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"k of more than there are", func(m *nn.Model) { m.Values[m.Main.Operands[k].Location.Offset] = 6 }},
		{"k of none", func(m *nn.Model) { m.Values[m.Main.Operands[k].Location.Offset] = 0 }},
		{"indices of another shape", on(int(indices), func(o *nn.Operand) { o.Dims = nn.Dims{2, 3, 5} })},
	})
}
