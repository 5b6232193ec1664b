package compile

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
)

// growingModel appends a number to a row, n times, n being an input.
func growingModel() *nn.Model {
	condition, body, main := &nn.Builder{}, &nn.Builder{}, &nn.Builder{}
	i32, f32, open := nn.TensorInt32, nn.TensorFloat32, nn.Dims{1, 0}
	_, k, n := condition.Input(f32, open, 0, 0), condition.Input(i32, oneNumber, 0, 0), condition.Input(i32, oneNumber, 0, 0)
	condition.Output(applied(condition, nn.OpLess, nn.TensorBool8, oneNumber, k, n))
	x, k, _ := body.Input(f32, open, 0, 0), body.Input(i32, oneNumber, 0, 0), body.Input(i32, oneNumber, 0, 0)
	body.Output(applied(body, nn.OpConcatenation, f32, open, x, body.Floats(nn.Dims{1, 1}, 7), body.Scalar(1)))
	body.Output(applied(body, nn.OpAdd, i32, oneNumber, k, body.Ints(oneNumber, 1), body.Scalar(0)))
	n = main.Input(i32, oneNumber, 0, 0)
	c, b := main.Scalar(0), main.Scalar(0)
	main.Output(applied(main, nn.OpWhile, f32, open, c, b, main.Floats(nn.Dims{1, 2}, 1, 2), main.Ints(oneNumber, 0), n))
	return nntest.Join(nntest.Graph{B: main, Refer: map[uint32]uint32{c: 0, b: 1}}, nntest.Graph{B: condition}, nntest.Graph{B: body})
}

// slicedModel doubles a row, takes a part of it that begins at twice an input and is as long as another, and doubles that.
func slicedModel() *nn.Model {
	b := &nn.Builder{}
	f32, i32 := nn.TensorFloat32, nn.TensorInt32
	x, begin, size := b.Input(f32, nn.Dims{6}, 0, 0), b.Input(i32, oneNumber, 0, 0), b.Input(i32, oneNumber, 0, 0)
	y := applied(b, nn.OpAdd, f32, nn.Dims{6}, x, x, b.Scalar(0))
	at := applied(b, nn.OpAdd, i32, oneNumber, begin, begin, b.Scalar(0))
	y = applied(b, nn.OpSlice, f32, nn.Dims{0}, y, at, size)
	b.Output(applied(b, nn.OpAdd, f32, nn.Dims{0}, y, y, b.Scalar(0)))
	return nntest.Join(nntest.Graph{B: b})
}

// openModel is an IF whose branches give results of different sizes, and what comes after it.
func openModel() *nn.Model {
	branch := func(op nn.OperationType) nntest.Graph {
		b := &nn.Builder{}
		x := b.Input(nn.TensorFloat32, row, 0, 0)
		if op == nn.OpConcatenation {
			b.Output(applied(b, op, nn.TensorFloat32, nil, x, x, b.Scalar(0)))
		} else {
			b.Output(applied(b, op, nn.TensorFloat32, nil, x))
		}
		return nntest.Graph{B: b}
	}
	b := &nn.Builder{}
	c, x := b.Input(nn.TensorBool8, oneNumber, 0, 0), b.Input(nn.TensorFloat32, row, 0, 0)
	then, otherwise := b.Scalar(0), b.Scalar(0)
	y := applied(b, nn.OpIf, nn.TensorFloat32, nil, c, then, otherwise, x)
	b.Output(applied(b, nn.OpAbs, nn.TensorFloat32, nil, y))
	return nntest.Join(nntest.Graph{B: b, Refer: map[uint32]uint32{then: 0, otherwise: 1}}, branch(nn.OpConcatenation), branch(nn.OpRelu))
}

// TestStatesThatStayKnown: a loop whose graphs leave dimensions open has a state of known ones where no iteration changes
// them, and of open ones where one does.
func TestStatesThatStayKnown(t *testing.T) {
	open := func(m *nn.Model) *nn.Model {
		for _, g := range m.Referenced {
			g.Operands[g.Inputs[0]].Dims = nil
		}
		body := &m.Referenced[1]
		body.Operands[body.Outputs[0]].Dims = nil
		return m
	}
	for name, tc := range map[string]struct {
		m    *nn.Model
		open bool
	}{"stays": {open(whileModel()), false}, "grows": {open(growingModel()), true}} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, validate.Model(tc.m))
			tree, err := TreeOf(&lavapipe, tc.m)
			require.NoError(t, err)
			l := tree.Loops[0]
			for _, v := range []int{l.Current[0], l.Next[0]} {
				require.Equal(t, tc.open, tree.Values[v].IsOpen())
			}
			require.False(t, tree.Values[l.Current[1]].IsOpen())
		})
	}
}

// TestInstances: an instance has the dimensions that follow, whatever comes as a parameter.
func TestInstances(t *testing.T) {
	tree, err := TreeOf(&lavapipe, slicedModel())
	require.NoError(t, err)
	var s *Straight
	for _, x := range tree.Straights {
		if len(x.Params) > 0 {
			require.Nil(t, s, "one region reads parameters")
			s = x
		}
	}
	require.True(t, s.Open)
	require.Empty(t, s.Model.Pools)
	word := func(v int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
	for _, tc := range []struct {
		x           nn.Dims
		begin, size []byte
		dims        nn.Dims
		want        nn.Dims // nil: refused
	}{
		{nn.Dims{6}, word(0), word(6), oneNumber, nn.Dims{6}},
		{nn.Dims{6}, word(4), word(1), oneNumber, nn.Dims{1}},
		{nn.Dims{6}, word(2), word(-1), oneNumber, nn.Dims{4}},
		{nn.Dims{6}, word(5), word(2), oneNumber, nil},
		{nn.Dims{6}, word(-1), word(2), oneNumber, nil},
		{nn.Dims{6}, word(0), word(0), oneNumber, nil},
		{nn.Dims{6}, word(math.MaxInt32), word(math.MaxInt32), oneNumber, nil},
		{nn.Dims{6}, word(math.MinInt32), word(math.MinInt32), oneNumber, nil},
		{nn.Dims{6}, nil, word(1), oneNumber, nil},
		{nn.Dims{6}, word(0)[:3], word(1), oneNumber, nil},
		{nn.Dims{6}, word(0), word(1), nn.Dims{2}, nil},
		{nn.Dims{6}, word(0), word(1), nil, nil},
		{nn.Dims{7}, word(0), word(1), oneNumber, nil},
	} {
		m, dims, err := s.Instance([]nn.Dims{tc.x}, []nn.Dims{tc.dims, tc.dims}, [][]byte{tc.begin, tc.size})
		if tc.want == nil {
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v %v: %v", tc.begin, tc.size, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []nn.Dims{tc.want}, dims)
		p, _, err := Model(t.Context(), &lavapipe, m, nil)
		require.NoError(t, err)
		requireSound(t, &lavapipe, p)
		require.Len(t, p.Inputs, 1)
		require.EqualValues(t, 4*tc.want[0], p.Outputs[0].Size)
	}
}
