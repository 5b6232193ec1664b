package numbers

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

func TestNear(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		name      string
		got, want float64
		near      bool
		distance  float64
	}{
		{"equal", 3, 3, true, 0},
		{"within the absolute part", 0.5, 0, true, 0.5},
		{"within the relative part", 105, 100, true, 5},
		{"beyond", 112, 100, false, 12},
		{"infinity met", inf, inf, true, 0},
		{"minus infinity met", -inf, -inf, true, 0},
		{"other sign", -inf, inf, false, inf},
		{"a number for infinity", math.MaxFloat32, inf, false, inf},
		{"infinity for a number", inf, 1, false, inf},
		{"NaN met", nan, nan, true, 0},
		{"NaN for infinity", nan, inf, false, inf},
		{"NaN for a number", nan, 1, false, inf},
		{"a number for NaN", 1, nan, false, inf},
		{"infinity for NaN", inf, nan, false, inf},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.near, Near(tc.got, tc.want, 1, 0.1))
			require.Equal(t, tc.distance, Distance(tc.got, tc.want))
		})
	}
	require.False(t, Near(1, inf, inf, inf), "no tolerance covers an infinity")
}

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		t    nn.OperandType
		data []byte
		want []float64
	}{
		{nn.TensorFloat32, []byte{0, 0, 128, 63, 0, 0, 128, 0xff}, []float64{1, math.Inf(-1)}},
		{nn.TensorFloat16, []byte{0, 0x3c, 0, 0x7c}, []float64{1, math.Inf(1)}},
		{nn.TensorInt32, []byte{255, 255, 255, 255}, []float64{-1}},
		{nn.Uint32, []byte{255, 255, 255, 255}, []float64{math.MaxUint32}},
		{nn.TensorQuant16Symm, []byte{255, 255}, []float64{-1}},
		{nn.TensorQuant16Asymm, []byte{255, 255}, []float64{65535}},
		{nn.TensorQuant8AsymmSigned, []byte{255}, []float64{-1}},
		{nn.TensorQuant8PerChannel, []byte{128}, []float64{-128}},
		{nn.TensorQuant8Asymm, []byte{255}, []float64{255}},
		{nn.TensorBool8, []byte{1, 0}, []float64{1, 0}},
		{nn.TensorInt32, nil, []float64{}},
	} {
		got, err := Of(tc.t, tc.data)
		require.NoError(t, err, tc.t)
		require.Equal(t, tc.want, got, tc.t)
	}
	for _, bad := range []nn.OperandType{nn.SubgraphRef, nn.OperandType(-1), nn.TensorFloat32} {
		_, err := Of(bad, []byte{1, 2, 3})
		require.Error(t, err, bad)
	}
}
