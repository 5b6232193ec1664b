package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
)

// TestPassesKeepWhatThoseBeforePromise: after each pass the graph is what the pass says, prints and parses, and once
// support is told it has no node that lowering would refuse.
func TestPassesKeepWhatThoseBeforePromise(t *testing.T) {
	for name, make := range map[string]func(*nn.Builder){
		"float": floatNet, "quant8": quantNet, "nchw": nchwNet, "fed_weights": runtimeWeights, "lstm": lstmNet(2),
	} {
		t.Run(name, func(t *testing.T) {
			u := &unit{ctx: t.Context(), facts: &swiftshader, model: build(t, make)}
			state, told := ir.Imported, false
			for _, p := range passes {
				require.NoError(t, u.run(p.name, p.name))
				require.GreaterOrEqual(t, p.ensures, state, p.name)
				state, told = p.ensures, told || p.name == "support"
				if state >= ir.Inferred {
					g, err := ir.Parse(u.graph.String())
					require.NoError(t, err, p.name)
					again, err := ir.Parse(g.String())
					require.NoError(t, err, p.name)
					require.Equal(t, g.String(), again.String(), p.name)
				}
				for i := range u.graph.Nodes {
					if told {
						require.NoError(t, lower.Check(u.facts, u.graph, &u.graph.Nodes[i]), p.name)
					}
				}
			}
			require.NotEmpty(t, u.plan.Steps)
		})
	}
}

// TestPassNamesAreDistinct: passes are found by them.
func TestPassNamesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range passes {
		require.False(t, seen[p.name], p.name)
		seen[p.name] = true
	}
}

// TestRefusedOperationsLeaveAnInput: what they would give, so that the graph is sound without them.
func TestRefusedOperationsLeaveAnInput(t *testing.T) {
	u := &unit{facts: &lavapipe, model: build(t, func(b *nn.Builder) {
		x := b.Input(nn.TensorFloat32, nn.Dims{3}, 0, 0)
		y, open := b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{0}, 0, 0)
		b.Op(nn.OpOemOperation, []uint32{x}, []uint32{y, open})
		z, lost := b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{0}, 0, 0)
		b.Op(nn.OpRelu, []uint32{y}, []uint32{z})
		b.Op(nn.OpRelu, []uint32{open}, []uint32{lost})
		b.Output(z)
		b.Output(lost)
	})}
	require.NoError(t, u.run("import", "support"))
	require.Error(t, u.refused[0])
	require.NoError(t, u.refused[1])
	require.Error(t, u.refused[2])
	require.Equal(t, lines(`
		input %0 TENSOR_FLOAT32 [3]
		input %1 TENSOR_FLOAT32 [3]
		input _
		input _
		%3 TENSOR_FLOAT32 [3] = RELU %1
		output %3`), lines(u.graph.String()))
}
