package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// lstmNet is an LSTM with coupled gates and a bound of the cell over so many steps, and what its last state becomes.
func lstmNet(steps uint32) func(*nn.Builder) { return lstmOf(steps, 6) }

// lstmOf is lstmNet of so many units.
func lstmOf(steps, units uint32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		none := b.Omitted(nn.TensorFloat32)
		weights := func(dims ...uint32) uint32 {
			n, err := nn.Dims(dims).Elements()
			if err != nil {
				panic(err)
			}
			return b.Floats(dims, floatsOf(int(n))...)
		}
		temp := func(dims ...uint32) uint32 { return b.Temp(nn.TensorFloat32, dims, 0, 0) }
		x := b.Input(nn.TensorFloat32, nn.Dims{3, steps, 5}, 0, 0)
		h, c := b.Input(nn.TensorFloat32, nn.Dims{3, units}, 0, 0), b.Input(nn.TensorFloat32, nn.Dims{3, units}, 0, 0)
		all, last, cell, y := temp(3, steps, units), temp(3, units), temp(3, units), temp(3, units)
		b.Op(nn.OpUnidirectionalSequenceLstm, []uint32{
			x, none, weights(units, 5), weights(units, 5), weights(units, 5), none, weights(units, units), weights(units, units), weights(units, units),
			none, none, none, none, weights(units), weights(units), weights(units), none, none, h, c,
			b.Scalar(4), b.Scalar(float32(3)), b.Scalar(float32(0)), b.Scalar(false), none, none, none, none,
		}, []uint32{all, last, cell})
		b.Op(nn.OpRelu, []uint32{cell}, []uint32{y})
		b.Output(all)
		b.Output(last)
		b.Output(y)
	}
}

// TestHas: operations count that kernels do, and those that become others.
func TestHas(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpAdd, nn.OpRnn, nn.OpBatchMatmul, ops.TakeRows} {
		require.True(t, has(op), op)
	}
	require.False(t, has(nn.OpOemOperation))
}

// TestExpand: no operation is left that no kernel does, and what is made of one says where it comes from.
func TestExpand(t *testing.T) {
	u := &unit{facts: &lavapipe, model: build(t, lstmNet(2))}
	require.NoError(t, u.run("import", "expand"))
	require.NoError(t, u.refused[0])
	for i := range u.graph.Nodes {
		n := &u.graph.Nodes[i]
		require.NotContains(t, expansions, n.Op)
		require.Equal(t, i == len(u.graph.Nodes)-1, n.Source == 1, "%v", n)
	}
	require.NoError(t, u.run("normalise layout", "support"))
	require.NoError(t, nn.Unsupported(u.model, u.refused))
}

// TestStackedGates: a step of a cell is a product and a kernel, of weights that were put together when the model was compiled.
func TestStackedGates(t *testing.T) {
	g, err := Optimised(&lavapipe, build(t, lstmOf(2, 8)))
	require.NoError(t, err)
	var got []nn.OperationType
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op != nn.OpReshape {
			got = append(got, n.Op)
			if n.Op == nn.OpFullyConnected {
				require.NotNil(t, g.T(n.In[1]).Const)
				require.Equal(t, 3*8, g.T(n.In[1]).Shape[0])
			}
		}
	}
	fc, step := nn.OpFullyConnected, nn.OpLstm
	require.Equal(t, []nn.OperationType{nn.OpTranspose, fc, nn.OpSplit, fc, step, fc, step, nn.OpConcatenation, nn.OpTranspose, nn.OpRelu}, got)
}

// TestExpansionsAreBounded: an operation that would become too many is refused, and what reads its results is not.
func TestExpansionsAreBounded(t *testing.T) {
	for _, steps := range []uint32{maxExpanded / 8, 1 << 22} {
		refused, err := Supports(&lavapipe, build(t, lstmNet(steps)))
		require.NoError(t, err)
		require.ErrorContains(t, refused[0], "becomes more than")
		require.NoError(t, refused[1])
	}
}

// TestExpansionsTakeLittleMemory: an operation whose weights are inputs brings no constants, however large it says that
// they are, and several together neither.
func TestExpansionsTakeLittleMemory(t *testing.T) {
	wide := func(units uint32, operations int) *nn.Model {
		return build(t, func(b *nn.Builder) {
			none := b.Omitted(nn.TensorFloat32)
			input := func(dims ...uint32) uint32 { return b.Input(nn.TensorFloat32, dims, 0, 0) }
			x, w, r, bias := input(1, 1, 1), input(units, 1), input(units, 1), input(units)
			h, c, projection := input(1, 1), input(1, units), input(1, units)
			for range operations {
				y := b.Temp(nn.TensorFloat32, nn.Dims{1, 1, 1}, 0, 0)
				b.Op(nn.OpUnidirectionalSequenceLstm, []uint32{
					x, none, w, w, w, none, r, r, r, none, none, none, none, bias, bias, bias, projection, none, h, c,
					b.Scalar(4), b.Scalar(float32(0)), b.Scalar(float32(0)), b.Scalar(false), none, none, none, none,
				}, []uint32{y})
				b.Output(y)
			}
		})
	}
	for _, x := range []struct {
		units      uint32
		operations int
	}{{1 << 28, 1}, {1 << 20, 8}} {
		refused, err := Supports(&lavapipe, wide(x.units, x.operations))
		require.NoError(t, err)
		require.ErrorContains(t, refused[x.operations-1], "needs constants")
	}
}
