package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestDetectionRules breaks DETECTION_POSTPROCESSING by each rule that its operands, their number and their types fall under.
func TestDetectionRules(t *testing.T) {
	var b layers.Builder
	in := func(d ...uint32) uint32 { return b.Input(nn.TensorFloat32, d, 0, 0) }
	scores, boxes, classes, counts := b.DetectionPostprocessing(in(2, 7, 5), in(2, 7, 4), in(7, 4), ops.Detection{
		Scale: [4]float32{10, 10, 5, 5}, Detections: 3, ClassesPerBox: 1, Overlap: 0.5})
	for _, y := range []uint32{scores, boxes, classes, counts} {
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
	operand := func(i int) int { return int(op.Inputs[i]) }
	changes := []change{
		{"V3 detections of rank 1", on(operand(8), func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V4 scale of scores", on(operand(0), func(o *nn.Operand) { o.Scale = 1 })},
		{"V4 scale of counts", on(int(counts), func(o *nn.Operand) { o.Scale = -1 })},
		{"V5 zero point of boxes", on(int(boxes), func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V9 half a result", on(int(boxes), func(o *nn.Operand) { o.Type = nn.TensorFloat16 })},
		{"V9 float classes", on(int(classes), func(o *nn.Operand) { o.Type = nn.TensorFloat32 })},
		{"V9 bytes", on(operand(1), func(o *nn.Operand) { o.Type, o.Scale = nn.TensorQuant8Asymm, 1 })},
		{"V9 number instead of a switch", on(operand(7), func(o *nn.Operand) { o.Type = nn.Int32 })},
		{"V11 input that is none", func(m *nn.Model) { m.Main.Operations[0].Inputs[2] = uint32(len(m.Main.Operands)) }},
		{"V15 an input less", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:13] }},
		{"V16 an output less", func(m *nn.Model) { m.Main.Operations[0].Outputs = m.Main.Operations[0].Outputs[:3] }},
		{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }},
		{"no detections", setInt32(operand(8), 0, 0)},
		{"of no classes", setInt32(operand(9), 0, 0)},
		{"anchors of others", on(operand(2), func(o *nn.Operand) { o.Dims = nn.Dims{6, 4} })},
		{"counts of others", on(int(counts), func(o *nn.Operand) { o.Dims = nn.Dims{3} })},
	}
	refuseFrom(t, m, changes)
}

// TestProposalRules breaks GENERATE_PROPOSALS by each rule.
func TestProposalRules(t *testing.T) {
	var b layers.Builder
	in := func(typ nn.OperandType, scale float32, zero int32, d ...uint32) uint32 {
		return b.Input(typ, d, scale, zero)
	}
	scores, boxes, images := b.GenerateProposals(in(nn.TensorQuant8Asymm, 0.5, 9, 2, 3, 5, 4), in(nn.TensorQuant8Asymm, 0.25, 3, 2, 3, 5, 16),
		in(nn.TensorQuant16Symm, ops.BoxScale, 0, 4, 4), in(nn.TensorQuant16Asymm, ops.BoxScale, 0, 2, 2), ops.Proposals{Ratio: [2]float32{4, 4}, Overlap: 0.5})
	for _, y := range []uint32{scores, boxes, images} {
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
	operand := func(i int) int { return int(op.Inputs[i]) }
	refuseFrom(t, m, []change{
		{"V3 ratio of rank 1", on(operand(4), func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V4 scale of anchors", on(operand(2), func(o *nn.Operand) { o.Scale = 1 })},
		{"V4 scale of the result", on(int(scores), func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V4 scale of boxes", on(int(boxes), func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V5 zero point of sizes", on(operand(3), func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V5 zero point of anchors", on(operand(2), func(o *nn.Operand) { o.ZeroPoint = 1 })},
		{"V9 unsigned anchors", on(operand(2), func(o *nn.Operand) { o.Type = nn.TensorQuant16Asymm })},
		{"V9 signed sizes", on(operand(3), func(o *nn.Operand) { o.Type = nn.TensorQuant16Symm })},
		{"V9 float boxes", on(int(boxes), func(o *nn.Operand) { o.Type, o.Scale = nn.TensorFloat32, 0 })},
		{"V9 signed deltas", on(operand(1), func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V11 input that is none", func(m *nn.Model) { m.Main.Operations[0].Inputs[2] = uint32(len(m.Main.Operands)) }},
		{"V15 no layout", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:10] }},
		{"V16 an output less", func(m *nn.Model) { m.Main.Operations[0].Outputs = m.Main.Operations[0].Outputs[:2] }},
		{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }},
		{"deltas of others", on(operand(1), func(o *nn.Operand) { o.Dims = nn.Dims{2, 3, 5, 15} })},
		{"anchors of others", on(operand(2), func(o *nn.Operand) { o.Dims = nn.Dims{5, 4} })},
		{"sizes of others", on(operand(3), func(o *nn.Operand) { o.Dims = nn.Dims{1, 2} })},
		{"boxes of five numbers", on(int(boxes), func(o *nn.Operand) { o.Dims = nn.Dims{0, 5} })},
	})
}
