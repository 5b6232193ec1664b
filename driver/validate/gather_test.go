package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// TestGatherRules breaks GATHER, EMBEDDING_LOOKUP, PACK and SELECT by each rule that their operands, their number and types fall
// under.
func TestGatherRules(t *testing.T) {
	bytes := func(o *nn.Operand) { o.Type, o.Scale = nn.TensorQuant8Asymm, 1 }
	m, y, in := byteLayer(t, func(b *layers.Builder, x uint32) uint32 {
		return b.Gather(x, 1, b.Ints(nn.Dims{5}, 4, 3, 2, 1, 0))
	})
	refuseFrom(t, m, append(movedRules(y, in[2]),
		change{"V3 axis of rank 1", on(in[1], func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		change{"V9 float axis", on(in[1], func(o *nn.Operand) { o.Type = nn.Float32 })},
		change{"V9 booleans", on(in[0], func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorBool8, 0, 0 })},
		change{"axis beyond the rank", setInt32(in[1], 0, 3)}))
	m, y, in = byteLayer(t, func(b *layers.Builder, x uint32) uint32 {
		return b.EmbeddingLookup(b.Ints(nn.Dims{4}, 3, 2, 1, 0), x)
	})
	refuseFrom(t, m, append(movedRules(y, in[0]), change{"V9 bytes looked up", on(in[0], bytes)}))
	m, y, in = byteLayer(t, func(b *layers.Builder, x uint32) uint32 {
		other := b.Input(nn.TensorQuant8Asymm, nn.Dims{4, 5, 6}, 0.5, 9)
		return b.Pack(1, []uint32{x, other, other})
	})
	refuseFrom(t, m, []change{
		{"V3 axis of rank 1", on(in[0], func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V4 other scale of an input", on(in[2], func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V5 other zero point of the result", on(y, func(o *nn.Operand) { o.ZeroPoint = 8 })},
		{"V9 float axis", on(in[0], func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"V9 signed input", on(in[2], func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V9 signed result", on(y, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V15 no axis", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[1:] }},
		{"V15 no tensor", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:1] }},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 a scalar more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"axis beyond the result", setInt32(in[0], 0, 4)},
		{"an input of another shape", on(in[2], func(o *nn.Operand) { o.Dims = nn.Dims{4, 5, 7} })},
	})
	m, y, in = byteLayer(t, func(b *layers.Builder, x uint32) uint32 {
		return b.Select(b.Input(nn.TensorBool8, nn.Dims{4, 5, 6}, 0, 0), x, b.Input(nn.TensorQuant8Asymm, nn.Dims{4, 5, 6}, 0.25, 7))
	})
	refuseFrom(t, m, []change{
		{"V4 scale of the mask", on(in[0], func(o *nn.Operand) { o.Scale = 1 })},
		{"V9 mask of bytes", on(in[0], bytes)},
		{"V9 signed input", on(in[2], func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V9 signed result", on(y, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V15 no second input", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:2] }},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 a fourth input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"a mask of another shape", on(in[0], func(o *nn.Operand) { o.Dims = nn.Dims{4, 5, 7} })},
	})
}
