package tflitegen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// convModel has every part of a file: constants, both kinds of quantization, two subgraphs, metadata.
func convModel() *Model {
	return &Model{
		Description: "one convolution",
		Subgraphs: []Subgraph{{
			Name: "main",
			Tensors: []Tensor{
				{Name: "x", Shape: []int{1, 5, 7, 1}, ShapeSignature: []int{-1, 5, 7, 1}, Type: Int8, Quant: PerTensor(0.5, -3)},
				{Name: "w", Shape: []int{3, 1, 1, 1}, Type: Int8, Quant: PerChannel(0, []float32{0.1, 0.2, 0.3}), Data: []byte{1, 2, 255}},
				{Name: "b", Shape: []int{3}, Type: Int32, Data: make([]byte, 12)},
				{Name: "y", Shape: []int{1, 5, 7, 3}, Type: Int8, Quant: PerTensor(0.25, 7)},
				{Name: "state", Shape: []int{}, Type: Float32, IsVariable: true},
			},
			Inputs:  []int{0},
			Outputs: []int{3},
			Operators: []Op{
				{Code: OpConv2D, Version: 3, Inputs: []int{0, 1, 2}, Outputs: []int{3}, Options: Conv2DOptions{Padding: Valid, StrideW: 2, Activation: ActivationRelu6}},
				{Code: OpCustom, CustomCode: "Mine", Inputs: []int{3, OptionalTensor}, Outputs: []int{3}, CustomOptions: []byte{9, 8}},
				{Code: OpConv2D, Version: 3, Inputs: []int{0, 1, 2}, Outputs: []int{3}, Options: Conv2DOptions{DilationH: 4}},
				{Code: OpBroadcastTo, Inputs: []int{0, 2}, Outputs: []int{3}, Intermediates: []int{4}},
			},
		}, {
			Name:    "body",
			Tensors: []Tensor{{Name: "z", Shape: []int{2}, Type: Float32}},
			Inputs:  []int{0}, Outputs: []int{0},
		}},
		Metadata: []Blob{{Name: "min_runtime_version", Data: []byte("2.3.0")}},
	}
}

func TestMarshalRoundTrip(t *testing.T) {
	file, err := convModel().Marshal()
	require.NoError(t, err)
	m := rootOf(t, file, "TFL3")
	require.Equal(t, int32(3), m.int32(0, 0))
	require.Equal(t, "one convolution", m.text(3))

	codes := m.tables(1)
	require.Len(t, codes, 3, "equal codes are shared")
	require.Equal(t, int8(OpConv2D), codes[0].int8(0))
	require.Equal(t, int32(OpConv2D), codes[0].int32(3, 0))
	require.Equal(t, int32(3), codes[0].int32(2, 1))
	require.Equal(t, "Mine", codes[1].text(1))
	require.Equal(t, int32(1), codes[1].int32(2, 1))
	require.Equal(t, int8(127), codes[2].int8(0), "codes above 127 do not fit the old field")
	require.Equal(t, int32(130), codes[2].int32(3, 0))

	subgraphs := m.tables(2)
	require.Len(t, subgraphs, 2)
	require.Equal(t, "body", subgraphs[1].text(4))
	g := subgraphs[0]
	require.Equal(t, "main", g.text(4))
	require.Equal(t, []int{0}, g.ints(1))
	require.Equal(t, []int{3}, g.ints(2))

	tensors := g.tables(0)
	require.Len(t, tensors, 5)
	x, w, b := tensors[0], tensors[1], tensors[2]
	require.Equal(t, []int{1, 5, 7, 1}, x.ints(0))
	require.Equal(t, []int{-1, 5, 7, 1}, x.ints(7))
	require.Equal(t, int8(Int8), x.int8(1))
	require.Equal(t, int32(0), x.int32(2, 0), "buffer 0: no constant")
	require.Equal(t, "x", x.text(3))
	require.Equal(t, []float32{0.5}, x.child(4).floats(2))
	require.Equal(t, []int64{-3}, x.child(4).int64s(3))
	require.Equal(t, []float32{0.1, 0.2, 0.3}, w.child(4).floats(2))
	require.Equal(t, []int64{0, 0, 0}, w.child(4).int64s(3))
	require.False(t, b.has(4))
	require.True(t, tensors[4].bool(5))
	require.Empty(t, tensors[4].ints(0))

	buffers := m.tables(4)
	require.Len(t, buffers, 4)
	require.False(t, buffers[0].has(0))
	for i, want := range [][]byte{1: {1, 2, 255}, 2: make([]byte, 12), 3: []byte("2.3.0")} {
		if want == nil {
			continue
		}
		pos, n := buffers[i].vector(0)
		require.Equal(t, want, file[pos:int(pos)+n])
		require.Zero(t, pos%constantAlignment, "buffer %d", i)
	}

	metadata := m.tables(6)
	require.Len(t, metadata, 1)
	require.Equal(t, "min_runtime_version", metadata[0].text(0))
	require.Equal(t, int32(3), metadata[0].int32(1, 0))
}

func TestMarshalOperators(t *testing.T) {
	file, err := convModel().Marshal()
	require.NoError(t, err)
	ops := rootOf(t, file, "TFL3").tables(2)[0].tables(3)
	require.Len(t, ops, 4)

	conv := ops[0]
	require.Equal(t, int32(0), conv.int32(0, 0))
	require.Equal(t, []int{0, 1, 2}, conv.ints(1))
	require.Equal(t, []int{3}, conv.ints(2))
	require.Equal(t, int8(1), conv.int8(3))
	options := conv.child(4)
	require.Equal(t, int8(Valid), options.int8(0))
	require.Equal(t, int32(2), options.int32(1, 0))
	require.Equal(t, int32(1), options.int32(2, 0), "stride 0 means 1")
	require.Equal(t, int8(ActivationRelu6), options.int8(3))
	require.Equal(t, int32(1), options.int32(4, 1))

	custom := ops[1]
	require.Equal(t, int32(1), custom.int32(0, 0))
	require.Equal(t, []int{3, -1}, custom.ints(1))
	pos, n := custom.vector(5)
	require.Equal(t, []byte{9, 8}, file[pos:int(pos)+n])
	require.False(t, custom.has(4))

	require.Equal(t, int32(0), ops[2].int32(0, 0))
	require.Equal(t, int32(4), ops[2].child(4).int32(5, 1))
	require.Equal(t, []int{4}, ops[3].ints(8))
}

func TestMarshalIsDeterministic(t *testing.T) {
	first, err := convModel().Marshal()
	require.NoError(t, err)
	second, err := convModel().Marshal()
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestMarshalLargeConstant(t *testing.T) {
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(i * 31)
	}
	m := &Model{Subgraphs: []Subgraph{{
		Tensors: []Tensor{{Shape: []int{len(data)}, Type: Uint8, Data: data}},
		Outputs: []int{0},
	}}}
	file, err := m.Marshal()
	require.NoError(t, err)
	pos, n := rootOf(t, file, "TFL3").tables(4)[1].vector(0)
	require.Equal(t, data, file[pos:int(pos)+n])
}

func TestMarshalRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(m *Model)
		want   string
	}{
		{"no subgraph", func(m *Model) { m.Subgraphs = nil }, "needs a subgraph"},
		{"input past the end", func(m *Model) { m.Subgraphs[0].Inputs[0] = 5 }, "subgraph input 0 is tensor 5"},
		{"optional output", func(m *Model) { m.Subgraphs[0].Operators[0].Outputs[0] = -1 }, "operator 0 (code 3): output 0"},
		{"operator input", func(m *Model) { m.Subgraphs[0].Operators[0].Inputs[2] = 99 }, "input 2 is tensor 99"},
		{"short constant", func(m *Model) { m.Subgraphs[0].Tensors[1].Data = []byte{1} }, "needs 3"},
		{"scales off shape", func(m *Model) { m.Subgraphs[0].Tensors[1].Quant.Dim = 1 }, "along dimension 1"},
		{"zero points", func(m *Model) { m.Subgraphs[0].Tensors[0].Quant.ZeroPoint = nil }, "0 zero points for 1 scales"},
		{"signature rank", func(m *Model) { m.Subgraphs[0].Tensors[0].ShapeSignature = []int{-1} }, "shape signature"},
		{"custom code", func(m *Model) { m.Subgraphs[0].Operators[1].Code = OpAdd }, "custom code"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := convModel()
			tc.damage(m)
			_, err := m.Marshal()
			require.ErrorContains(t, err, tc.want)
			m.Unchecked = true
			_, err = m.Marshal()
			require.NoError(t, err)
		})
	}
}

func TestSizeBytes(t *testing.T) {
	for _, tc := range []struct {
		t     TensorType
		shape []int
		want  int
		ok    bool
	}{
		{Float32, nil, 4, true},
		{Int8, []int{3, 5}, 15, true},
		{Int4, []int{3, 5}, 8, true},
		{Int64, []int{2, 0, 7}, 0, true},
		{String, []int{2}, 0, false},
		{Int8, []int{-1}, 0, false},
		{Float32, []int{1 << 40, 1 << 40}, 0, false},
	} {
		n, ok := sizeBytes(tc.t, tc.shape)
		require.Equal(t, tc.ok, ok, "%v %v", tc.t, tc.shape)
		if ok {
			require.Equal(t, tc.want, n, "%v %v", tc.t, tc.shape)
		}
	}
}
