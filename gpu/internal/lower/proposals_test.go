package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// proposalGraph is a GENERATE_PROPOSALS of images of positions [height, width].
func proposalGraph(images, height, width, anchors int, a ops.Proposals) *ir.Graph {
	g := &ir.Graph{}
	tensor := func(t nn.OperandType, shape ...int) ir.ID { return g.Add(ir.Tensor{Type: t, Shape: shape}) }
	most := images * a.Room(height*width*anchors)
	n := ir.Node{Op: ops.Counted(nn.OpGenerateProposals), Attrs: a,
		In: []ir.ID{tensor(nn.TensorFloat32, images, height, width, anchors), tensor(nn.TensorFloat32, images, height, width, 4*anchors),
			tensor(nn.TensorFloat32, anchors, 4), tensor(nn.TensorFloat32, images, 2)},
		Out: []ir.ID{tensor(nn.TensorFloat32, most), tensor(nn.TensorFloat32, most, 4), tensor(nn.TensorInt32, most), tensor(nn.TensorInt32, 1)}}
	g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
	return g
}

// TestProposalRefusals: what would loop too long, take too many steps, or more memory between them than the device binds.
func TestProposalRefusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	for _, tc := range []struct {
		name                           string
		images, height, width, anchors int
		ops.Proposals
		change func(g *ir.Graph)
		runs   bool
	}{
		{name: "a network's", images: 1, height: 50, width: 76, anchors: 15, Proposals: ops.Proposals{Before: 6000, Most: 300}, runs: true},
		{name: "all", images: 1, height: 128, width: 128, anchors: 8, runs: true},
		{name: "more", images: 1, height: 129, width: 128, anchors: 8},
		{name: "few of more", images: 1, height: 500, width: 400, anchors: 3, Proposals: ops.Proposals{Before: 2000}, runs: true},
		{name: "too many images", images: 60001, height: 1, width: 1, anchors: 1},
		{name: "too many to be sorted", images: 200, height: 100, width: 100, anchors: 9, Proposals: ops.Proposals{Before: 4000}},
		{name: "channels first", images: 1, height: 3, width: 3, anchors: 3, Proposals: ops.Proposals{NCHW: true}},
		{name: "halves", images: 1, height: 3, width: 3, anchors: 3, change: func(g *ir.Graph) { g.T(g.Inputs[0]).Type = nn.TensorFloat16 }},
		{name: "deltas of others", images: 1, height: 3, width: 3, anchors: 3, change: func(g *ir.Graph) { g.T(g.Inputs[1]).Shape[3]++ }},
		{name: "sizes of others", images: 1, height: 3, width: 3, anchors: 3, change: func(g *ir.Graph) { g.T(g.Inputs[3]).Shape[0]++ }},
		{name: "results of others", images: 1, height: 3, width: 3, anchors: 3, change: func(g *ir.Graph) { g.T(g.Outputs[2]).Shape[0]++ }},
		{name: "two counts", images: 1, height: 3, width: 3, anchors: 3, change: func(g *ir.Graph) { g.T(g.Outputs[3]).Shape[0]++ }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := proposalGraph(tc.images, tc.height, tc.width, tc.anchors, tc.Proposals)
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
