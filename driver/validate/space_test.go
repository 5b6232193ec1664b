package validate_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestRearrangementRules breaks the operations that move blocks of elements by each rule that their operands, their number
// and their types fall under.
func TestRearrangementRules(t *testing.T) {
	for name, tc := range map[string]struct {
		make     func(b *layers.Builder, x uint32) uint32
		trailing int // inputs that may be left off
	}{
		"SPACE_TO_DEPTH": {func(b *layers.Builder, x uint32) uint32 { return b.SpaceToDepth(x, 2, false) }, 1},
		"DEPTH_TO_SPACE": {func(b *layers.Builder, x uint32) uint32 { return b.DepthToSpace(x, 2, false) }, 1},
		"SPACE_TO_BATCH_ND": {func(b *layers.Builder, x uint32) uint32 {
			return b.SpaceToBatch(x, [2]int{2, 3}, ops.Pad{Top: 2, Left: 1, Right: 1}, false)
		}, 1},
		"BATCH_TO_SPACE_ND": {func(b *layers.Builder, x uint32) uint32 { return b.BatchToSpace(x, [2]int{2, 2}, false) }, 1},
		"CHANNEL_SHUFFLE":   {func(b *layers.Builder, x uint32) uint32 { return b.ChannelShuffle(x, 2, 1) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			x := b.Input(nn.TensorQuant8Asymm, nn.Dims{4, 4, 4, 4}, 0.5, 9)
			y := tc.make(&b, x)
			b.Output(y)
			m, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			param, last := int(m.Main.Operations[0].Inputs[1]), len(m.Main.Operations[0].Inputs)
			inputs := func(n int) func(*nn.Model) {
				return func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:n] }
			}
			short := clone(m)
			inputs(last - tc.trailing)(short)
			if err := validate.Model(short); err != nil {
				t.Error(err)
			}
			refuseFrom(t, m, []change{
				{"V3 scalar of rank 1, or tensor of another rank", on(param, func(o *nn.Operand) { o.Dims = append(o.Dims, 0) })},
				{"V4 scale of the parameter", on(param, func(o *nn.Operand) { o.Scale = -1 })},
				{"V4 other scale of the result", on(int(y), func(o *nn.Operand) { o.Scale = 0.25 })},
				{"V5 other zero point of the result", on(int(y), func(o *nn.Operand) { o.ZeroPoint = 8 })},
				{"V9 float parameter", on(param, func(o *nn.Operand) {
					o.Type = map[bool]nn.OperandType{true: nn.TensorFloat32, false: nn.Float32}[o.Type.IsTensor()]
				})},
				{"V9 signed result", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
				{"V9 integers", on(int(x), func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorInt32, 0, 0 })},
				{"V15 a mandatory input less", inputs(last - tc.trailing - 1)},
				{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
				{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
				{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{2, 5, 4, 1} })},
				{"parameter 0", func(m *nn.Model) {
					m.Values = slices.Clone(m.Values)
					clear(m.Values[m.Main.Operands[param].Location.Offset:][:4])
				}},
			})
		})
	}
}
