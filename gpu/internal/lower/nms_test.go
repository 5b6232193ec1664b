package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// nmsGraph has a node that selects boxes of so many rows and classes.
func nmsGraph(rows, classes, limit int) *ir.Graph {
	each := max(classes-1, 1)
	if limit >= 0 {
		each = min(each, max(limit, 1))
	}
	g := &ir.Graph{}
	add := func(t nn.OperandType, shape ...int) ir.ID { return g.Add(ir.Tensor{Type: t, Shape: shape}) }
	f32, i32 := nn.TensorFloat32, nn.TensorInt32
	g.Inputs = []ir.ID{add(f32, rows, classes), add(f32, rows, 4*classes), add(i32, rows)}
	most := rows * each
	g.Outputs = []ir.ID{add(f32, most), add(f32, most, 4), add(i32, most), add(i32, most), add(i32, 1)}
	g.Nodes = []ir.Node{{Op: ops.Counted(nn.OpBoxWithNmsLimit), Attrs: ops.BoxNMS{Limit: limit}, In: g.Inputs, Out: g.Outputs}}
	return g
}

// TestSelectionRefusals: what would take one invocation too long, or more memory than the device binds.
func TestSelectionRefusals(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		rows, classes, limit int
		change               func(g *ir.Graph)
		runs                 bool
	}{
		{"one box", 1, 1, -1, nil, true},
		{"none wanted", 100, 7, 0, nil, true},
		{"a detector's", 2000, 91, 100, nil, true},
		{"all of many", 16000, 2, -1, nil, true},
		{"too many", 1 << 15, 2, -1, nil, false},
		{"of too many to select all", 30000, 2, -1, nil, false},
		{"few of them", 19000, 2, 300, nil, true},
		{"too many classes", 10, 4000, -1, nil, false},
		{"too much memory", 8000, 1200, 5, nil, false},
		{"boxes of other rows", 10, 3, -1, func(g *ir.Graph) { g.T(g.Inputs[1]).Shape[0] = 11 }, false},
		{"images of other rows", 10, 3, -1, func(g *ir.Graph) { g.T(g.Inputs[2]).Shape[0] = 9 }, false},
		{"halves", 10, 3, -1, func(g *ir.Graph) { g.T(g.Inputs[0]).Type = nn.TensorFloat16 }, false},
		{"results of other rows", 10, 3, -1, func(g *ir.Graph) { g.T(g.Outputs[2]).Shape[0] = 9 }, false},
		{"two counts", 10, 3, -1, func(g *ir.Graph) { g.T(g.Outputs[4]).Shape[0] = 2 }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := nmsGraph(tc.rows, tc.classes, tc.limit)
			if tc.change != nil {
				tc.change(g)
			}
			err := Check(&plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}, g, &g.Nodes[0])
			if tc.runs {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
}

// TestRoundsOfASelection: however many boxes there are, an invocation of one step loops no longer than it may, and all steps
// together select as many as there are to be.
func TestRoundsOfASelection(t *testing.T) {
	for rows := 1; rows < nmsRows; rows += 1 + rows/7 {
		for _, limit := range []int{-1, 1, 100} {
			g := nmsGraph(rows, 2, limit)
			x := nmsOf(g, &g.Nodes[0])
			if x.rounds < 1 {
				continue // refused
			}
			scan := (rows + nmsUnrolled - 1) / nmsUnrolled
			require.LessOrEqual(t, rows+(x.rounds+1)*(scan+1), emit.MaxLoop, "%d of %d", limit, rows)
			require.GreaterOrEqual(t, x.steps()*x.rounds, x.limit, "%d of %d", limit, rows)
		}
	}
}
