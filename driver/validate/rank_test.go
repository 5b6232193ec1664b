package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestRankRules breaks RANK by each rule that its operands, their number and types fall under.
func TestRankRules(t *testing.T) {
	m, y, in := byteLayer(t, func(b *layers.Builder, x uint32) uint32 { return b.Rank(x) })
	refuseFrom(t, m, []change{
		{"V3 result of rank 1", on(y, func(o *nn.Operand) { o.Dims = nn.Dims{1} })},
		{"V4 scale of the result", on(y, func(o *nn.Operand) { o.Scale = 1 })},
		{"V5 zero point of the result", on(y, func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V9 a scalar", on(in[0], func(o *nn.Operand) { *o = nn.Operand{Type: nn.Int32, Lifetime: o.Lifetime} })},
		{"V9 float result", on(y, func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"V9 tensor for a result", on(y, func(o *nn.Operand) { o.Type, o.Dims = nn.TensorInt32, nn.Dims{1} })},
		{"V10 before 1.3", func(m *nn.Model) { m.Level = nn.HAL12 }},
		{"V15 no input", func(m *nn.Model) { m.Main.Operations[0].Inputs = nil }},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 a second input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
	})
}
