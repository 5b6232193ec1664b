package validate_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// transformation is an operation of one tensor and parameters, the last of which it may do without.
type transformation struct {
	make     func(b *layers.Builder, x uint32) uint32
	trailing int
}

// refuse breaks the operation, of a tensor like x, by the rules that its operands, their number and their types fall under,
// and by those of more, which gets input 0, the first parameter and the result.
func (f transformation) refuse(t *testing.T, x nn.Operand, more func(m *nn.Model, x, param, y int) []change) {
	t.Helper()
	var b layers.Builder
	in := b.Input(x.Type, x.Dims, x.Scale, x.ZeroPoint)
	out := f.make(&b, in)
	b.Output(out)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	list := m.Main.Operations[0].Inputs
	param, y := int(list[1]), int(out)
	inputs := func(n int) func(*nn.Model) {
		return func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:n] }
	}
	short := clone(m)
	inputs(len(list) - f.trailing)(short)
	for _, m := range []*nn.Model{m, short} {
		if err := validate.Model(m); err != nil {
			t.Fatal(err)
		}
	}
	refuseFrom(t, m, append(more(m, int(in), param, y), []change{
		{"V3 scalar of rank 1, or tensor of another rank", on(param, func(o *nn.Operand) { o.Dims = append(o.Dims, 0) })},
		{"V4 scale of the parameter", on(param, func(o *nn.Operand) { o.Scale = -1 })},
		{"V9 parameter of another type", on(param, func(o *nn.Operand) {
			o.Type = map[nn.OperandType]nn.OperandType{nn.Int32: nn.Float32, nn.Float32: nn.Int32, nn.TensorInt32: nn.TensorFloat32}[o.Type]
		})},
		{"V9 integers", on(int(in), func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorInt32, 0, 0 })},
		{"V15 a mandatory input less", inputs(len(list) - f.trailing - 1)},
		{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"result of another shape", on(y, func(o *nn.Operand) { o.Dims = nn.Dims{2, 5, 4, 1} })},
	}...))
}

// TestRearrangementRules: operations that move blocks of elements.
func TestRearrangementRules(t *testing.T) {
	for name, f := range map[string]transformation{
		"SPACE_TO_DEPTH": {func(b *layers.Builder, x uint32) uint32 { return b.SpaceToDepth(x, 2, false) }, 1},
		"DEPTH_TO_SPACE": {func(b *layers.Builder, x uint32) uint32 { return b.DepthToSpace(x, 2, false) }, 1},
		"SPACE_TO_BATCH_ND": {func(b *layers.Builder, x uint32) uint32 {
			return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{Top: 2, Left: 1, Right: 1}, false)
		}, 1},
		"BATCH_TO_SPACE_ND": {func(b *layers.Builder, x uint32) uint32 { return b.BatchToSpace(x, [2]int{2, 2}, false) }, 1},
		"CHANNEL_SHUFFLE":   {func(b *layers.Builder, x uint32) uint32 { return b.ChannelShuffle(x, 2, 1) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{4, 4, 4, 4}, Scale: 0.5, ZeroPoint: 9}
			f.refuse(t, x, func(_ *nn.Model, _, param, y int) []change {
				return []change{
					{"V4 other scale of the result", on(y, func(o *nn.Operand) { o.Scale = 0.25 })},
					{"V5 other zero point of the result", on(y, func(o *nn.Operand) { o.ZeroPoint = 8 })},
					{"V9 signed result", on(y, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
					{"parameter 0", func(m *nn.Model) {
						m.Values = slices.Clone(m.Values)
						clear(m.Values[m.Main.Operands[param].Location.Offset:][:4])
					}},
				}
			})
		})
	}
}
