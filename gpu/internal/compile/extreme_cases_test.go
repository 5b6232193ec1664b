package compile

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
)

// extremeCase is a model near or beyond a limit. What fuzzing found is kept here.
type extremeCase struct {
	name string
	make func(b *nn.Builder)
	// refused is part of the reason on SwiftShader; empty for a model that compiles there.
	refused string
}

// one is a model of one operation whose output shape follows from its inputs.
func one(o nn.OperationType, t nn.OperandType, d nn.Dims, scale float32, rest func(b *nn.Builder) []uint32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		in := append([]uint32{b.Input(t, d, scale, 0)}, rest(b)...)
		y := b.Temp(t, nil, scale, 0)
		b.Op(o, in, []uint32{y})
		b.Output(y)
	}
}

func scalars(b *nn.Builder, v ...int) []uint32 {
	var ids []uint32
	for _, x := range v {
		ids = append(ids, b.Scalar(x))
	}
	return ids
}

// column is a convolution of a column of pixels with a filter as high as it is.
func column(o nn.OperationType, height uint32) func(*nn.Builder) {
	return one(o, nn.TensorFloat32, nn.Dims{1, height, 1, 1}, 0, func(b *nn.Builder) []uint32 {
		in := []uint32{b.Floats(nn.Dims{1, height, 1, 1}, make([]float32, height)...), b.Floats(nn.Dims{1}, 0), b.Scalar(2), b.Scalar(1), b.Scalar(1)}
		if o == nn.OpDepthwiseConv2D {
			in = append(in, b.Scalar(1))
		}
		return append(in, b.Scalar(0))
	})
}

// maximum is MAX_POOL_2D with windows of the given size, VALID.
func maximum(d nn.Dims, height, width int) func(*nn.Builder) {
	return one(nn.OpMaxPool2D, nn.TensorFloat32, d, 0, func(b *nn.Builder) []uint32 { return scalars(b, 2, 1, 1, width, height, 0) })
}

func meanOf(t nn.OperandType, scale float32, d nn.Dims, axes ...int32) func(*nn.Builder) {
	return one(nn.OpMean, t, d, scale, func(b *nn.Builder) []uint32 {
		return []uint32{b.Ints(nn.Dims{uint32(len(axes))}, axes...), b.Scalar(1)}
	})
}

func softmaxOf(d nn.Dims, axis int) func(*nn.Builder) {
	return one(nn.OpSoftmax, nn.TensorFloat32, d, 0, func(b *nn.Builder) []uint32 { return []uint32{b.Scalar(1.0), b.Scalar(axis)} })
}

func resizeOf(d nn.Dims, width int, corners, centres bool) func(*nn.Builder) {
	return one(nn.OpResizeBilinear, nn.TensorQuant8Asymm, d, 1, func(b *nn.Builder) []uint32 {
		return []uint32{b.Scalar(width), b.Scalar(1), b.Scalar(false), b.Scalar(corners), b.Scalar(centres)}
	})
}

// runtimeMatrix is FULLY_CONNECTED of 8 bits with weights that are an input.
func runtimeMatrix(units uint32) func(*nn.Builder) {
	return one(nn.OpFullyConnected, nn.TensorQuant8Asymm, nn.Dims{1, 3}, 1, func(b *nn.Builder) []uint32 {
		return []uint32{b.Input(nn.TensorQuant8Asymm, nn.Dims{units, 3}, 1, 0), b.Input(nn.TensorInt32, nn.Dims{units}, 1, 0), b.Scalar(0)}
	})
}

var extremeCases = []extremeCase{
	{name: "an image of five pixels in groups of four", make: meanOf(nn.TensorFloat32, 0, nn.Dims{5, 3}, 0)},
	{name: "an image of one pixel in groups of four", make: meanOf(nn.TensorFloat32, 0, nn.Dims{1, 3}, 1)},
	{name: "an image of five pixels of bytes", make: meanOf(nn.TensorQuant8Asymm, 1, nn.Dims{5, 3}, 0)},
	{name: "an input that nobody reads and no device binds", make: func(b *nn.Builder) {
		b.Input(nn.TensorQuant8Asymm, nn.Dims{3, 1<<30 - 1}, 1, 0)
		y := b.Temp(nn.TensorFloat32, nil, 0, 0)
		b.Op(nn.OpAbs, []uint32{b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)}, []uint32{y})
		b.Output(y)
	}},
	{name: "input weights of a million units", make: runtimeMatrix(1 << 20)},
	{name: "input weights of 2^26 units", make: runtimeMatrix(1 << 26), refused: "output channels"},
	{name: "the last column of 2^22", make: resizeOf(nn.Dims{1, 1, 1 << 22, 1}, 1<<22-1, false, true)},
	{name: "the last column of 2^22, upwards", make: resizeOf(nn.Dims{1, 1, 1<<22 - 1, 1}, 1<<22, false, true)},
	{name: "the last column of 2^22, corners", make: resizeOf(nn.Dims{1, 1, 1<<22 - 1, 1}, 1<<22, true, false)},
	{name: "columns that float32 does not tell apart", make: resizeOf(nn.Dims{1, 1, 1 << 23, 1}, 1<<23-1, false, true), refused: "resizing"},
	{name: "a dilated window that wraps around the image", make: one(nn.OpConv2D, nn.TensorFloat32, nn.Dims{1, 9, 9, 1}, 0, func(b *nn.Builder) []uint32 {
		in := []uint32{b.Floats(nn.Dims{1, 9, 9, 1}, make([]float32, 81)...), b.Floats(nn.Dims{1}, 0)}
		return append(append(append(in, scalars(b, 1, 1, 1, 0)...), b.Scalar(false)), scalars(b, 1<<30, 1<<30)...)
	}), refused: "window"},

	// Loops, at their limit and beyond.
	{name: "a column of 14,000", make: column(nn.OpDepthwiseConv2D, 14_000)},
	{name: "a column of 29,000", make: column(nn.OpDepthwiseConv2D, 29_000), refused: "steps"},
	{name: "a filter of 9,000 rows", make: column(nn.OpConv2D, 9_000)},
	{name: "a filter of 19,000 rows", make: column(nn.OpConv2D, 19_000), refused: "steps"},
	{name: "the maximum of a column", make: maximum(nn.Dims{2, 59_000, 2, 3}, 59_000, 1)},
	{name: "the maximum of a row", make: maximum(nn.Dims{2, 2, 59_000, 3}, 1, 59_000)},
	{name: "the maximum of 50,000 by 3", make: maximum(nn.Dims{1, 50_000, 4, 3}, 50_000, 3)},
	{name: "the maximum of 70,000", make: maximum(nn.Dims{1, 70_000, 4, 3}, 70_000, 3), refused: "windows"},
	{name: "the mean of 2^24", make: meanOf(nn.TensorFloat32, 0, nn.Dims{1 << 12, 1 << 12}, 0, 1)},
	{name: "the mean of a column of 2^24", make: meanOf(nn.TensorFloat32, 0, nn.Dims{1 << 24, 1}, 0)},
	{name: "the mean of four rows of 2^24", make: meanOf(nn.TensorFloat32, 0, nn.Dims{4, 1 << 24}, 1)},
	{name: "the mean of 2^23-1 bytes", make: meanOf(nn.TensorQuant8Asymm, 1, nn.Dims{1<<23 - 1}, 0)},
	{name: "the mean of 2^23 bytes", make: meanOf(nn.TensorQuant8Asymm, 1, nn.Dims{1 << 23}, 0), refused: "mean"},
	{name: "softmax of 320,000", make: softmaxOf(nn.Dims{2, 320_000}, 1)},
	{name: "softmax of a column of 20,000", make: softmaxOf(nn.Dims{20_000, 5}, 0)},
}

// TestExtremes compiles each case for all devices and lets the interpreter follow the longest invocations to
// their end.
func TestExtremes(t *testing.T) {
	before := limits
	limits = bounds{invocation: 5_000_000, step: 5_000_000}
	defer func() { limits = before }()
	for _, tc := range extremeCases {
		t.Run(tc.name, func(t *testing.T) {
			m := build(t, tc.make)
			refused, err := Supports(&swiftshader, m)
			require.NoError(t, err)
			if tc.refused == "" {
				require.NoError(t, errors.Join(refused...))
			} else {
				require.ErrorContains(t, errors.Join(refused...), tc.refused)
			}
			compileExtreme(t, m, 4)
		})
	}
}

// TestFoldingIsBounded: many conversions of one constant make one value, and different ones no more than the
// model is worth.
func TestFoldingIsBounded(t *testing.T) {
	m := func(scale func(i int) float32) *nn.Model {
		var b nn.Builder
		x := b.Input(nn.TensorFloat32, nn.Dims{1}, 0, 0)
		at := nn.Location{PoolIndex: b.Pool(make(nn.HostMemory, 1<<20)), Length: 1 << 20}
		for i := range 100 {
			c := b.Reference(nn.TensorQuant8Asymm, nn.Dims{1 << 20}, scale(i), 0, at)
			f, y := b.Temp(nn.TensorFloat32, nil, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0)
			b.Op(nn.OpDequantize, []uint32{c}, []uint32{f})
			b.Op(nn.OpMaximum, []uint32{x, f}, []uint32{y})
			b.Output(y)
		}
		return nntest.Build(&b)
	}
	for _, tc := range []struct {
		name  string
		scale func(i int) float32
		most  int64
	}{
		{"the same", func(int) float32 { return 0.5 }, 5 << 20},
		{"different ones", func(i int) float32 { return float32(1 + i) }, 8 << 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := m(tc.scale)
			require.NoError(t, validate.Model(model))
			_, weights, err := Model(context.Background(), &lavapipe, model, nil)
			require.NoError(t, err)
			require.LessOrEqual(t, weights.Size(), tc.most)
		})
	}
}

// TestPackedWeightsAreBounded: a small constant that many operations pack in many ways is refused.
func TestPackedWeightsAreBounded(t *testing.T) {
	var b nn.Builder
	b.Input(nn.TensorFloat32, nn.Dims{1}, 0, 0)
	at := nn.Location{PoolIndex: b.Pool(make(nn.HostMemory, 8000)), Length: 8000}
	for typ, least := range map[nn.OperandType]int32{nn.TensorQuant8Asymm: 0, nn.TensorQuant8AsymmSigned: -128} {
		x := b.Input(typ, nn.Dims{1, 1, 8000, 1}, 1, 0)
		for i := range int32(256) {
			w := b.Reference(typ, nn.Dims{1, 1, 8000, 1}, 1, least+i, at)
			y := b.Temp(typ, nil, 1, 0)
			b.Op(nn.OpConv2D, append([]uint32{x, w, b.Const(nn.TensorInt32, nn.Dims{1}, 1, 0, make([]byte, 4))}, scalars(&b, 2, 1, 1, 0)...), []uint32{y})
			b.Output(y)
		}
	}
	m := nntest.Build(&b)
	require.NoError(t, validate.Model(m))
	_, _, err := Model(context.Background(), &swiftshader, m, nil)
	require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), "%v", err)
	require.True(t, strings.Contains(err.Error(), "CONV_2D"), "%v", err)
}
