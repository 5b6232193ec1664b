package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// lstm8Graph is a QUANTIZED_LSTM of so many rows, inputs and units, with coupled gates and without a projection.
func lstm8Graph(rows, inputs, units int) (*ir.Graph, *ir.Node) {
	g := &ir.Graph{}
	n := ir.Node{Op: nn.OpQuantizedLstm, Attrs: ops.LSTM8{Scales: [4]float32{0, 0.01, 0.01, 0.01}, HiddenScale: 0.01}}
	add := func(t nn.OperandType, scale float32, shape ...int) ir.ID {
		return g.Add(ir.Tensor{Type: t, Shape: shape, Scale: scale})
	}
	for i := range ops.LSTMNormWeights + 4 {
		typ := ops.LSTM8Type(int(i))
		id := ir.None
		switch {
		case i == ops.LSTMInput:
			id = add(typ, 0.01, rows, inputs)
		case i > ops.LSTMInputWeights && i < ops.LSTMRecurrentWeights:
			id = add(typ, 0.01, units, inputs)
		case i > ops.LSTMRecurrentWeights && i < ops.LSTMPeepholeInput:
			id = add(typ, 0.01, units, units)
		case i > ops.LSTMBias && i < ops.LSTMProjectionWeights:
			id = add(typ, 0, units)
		case i == ops.LSTMOutputState:
			id = add(typ, 0.01, rows, units)
		case i == ops.LSTMCellState:
			id = add(typ, 1.0/2048, rows, units)
		}
		n.In = append(n.In, id)
	}
	n.Out = []ir.ID{add(nn.TensorQuant8AsymmSigned, 0.01, rows, units), add(nn.TensorQuant16Symm, 1.0/2048, rows, units),
		add(nn.TensorQuant8AsymmSigned, 0.01, rows, units)}
	g.Nodes = []ir.Node{n}
	return g, &g.Nodes[0]
}

// TestLSTM8Refusals: rows that are too long for the loops of a kernel or the sums of a row, and types and scales that are none.
func TestLSTM8Refusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	for name, tc := range map[string]struct {
		rows, inputs, units int
		change              func(g *ir.Graph, n *ir.Node)
		runs                bool
	}{
		"plain":              {3, 5, 7, nil, true},
		"long rows":          {1, 58_000, 1_000, nil, true},
		"rows too long":      {1, 58_001, 1_000, nil, false},
		"a large batch":      {40_000, 5, 800, nil, true},
		"in pieces":          {50_000, 5, 800, nil, true},
		"a row too large":    {1, 5, 40_000, nil, false},
		"cell state of 2^-8": {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.In[ops.LSTMCellState]).Scale = 1.0 / 256 }, false},
		"unsigned input":     {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.In[ops.LSTMInput]).Type = nn.TensorQuant8Asymm }, false},
		"float bias":         {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.In[ops.LSTMBias+1]).Type = nn.TensorFloat32 }, false},
		"result of no scale": {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.Out[0]).Scale, g.T(n.Out[2]).Scale = 0, 0 }, false},
		"results of two":     {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.Out[0]).Scale = 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, n := lstm8Graph(tc.rows, tc.inputs, tc.units)
			if tc.change != nil {
				tc.change(g, n)
			}
			if err := Check(&facts, g, n); tc.runs {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		})
	}
}
