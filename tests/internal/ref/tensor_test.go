package ref

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

func TestFloat16RoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		v := float16Value(uint16(h))
		if math.IsNaN(v) {
			require.True(t, math.IsNaN(float16Value(float16Bits(v))))
			continue
		}
		require.Equal(t, uint16(h), float16Bits(v), "%#04x", h)
		require.Equal(t, v, roundFloat16(v))
	}
}

func TestFloat16Rounding(t *testing.T) {
	for _, tc := range []struct {
		x    float64
		want uint16
	}{
		{1, 0x3c00},
		{1 + 1.0/2048, 0x3c00},        // tie, to even
		{1 + 3.0/2048, 0x3c02},        // tie, to even
		{1 + 1.0/2048 + 1e-9, 0x3c01}, // just above the tie
		{0.1, 0x2e66},
		{65504, 0x7bff},
		{65519.99, 0x7bff},
		{65520, 0x7c00},
		{-1e9, 0xfc00},
		{math.Ldexp(1, -24), 1},
		{math.Ldexp(1, -25), 0},           // tie, to even
		{math.Ldexp(1.5, -24), 2},         // tie, to even
		{math.Ldexp(1023.9, -24), 0x0400}, // rounds up to the smallest normal number
		{math.Copysign(0, -1), 0x8000},
		{-math.Ldexp(1, -30), 0x8000},
	} {
		require.Equal(t, tc.want, float16Bits(tc.x), "%v", tc.x)
	}
}

func TestBytes(t *testing.T) {
	for _, tc := range []struct {
		typ  nn.OperandType
		data []byte
		want []float64
	}{
		{nn.TensorFloat32, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, []float64{1, -2}},
		{nn.TensorFloat16, []byte{0, 0x3c, 0, 0xc0}, []float64{1, -2}},
		{nn.TensorInt32, []byte{0xff, 0xff, 0xff, 0xff, 2, 1, 0, 0}, []float64{-1, 258}},
		{nn.TensorQuant8Asymm, []byte{0, 255}, []float64{0, 255}},
		{nn.TensorQuant8AsymmSigned, []byte{0x80, 0xff}, []float64{-128, -1}},
		{nn.TensorQuant8PerChannel, []byte{0x7f, 0xff}, []float64{127, -1}},
		{nn.TensorQuant16Asymm, []byte{0xff, 0xff, 1, 0}, []float64{65535, 1}},
		{nn.TensorQuant16Symm, []byte{0xff, 0xff, 1, 0}, []float64{-1, 1}},
		{nn.TensorBool8, []byte{1, 0}, []float64{1, 0}},
	} {
		x, err := FromBytes(tc.typ, []int{2}, 1, 0, tc.data)
		require.NoError(t, err, tc.typ)
		require.Equal(t, tc.want, x.V, tc.typ)
		require.Equal(t, tc.data, x.Bytes(), tc.typ)
	}
	_, err := FromBytes(nn.TensorFloat32, []int{2}, 0, 0, make([]byte, 7))
	require.Error(t, err)
	_, err = FromBytes(nn.TensorFloat32, []int{1 << 30, 1 << 30, 1 << 30}, 0, 0, nil)
	require.Error(t, err)
}

func TestReal(t *testing.T) {
	x, err := FromReal(Format{nn.TensorQuant8Asymm, 0.5, 128}, []int{4}, 0, 1.25, -100, 1.2)
	require.NoError(t, err)
	require.Equal(t, []float64{128, 131, 0, 130}, x.V) // 2.5 steps round away from zero
	require.Equal(t, []float64{0, 1.5, -64, 1}, x.Real())

	w := &Tensor{Type: nn.TensorQuant8PerChannel, Shape: []int{2, 3}, ChannelScales: []float64{0.5, 2}, V: []float64{1, 2, 3, 4, 5, 6}}
	require.Equal(t, []float64{0.5, 1, 1.5, 8, 10, 12}, w.Real())
}

// TestMultiplier checks the two fixed-point roundings where they differ from each other.
func TestMultiplier(t *testing.T) {
	for _, tc := range []struct {
		x            int64
		by           float64
		double, once int64
	}{
		{100, 0.5, 50, 50},
		{3, 0.5, 2, 2},
		{-3, 0.5, -1, -1},   // doubling high multiply rounds -1.5 up, and nothing is left to shift
		{-3, 0.25, -1, -1},  // -0.75
		{-2, 0.25, -1, 0},   // the first step keeps -1, the shift rounds -0.5 away from zero; half up gives 0
		{5, 0.25, 2, 1},     // 1.25: 2.5 rounds to 3, then 1.5 to 2
		{7, 4, 28, 28},      // factors above 1 shift left first
		{1000, 1e-12, 0, 0}, // too small for the representation
	} {
		require.Equal(t, tc.double, newMultiplier(tc.by, DoubleRounding).apply(tc.x), "double %v", tc)
		require.Equal(t, tc.once, newMultiplier(tc.by, SingleRounding).apply(tc.x), "single %v", tc)
		require.Equal(t, int64(math.Round(float64(tc.x)*tc.by)), newMultiplier(tc.by, Real).apply(tc.x), "real %v", tc)
	}
	require.Equal(t, int64(math.MaxInt32), doublingHighMul(math.MinInt32, math.MinInt32))
	require.Equal(t, []int64{2, -2, 1, -1, 3}, []int64{roundingShift(3, 1), roundingShift(-3, 1), roundingShift(5, 2), roundingShift(-5, 2), roundingShift(5, 1)})
}

// f32 builds a float32 tensor.
func f32(t *testing.T, shape []int, v ...float64) *Tensor {
	t.Helper()
	x, err := FromValues(Format{Type: nn.TensorFloat32}, shape, v...)
	require.NoError(t, err)
	return x
}

// raw builds a tensor of stored values.
func raw(t *testing.T, f Format, shape []int, v ...float64) *Tensor {
	t.Helper()
	x, err := FromValues(f, shape, v...)
	require.NoError(t, err)
	return x
}

// mustRefuse fails where f computes something.
func mustRefuse(t *testing.T, f func(), about ...any) {
	t.Helper()
	var err error
	func() {
		defer refused(&err)
		f()
	}()
	require.Error(t, err, about...)
}

// TestRun evaluates a model of two operations with a scalar that is a model input.
func TestRun(t *testing.T) {
	zero := binary.LittleEndian.AppendUint32(nil, 0)
	m := &nn.Model{Main: nn.Graph{
		Operands: []nn.Operand{
			{Type: nn.TensorFloat32, Dims: nn.Dims{1, 2}, Lifetime: nn.SubgraphInput},
			{Type: nn.TensorFloat32, Dims: nn.Dims{2, 1}, Lifetime: nn.ConstantCopy, Location: nn.Location{Length: 8}},
			{Type: nn.Int32, Lifetime: nn.SubgraphInput},
			{Type: nn.TensorFloat32, Dims: nn.Dims{2, 0}, Lifetime: nn.Temporary},
			{Type: nn.TensorFloat32, Dims: nn.Dims{2, 2}, Lifetime: nn.SubgraphOutput},
		},
		Operations: []nn.Operation{
			{Type: nn.OpAdd, Inputs: []uint32{0, 1, 2}, Outputs: []uint32{3}},
			{Type: nn.OpNeg, Inputs: []uint32{3}, Outputs: []uint32{4}},
		},
		Inputs: []uint32{0, 2}, Outputs: []uint32{4},
	}}
	m.Values = f32(t, []int{2}, 10, -20).Bytes()
	in := f32(t, []int{1, 2}, 1, 2).Bytes()
	out, shapes, err := Run(m, [][]byte{in, zero})
	require.NoError(t, err)
	require.Equal(t, []nn.Dims{{2, 2}}, shapes)
	require.Equal(t, f32(t, []int{4}, -11, -12, 19, 18).Bytes(), out[0])

	relu := binary.LittleEndian.AppendUint32(nil, 1)
	out, _, err = Run(m, [][]byte{in, relu})
	require.NoError(t, err)
	minusZero := math.Copysign(0, -1)
	require.Equal(t, f32(t, []int{4}, -11, -12, minusZero, minusZero).Bytes(), out[0])

	for name, inputs := range map[string][][]byte{
		"too few":    {in},
		"omitted":    {in, nil},
		"short":      {in[:4], zero},
		"activation": {in, binary.LittleEndian.AppendUint32(nil, 9)},
	} {
		_, _, err := Run(m, inputs)
		require.Error(t, err, name)
	}
	m.Main.Operands[3].Dims = nn.Dims{3, 0}
	_, _, err = Run(m, [][]byte{in, zero})
	require.ErrorContains(t, err, "declares")
}
