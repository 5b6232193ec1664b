package nn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuilderNumbersOperandsInOrder(t *testing.T) {
	var b Builder
	x := b.Input(TensorQuant8Asymm, Dims{2, 3}, 0.5, 7)
	w := b.PerChannel(Dims{2, 3}, []float32{1, 2}, 0, []byte{1, 2, 3, 4, 5, 6})
	y := b.Temp(TensorQuant8Asymm, Dims{2, 2}, 0.25, 1)
	b.Op(OpFullyConnected, []uint32{x, w}, []uint32{y})
	b.Output(y)
	b.Relax()
	m := b.Model()
	require.Equal(t, []uint32{0, 1, 2}, []uint32{x, w, y})
	require.Equal(t, []uint32{x}, m.Main.Inputs)
	require.Equal(t, []uint32{y}, m.Main.Outputs)
	require.Equal(t, Operand{Type: TensorQuant8Asymm, Dims: Dims{2, 3}, Scale: 0.5, ZeroPoint: 7, Lifetime: SubgraphInput}, m.Main.Operands[x])
	require.Equal(t, Operand{Type: TensorQuant8Asymm, Dims: Dims{2, 2}, Scale: 0.25, ZeroPoint: 1, Lifetime: SubgraphOutput}, m.Main.Operands[y])
	require.Equal(t, &ChannelQuant{Scales: []float32{1, 2}}, m.Main.Operands[w].Channel)
	require.Equal(t, []Operation{{Type: OpFullyConnected, Inputs: []uint32{x, w}, Outputs: []uint32{y}}}, m.Main.Operations)
	require.True(t, m.RelaxFloat32)
}

func TestBuilderConstants(t *testing.T) {
	var b Builder
	for _, tc := range []struct {
		name string
		add  func() uint32
		t    OperandType
		dims Dims
		want []byte
	}{
		{"bool", func() uint32 { return b.Scalar(true) }, Bool, nil, []byte{1}},
		{"false", func() uint32 { return b.Scalar(false) }, Bool, nil, []byte{0}},
		{"int behind odd bytes", func() uint32 { return b.Scalar(-2) }, Int32, nil, []byte{0xfe, 0xff, 0xff, 0xff}},
		{"int32", func() uint32 { return b.Scalar(int32(258)) }, Int32, nil, []byte{2, 1, 0, 0}},
		{"float32", func() uint32 { return b.Scalar(float32(1)) }, Float32, nil, []byte{0, 0, 0x80, 0x3f}},
		{"float64", func() uint32 { return b.Scalar(-2.0) }, Float32, nil, []byte{0, 0, 0, 0xc0}},
		{"floats", func() uint32 { return b.Floats(Dims{2}, 1, -2) }, TensorFloat32, Dims{2}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{"ints", func() uint32 { return b.Ints(Dims{1, 2}, 1, -1) }, TensorInt32, Dims{1, 2}, []byte{1, 0, 0, 0, 255, 255, 255, 255}},
		{"bytes", func() uint32 { return b.Const(TensorQuant8Symm, Dims{3}, 1, 0, []byte{1, 2, 3}) }, TensorQuant8Symm, Dims{3}, []byte{1, 2, 3}},
		{"nothing", func() uint32 { return b.Ints(Dims{0}) }, TensorInt32, Dims{0}, []byte{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := tc.add()
			m := b.Model()
			o := &m.Main.Operands[i]
			require.Equal(t, tc.t, o.Type)
			require.Equal(t, tc.dims, o.Dims)
			require.Equal(t, ConstantCopy, o.Lifetime)
			require.Zero(t, o.Location.Offset%4)
			v, err := m.Value(o)
			require.NoError(t, err)
			require.Equal(t, tc.want, v)
		})
	}
}

func TestBuilderCopiesValues(t *testing.T) {
	var b Builder
	value := []byte{1, 2, 3}
	i := b.Const(TensorQuant8Symm, Dims{3}, 1, 0, value)
	value[0] = 9
	m := b.Model()
	v, err := m.Value(&m.Main.Operands[i])
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, v)
}

func TestBuilderPanicsOnOtherScalars(t *testing.T) {
	var b Builder
	require.PanicsWithValue(t, "nn: no scalar operand for a string", func() { b.Scalar("1") })
}
