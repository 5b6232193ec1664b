package compile

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// selectionModel selects of five boxes of two classes, and joins what it selects with a constant row and with itself.
func selectionModel() *nn.Model {
	var b layers.Builder
	f32 := nn.TensorFloat32
	scores, boxes, classes, images := b.NonMaxSuppression(b.Input(f32, nn.Dims{5, 3}, 0, 0), b.Input(f32, nn.Dims{5, 12}, 0, 0),
		b.Input(nn.TensorInt32, nn.Dims{5}, 0, 0), ops.BoxNMS{Limit: -1, Overlap: 0.5})
	joined := b.Temp(f32, nn.Dims{0, 4}, 0, 0)
	b.Op(nn.OpConcatenation, []uint32{boxes, b.Floats(nn.Dims{1, 4}, 1, 2, 3, 4), boxes, b.Scalar(0)}, []uint32{joined})
	for _, y := range []uint32{scores, joined, classes, images} {
		b.Output(y)
	}
	return nntest.Build(&b.Builder)
}

// TestRowsFromData: what counts rows is a region, and what takes as many, all of it, another, which has the number as its only
// parameter.
func TestRowsFromData(t *testing.T) {
	m := selectionModel()
	require.NoError(t, validate.Model(m))
	require.Error(t, validate.NeedsData(m, 0))
	require.True(t, NeedsTree(m))
	tree, err := TreeOf(&lavapipe, m)
	require.NoError(t, err)
	var all, taken *Straight
	for _, s := range tree.Straights {
		if s.Model == nil {
			continue
		}
		if len(s.Params) == 0 {
			require.Nil(t, all, "one region selects")
			all = s
		} else {
			require.Nil(t, taken, "one region takes what is selected")
			taken = s
		}
	}
	require.False(t, all.Open)
	require.True(t, taken.Open)
	require.Len(t, taken.Params, 4)
	for _, p := range taken.Params {
		require.Equal(t, taken.Params[0].Value, p.Value)
		require.Equal(t, InWord, tree.Values[p.Value].Place)
	}
	inputs := make([]nn.Dims, len(taken.In))
	for k, v := range taken.In {
		inputs[k] = tree.Values[v].Dims
		require.EqualValues(t, 10, inputs[k][0])
	}
	instance := func(count uint32) (*nn.Model, []nn.Dims, error) {
		word := binary.LittleEndian.AppendUint32(nil, count)
		return taken.Instance(inputs, []nn.Dims{{1}, {1}, {1}, {1}}, [][]byte{word, word, word, word})
	}
	for _, n := range []uint32{10, 3, 1, 0} {
		got, dims, err := instance(n)
		require.NoError(t, err)
		for k, v := range taken.Out {
			want := nn.Dims{n, 4}[:len(tree.Values[v].Dims)]
			if len(want) == 2 {
				want[0] = 2*n + 1
			}
			require.Equal(t, want, dims[k], "%d rows, output %d", n, k)
		}
		u := &unit{facts: &lavapipe, model: got}
		require.NoError(t, u.judge(), "%d rows", n)
		if n > 0 {
			require.Len(t, got.Main.Outputs, 4)
			continue
		}
		// All that is left is the constant row.
		require.Len(t, got.Main.Outputs, 1)
		for _, op := range got.Main.Operations {
			if !isNothing(op) {
				require.Equal(t, nn.OpConcatenation, op.Type)
				require.Len(t, op.Inputs, 2)
			}
		}
	}
	for _, n := range []uint32{11, 1 << 31, 1<<32 - 1} {
		_, _, err := instance(n)
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%d rows: %v", n, err)
	}
}

// TestStatedRows: where the model says how many rows there are, others end the execution.
func TestStatedRows(t *testing.T) {
	m := selectionModel()
	for _, y := range m.Main.Operations[0].Outputs {
		m.Main.Operands[y].Dims[0] = 3
	}
	require.NoError(t, validate.Model(m))
	tree, err := TreeOf(&lavapipe, m)
	require.NoError(t, err)
	for _, s := range tree.Straights {
		if len(s.Params) == 0 {
			continue
		}
		inputs := make([]nn.Dims, len(s.In))
		for k, v := range s.In {
			inputs[k] = tree.Values[v].Dims
		}
		for n := range byte(5) {
			word := []byte{n, 0, 0, 0}
			_, _, err := s.Instance(inputs, []nn.Dims{{1}, {1}, {1}, {1}}, [][]byte{word, word, word, word})
			require.Equal(t, n == 3, err == nil, "%d: %v", n, err)
		}
	}
}
