package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// lstm16Graph is a QUANTIZED_16BIT_LSTM of so many rows, inputs and units.
func lstm16Graph(rows, inputs, units int) (*ir.Graph, *ir.Node) {
	g := &ir.Graph{}
	n := ir.Node{Op: nn.OpQuantized16BitLstm}
	add := func(t nn.OperandType, scale float32, zero int32, shape ...int) ir.ID {
		return g.Add(ir.Tensor{Type: t, Shape: shape, Scale: scale, Zero: zero})
	}
	value := func(shape ...int) ir.ID { return add(nn.TensorQuant8Asymm, ops.LSTM16ValueScale, 128, shape...) }
	state := func() ir.ID { return add(nn.TensorQuant16Symm, ops.LSTM16CellScale, 0, rows, units) }
	n.In = append(n.In, value(rows, inputs))
	for i := range 8 {
		n.In = append(n.In, add(nn.TensorQuant8Asymm, 0.01, 100, units, []int{inputs, units}[i/4]))
	}
	for range 4 {
		n.In = append(n.In, add(nn.TensorInt32, ops.LSTM16ValueScale*0.01, 0, units))
	}
	n.In = append(n.In, state(), value(rows, units))
	n.Out = []ir.ID{state(), value(rows, units)}
	g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
	return g, &g.Nodes[0]
}

// TestLSTM16Refusals: rows that are too long for the loop of a kernel, gates that are too large, and types that are none.
func TestLSTM16Refusals(t *testing.T) {
	facts := plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 128 << 20}
	retyped := func(i ops.LSTM16Tensor, typ nn.OperandType) func(g *ir.Graph, n *ir.Node) {
		return func(g *ir.Graph, n *ir.Node) { g.T(n.In[i]).Type = typ }
	}
	for name, tc := range map[string]struct {
		rows, inputs, units int
		change              func(g *ir.Graph, n *ir.Node)
		runs                bool
	}{
		"plain":                 {3, 5, 7, nil, true},
		"long rows":             {1, 59_000, 1_000, nil, true},
		"rows too long":         {1, 59_001, 1_000, nil, false},
		"one row of many units": {1, 8, 40_000, nil, false},
		"signed input":          {3, 5, 7, retyped(ops.LSTM16Input, nn.TensorQuant8AsymmSigned), false},
		"float weights":         {3, 5, 7, retyped(ops.LSTM16RecurrentWeights+3, nn.TensorFloat32), false},
		"float bias":            {3, 5, 7, retyped(ops.LSTM16Bias, nn.TensorFloat32), false},
		"8-bit cell state":      {3, 5, 7, retyped(ops.LSTM16CellState, nn.TensorQuant8Asymm), false},
		"16-bit output state":   {3, 5, 7, retyped(ops.LSTM16OutputState, nn.TensorQuant16Symm), false},
		"16-bit result":         {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.Out[1]).Type = nn.TensorQuant16Symm }, false},
		"8-bit new cell state":  {3, 5, 7, func(g *ir.Graph, n *ir.Node) { g.T(n.Out[0]).Type = nn.TensorQuant8Asymm }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, n := lstm16Graph(tc.rows, tc.inputs, tc.units)
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
