package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// detectionGraph is a DETECTION_POSTPROCESSING of scores of that shape.
func detectionGraph(images, anchors, classes int, a ops.Detection) *ir.Graph {
	g := &ir.Graph{}
	tensor := func(t nn.OperandType, shape ...int) ir.ID { return g.Add(ir.Tensor{Type: t, Shape: shape}) }
	places := int(a.Places())
	n := ir.Node{Op: nn.OpDetectionPostprocessing, Attrs: a,
		In: []ir.ID{tensor(nn.TensorFloat32, images, anchors, classes), tensor(nn.TensorFloat32, images, anchors, 4), tensor(nn.TensorFloat32, anchors, 4)},
		Out: []ir.ID{tensor(nn.TensorFloat32, images, places), tensor(nn.TensorFloat32, images, places, 4), tensor(nn.TensorInt32, images, places),
			tensor(nn.TensorInt32, images)}}
	g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
	return g
}

// TestDetectionRefusals: what would loop too long, take too many steps, or more memory between them than the device binds.
func TestDetectionRefusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	best := func(detections, classes int) ops.Detection {
		return ops.Detection{Scale: [4]float32{1, 1, 1, 1}, Detections: detections, ClassesPerBox: classes}
	}
	each := func(detections, ofClass int) ops.Detection {
		return ops.Detection{Scale: [4]float32{1, 1, 1, 1}, Regular: true, Detections: detections, DetectionsPerClass: ofClass}
	}
	for _, tc := range []struct {
		name                     string
		images, anchors, classes int
		ops.Detection
		change func(g *ir.Graph)
		runs   bool
	}{
		{name: "a network's", images: 1, anchors: 1917, classes: 91, Detection: best(10, 1), runs: true},
		{name: "in each class", images: 1, anchors: 1917, classes: 91, Detection: each(100, 100), runs: true},
		{name: "of all anchors", images: 2, anchors: 1 << 17, classes: 2, Detection: best(1<<20, 1), runs: true},
		{name: "of more", images: 2, anchors: 1<<17 + 1, classes: 2, Detection: best(1, 1)},
		{name: "the best of many classes", images: 1, anchors: 2, classes: 2000, Detection: best(1, 2000)},
		{name: "classes whose boxes are too many", images: 1, anchors: 100000, classes: 91, Detection: each(1<<20, 1<<20)},
		{name: "too many to be sorted", images: 16, anchors: 1 << 17, classes: 10, Detection: each(1, 1)},
		{name: "halves", images: 1, anchors: 9, classes: 3, Detection: best(1, 1), change: func(g *ir.Graph) { g.T(g.Inputs[0]).Type = nn.TensorFloat16 }},
		{name: "deltas of others", images: 1, anchors: 9, classes: 3, Detection: best(1, 1), change: func(g *ir.Graph) { g.T(g.Inputs[1]).Shape[1]++ }},
		{name: "anchors of others", images: 1, anchors: 9, classes: 3, Detection: best(1, 1), change: func(g *ir.Graph) { g.T(g.Inputs[2]).Shape[0]++ }},
		{name: "results of others", images: 1, anchors: 9, classes: 3, Detection: best(1, 1), change: func(g *ir.Graph) { g.T(g.Outputs[1]).Shape[1]++ }},
		{name: "of no classes", images: 1, anchors: 9, classes: 3, Detection: best(1, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := detectionGraph(tc.images, tc.anchors, tc.classes, tc.Detection)
			if tc.change != nil {
				tc.change(g)
			}
			if err := Check(&facts, g, &g.Nodes[0]); tc.runs {
				require.NoError(t, err)
				p, _ := lowerFor(t, facts, g)
				require.NotEmpty(t, p.Steps)
			} else {
				require.Error(t, err)
				t.Log(err)
			}
		})
	}
}
