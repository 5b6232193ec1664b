package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestBoxRules breaks the operations on boxes by each rule that their operands, their number and their types fall under.
func TestBoxRules(t *testing.T) {
	boxes := func(b *layers.Builder, d ...uint32) uint32 { return b.Input(nn.TensorQuant16Asymm, d, ops.BoxScale, 0) }
	roi := layers.Roi{Roi: ops.Roi{Size: [2]int{2, 3}, Ratio: [2]float32{1, 1}}}
	for name, make := range map[string]func(b *layers.Builder) []uint32{
		"ROI_ALIGN": func(b *layers.Builder) []uint32 {
			x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 4, 4, 4}, 0.5, 9)
			return []uint32{b.RoiAlign(x, boxes(b, 5, 4), b.Input(nn.TensorInt32, nn.Dims{5}, 0, 0), roi)}
		},
		"ROI_POOLING": func(b *layers.Builder) []uint32 {
			x := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 4, 4, 4}, 0.5, 9)
			return []uint32{b.RoiPooling(x, boxes(b, 5, 4), b.Input(nn.TensorInt32, nn.Dims{5}, 0, 0), roi)}
		},
		"AXIS_ALIGNED_BBOX_TRANSFORM": func(b *layers.Builder) []uint32 {
			x := boxes(b, 5, 4)
			deltas := b.Input(nn.TensorQuant8Asymm, nn.Dims{5, 8}, 0.5, 9)
			return []uint32{b.TransformBoxes(x, deltas, b.Input(nn.TensorInt32, nn.Dims{5}, 0, 0), boxes(b, 3, 2))}
		},
		"HEATMAP_MAX_KEYPOINT": func(b *layers.Builder) []uint32 {
			scores, places := b.HeatmapMaxKeypoint(b.Input(nn.TensorQuant8Asymm, nn.Dims{5, 8, 8, 3}, 0.5, 9), boxes(b, 5, 4), false)
			return []uint32{scores, places}
		},
		"BOX_WITH_NMS_LIMIT": func(b *layers.Builder) []uint32 {
			scores, at, classes, images := b.NonMaxSuppression(b.Input(nn.TensorQuant8Asymm, nn.Dims{5, 3}, 0.5, 9), boxes(b, 5, 12),
				b.Input(nn.TensorInt32, nn.Dims{5}, 0, 0), ops.BoxNMS{Limit: -1, Overlap: 0.5})
			return []uint32{scores, at, classes, images}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			results := make(&b)
			for _, y := range results {
				b.Output(y)
			}
			m, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			op := &m.Main.Operations[0]
			n := len(op.Inputs)
			box := int(op.Inputs[1])
			if m.Main.Operands[box].Type != nn.TensorQuant16Asymm {
				box = int(op.Inputs[0])
			}
			y := int(results[0])
			refuseFrom(t, m, []change{
				{"V4 boxes of no scale", on(box, func(o *nn.Operand) { o.Scale = 0 })},
				{"V4 boxes of other scale", on(box, func(o *nn.Operand) { o.Scale = 1 })},
				{"V5 zero point of boxes", on(box, func(o *nn.Operand) { o.ZeroPoint = 65536 })},
				{"V5 other zero point of boxes", on(box, func(o *nn.Operand) { o.ZeroPoint = 1 })},
				{"V9 boxes of 16 bits of either sign", on(box, func(o *nn.Operand) { o.Type = nn.TensorQuant16Symm })},
				{"V9 float boxes", on(box, func(o *nn.Operand) { o.Type, o.Scale = nn.TensorFloat32, 0 })},
				{"V9 float result", on(y, func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorFloat32, 0, 0 })},
				{"V11 input that is none", func(m *nn.Model) { m.Main.Operations[0].Inputs[1] = uint32(len(m.Main.Operands)) }},
				{"V15 an input less", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:n-1] }},
				{"V16 an output less", func(m *nn.Model) { m.Main.Operations[0].Outputs = m.Main.Operations[0].Outputs[:len(results)-1] }},
				{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }},
				{"result of another shape", on(y, func(o *nn.Operand) {
					if o.Dims[0]++; o.Dims[0] == 1 { // any number of boxes may be selected
						o.Dims = nn.Dims{1, 1}
					}
				})},
				{"boxes of five numbers", on(box, func(o *nn.Operand) { o.Dims[1] = 5 })},
			})
		})
	}
}
