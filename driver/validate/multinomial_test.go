package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestMultinomialRules breaks RANDOM_MULTINOMIAL by each rule that its operands, their number and their types fall under.
func TestMultinomialRules(t *testing.T) {
	var b layers.Builder
	logits, seeds := b.Input(nn.TensorFloat32, nn.Dims{3, 7}, 0, 0), b.Input(nn.TensorInt32, nn.Dims{2}, 0, 0)
	y := b.RandomMultinomial(logits, 11, seeds)
	b.Output(y)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	samples := m.Main.Operations[0].Inputs[1]
	var changes []change
	for i, legal := range map[uint32][]nn.OperandType{
		logits: {nn.TensorFloat32, nn.TensorFloat16}, samples: {nn.Int32}, seeds: {nn.TensorInt32}, y: {nn.TensorInt32},
	} {
		for typ := nn.OperandType(0); typ.Valid(); typ++ {
			if typ != legal[0] && typ != legal[len(legal)-1] {
				changes = append(changes, change{"V9 " + typ.String(), on(int(i), func(o *nn.Operand) { retype(o, typ) })})
			}
		}
	}
	refuseFrom(t, m, append(changes, []change{
		{"V3 samples of rank 1", on(int(samples), func(o *nn.Operand) { o.Dims = nn.Dims{1} })},
		{"V4 scale of a float", on(int(logits), func(o *nn.Operand) { o.Scale = 1 })},
		{"V5 zero point of integers", on(int(seeds), func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V11 input that is none", func(m *nn.Model) { m.Main.Operations[0].Inputs[2] = uint32(len(m.Main.Operands)) }},
		{"V15 an input less", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:2] }},
		{"V16 an output less", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }},
		{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims[1]++ })},
		{"three seeds", on(int(seeds), func(o *nn.Operand) { o.Dims[0]++ })},
	}...))
}
