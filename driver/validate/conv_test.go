package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestConvolutionRules breaks grouped and transposed convolutions by each rule that their operands, their number and their
// types fall under.
func TestConvolutionRules(t *testing.T) {
	for name, apply := range map[string]func(b *layers.Builder, x, w, bias uint32, q layers.Quant) uint32{
		"GROUPED_CONV_2D": func(b *layers.Builder, x, w, bias uint32, q layers.Quant) uint32 {
			return b.GroupedConv2D(x, w, bias, 1, layers.Conv{Padding: nn.PaddingSame}, q)
		},
		"TRANSPOSE_CONV_2D": func(b *layers.Builder, x, w, bias uint32, q layers.Quant) uint32 {
			return b.TransposeConv2D(x, w, bias, []int{1, 4, 4, 6}, layers.Conv{Padding: nn.PaddingSame}, q)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 4, 4, 3}, 0.5, 9)
			w := b.Input(nn.TensorQuant8Asymm, nn.Dims{6, 3, 3, 3}, 0.5, 7)
			bias := b.Input(nn.TensorInt32, nn.Dims{6}, 0.25, 0)
			y := apply(&b, x, w, bias, layers.Quant{Scale: 2, Zero: 5})
			b.Output(y)
			m, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			in := m.Main.Operations[0].Inputs
			act, layout := int(in[len(in)-2]), int(in[len(in)-1])
			refuseFrom(t, m, []change{
				{"V3 filter of rank 3", on(int(w), func(o *nn.Operand) { o.Dims = o.Dims[1:] })},
				{"V3 bias of rank 2", on(int(bias), func(o *nn.Operand) { o.Dims = nn.Dims{1, 6} })},
				{"V4 scale of the bias", on(int(bias), func(o *nn.Operand) { o.Scale = 0.5 })},
				{"V4 scale of the result", on(int(y), func(o *nn.Operand) { o.Scale = 0 })},
				{"V5 zero point of the bias", on(int(bias), func(o *nn.Operand) { o.ZeroPoint = 1 })},
				{"V9 signed filter", on(int(w), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
				{"V9 float bias", on(int(bias), func(o *nn.Operand) { o.Type, o.Scale = nn.TensorFloat32, 0 })},
				{"V9 float activation", on(act, func(o *nn.Operand) { o.Type = nn.Float32 })},
				{"V9 layout of another type", on(layout, func(o *nn.Operand) { o.Type = nn.Int32 })},
				{"V9 signed result", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
				{"V15 no layout", func(m *nn.Model) { m.Main.Operations[0].Inputs = in[:len(in)-1] }},
				{"V16 no output", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
				{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
				{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{1, 4, 4, 5} })},
			})
		})
	}
}
