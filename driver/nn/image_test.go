package nn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestM27ImageLayout: descriptions that contradict themselves are refused, whatever their numbers.
func TestM27ImageLayout(t *testing.T) {
	good := ImageLayout{Width: 7, Height: 5, Layers: 3, Stride: 9, TexelBytes: 3, Channels: 3}
	require.NoError(t, good.Check())
	require.EqualValues(t, 9*5*3*3, good.Bytes())
	const most = math.MaxUint32
	for name, change := range map[string]func(l *ImageLayout){
		"no width":            func(l *ImageLayout) { l.Width = 0 },
		"no height":           func(l *ImageLayout) { l.Height = 0 },
		"no layers":           func(l *ImageLayout) { l.Layers = 0 },
		"overlapping rows":    func(l *ImageLayout) { l.Stride = 6 },
		"no stride":           func(l *ImageLayout) { l.Stride = 0 },
		"no channels":         func(l *ImageLayout) { l.Channels = 0 },
		"many channels":       func(l *ImageLayout) { l.Channels, l.TexelBytes = 5, 5 },
		"narrow texels":       func(l *ImageLayout) { l.TexelBytes = 2 },
		"wide texels":         func(l *ImageLayout) { l.TexelBytes = 5 },
		"no texels":           func(l *ImageLayout) { l.TexelBytes = 0 },
		"half float in bytes": func(l *ImageLayout) { l.Float16 = true },
		"2^96 bytes":          func(l *ImageLayout) { l.Width, l.Height, l.Layers, l.Stride = most, most, most, most },
		"2^64 bytes":          func(l *ImageLayout) { l.Height, l.Layers, l.Stride = 1<<31, 1<<31, 9 },
	} {
		l := good
		change(&l)
		require.Error(t, l.Check(), name)
	}
	large := ImageLayout{Width: most, Height: 1 << 29, Layers: 1, Stride: most, TexelBytes: 3, Channels: 3}
	require.NoError(t, large.Check())
	require.EqualValues(t, int64(most)<<29*3, large.Bytes())
}

// TestM27ImageAsTensor: an image is a tensor of its own sizes, of as many channels or fewer.
func TestM27ImageAsTensor(t *testing.T) {
	l := ImageLayout{Width: 7, Height: 5, Layers: 3, Stride: 9, TexelBytes: 4, Channels: 3}
	for _, typ := range []OperandType{TensorFloat32, TensorFloat16, TensorQuant8Asymm, TensorQuant8AsymmSigned} {
		for c := uint32(1); c <= 3; c++ {
			require.NoError(t, l.CheckTensor(typ, Dims{3, 5, 7, c}))
		}
	}
	for _, tc := range []struct {
		typ     OperandType
		dims    Dims
		message string
	}{
		{TensorInt32, Dims{3, 5, 7, 3}, "TENSOR_INT32"},
		{Float32, nil, "FLOAT32"},
		{TensorQuant8Symm, Dims{3, 5, 7, 3}, "TENSOR_QUANT8_SYMM"},
		{TensorFloat32, nil, "rank 0"},
		{TensorFloat32, Dims{15, 7, 3}, "rank 3"},
		{TensorFloat32, Dims{1, 3, 5, 7, 3}, "rank 5"},
		{TensorFloat32, Dims{1, 5, 7, 3}, "3 layers of height 5 and width 7"},
		{TensorFloat32, Dims{3, 7, 5, 3}, "3 layers of height 5 and width 7"},
		{TensorFloat32, Dims{3, 5, 9, 3}, "3 layers of height 5 and width 7"},
		{TensorFloat32, Dims{3, 5, 7, 4}, "3 channels for a tensor of 4"},
		{TensorFloat32, Dims{3, 5, 7, 0}, "3 channels for a tensor of 0"},
		{TensorFloat32, Dims{3, 0, 7, 3}, "3 layers of height 5"},
	} {
		require.ErrorContains(t, l.CheckTensor(tc.typ, tc.dims), tc.message)
	}
}
