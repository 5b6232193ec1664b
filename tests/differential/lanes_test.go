package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// producers are float operations that could leave something else than zero behind the elements of a row:
// the logarithm of the zero that stands there in the input is infinite.
var producers = []struct {
	name string
	add  func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) (y uint32)
}{
	{"LOG", elementwise(nn.OpLog)}, {"RSQRT", elementwise(nn.OpRsqrt)}, {"EXP", elementwise(nn.OpExp)}, {"LOGISTIC", elementwise(nn.OpLogistic)},
	{"SQRT", elementwise(nn.OpSqrt)}, {"SIN", elementwise(nn.OpSin)}, {"HARD_SWISH", elementwise(nn.OpHardSwish)},
	{"DIV", pairing(nn.OpDiv, true)}, {"POW", pairing(nn.OpPow, false)}, {"ADD", pairing(nn.OpAdd, true)}, {"PRELU", pairing(nn.OpPrelu, false)},
	{"DIV by one number", scaling(nn.OpDiv)}, {"ADD of one number", scaling(nn.OpAdd)}, {"MAXIMUM with one number", scaling(nn.OpMaximum)},
	{"PAD_V2", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], dims[1], dims[2] + 1, dims[3]}, 0, 0)
		b.Op(nn.OpPadV2, []uint32{x, b.Ints(nn.Dims{4, 2}, 0, 0, 0, 0, 0, 1, 0, 0), beta(b, typ, 2.5)}, []uint32{y})
		return y
	}},
	{"PAD_V2 of the rows", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], dims[1], dims[2], dims[3] + 3}, 0, 0)
		b.Op(nn.OpPadV2, []uint32{x, b.Ints(nn.Dims{4, 2}, 0, 0, 0, 0, 0, 0, 1, 2), beta(b, typ, 2.5)}, []uint32{y})
		return y
	}},
	{"CONCATENATION", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], dims[1], dims[2], 3 * dims[3]}, 0, 0)
		b.Op(nn.OpConcatenation, []uint32{x, x, x, b.Scalar(3)}, []uint32{y})
		return y
	}},
	{"TRANSPOSE", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], dims[2], dims[3], dims[1]}, 0, 0)
		b.Op(nn.OpTranspose, []uint32{x, b.Ints(nn.Dims{4}, 0, 2, 3, 1)}, []uint32{y})
		return y
	}},
	{"SOFTMAX", softmaxOver(3)}, {"SOFTMAX of columns", softmaxOver(1)},
	{"LOCAL_RESPONSE_NORMALIZATION", responseOver(3)}, {"LOCAL_RESPONSE_NORMALIZATION of columns", responseOver(1)},
	{"MAX_POOL_2D", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		b.Op(nn.OpMaxPool2D, append([]uint32{x}, scalars(b, int(nn.PaddingSame), 1, 1, 3, 3, 0)...), []uint32{y})
		return y
	}},
	{"RESIZE_BILINEAR", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], 4, 7, dims[3]}, 0, 0)
		b.Op(nn.OpResizeBilinear, append([]uint32{x}, scalars(b, 7, 4)...), []uint32{y})
		return y
	}},
	{"MEAN", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, nn.Dims{dims[0], 1, 1, dims[3]}, 0, 0)
		b.Op(nn.OpMean, []uint32{x, b.Ints(nn.Dims{2}, 1, 2), b.Scalar(1)}, []uint32{y})
		return y
	}},
	{"CAST and back", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		mid, y := b.Temp(nn.TensorInt32, dims, 0, 0), b.Temp(typ, dims, 0, 0)
		b.Op(nn.OpCast, []uint32{x}, []uint32{mid})
		b.Op(nn.OpCast, []uint32{mid}, []uint32{y})
		return y
	}},
	{"QUANTIZE and back", func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		mid, y := b.Temp(nn.TensorQuant8Asymm, dims, 0.02, 33), b.Temp(typ, dims, 0, 0)
		b.Op(nn.OpQuantize, []uint32{x}, []uint32{mid})
		b.Op(nn.OpDequantize, []uint32{mid}, []uint32{y})
		return y
	}},
}

func elementwise(op nn.OperationType) func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32 {
	return func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		b.Op(op, []uint32{x}, []uint32{y})
		return y
	}
}

func pairing(op nn.OperationType, fused bool) func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32 {
	return func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		args := []uint32{x, x}
		if fused {
			args = append(args, b.Scalar(0))
		}
		b.Op(op, args, []uint32{y})
		return y
	}
}

// scaling pairs a tensor with the number 2.
func scaling(op nn.OperationType) func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32 {
	return func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		two := []byte{0, 0, 0, 0x40}
		if typ == nn.TensorFloat16 {
			two = []byte{0, 0x40}
		}
		args := []uint32{x, b.Const(typ, nn.Dims{1}, 0, 0, two)}
		if op != nn.OpMaximum {
			args = append(args, b.Scalar(0))
		}
		b.Op(op, args, []uint32{y})
		return y
	}
}

func softmaxOver(axis int) func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32 {
	return func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		b.Op(nn.OpSoftmax, []uint32{x, beta(b, typ, 1), b.Scalar(axis)}, []uint32{y})
		return y
	}
}

// responseOver divides by powers of what may be zero.
func responseOver(axis int) func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32 {
	return func(b *nn.Builder, typ nn.OperandType, x uint32, dims nn.Dims) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		args := []uint32{x, b.Scalar(1), beta(b, typ, 0), beta(b, typ, 1), beta(b, typ, 0.5), b.Scalar(axis)}
		b.Op(nn.OpLocalResponseNormalization, args, []uint32{y})
		return y
	}
}

// TestPaddingLanes: what lies behind the elements of a row reaches the readers that take whole quads, where
// zero times something that is not a number would not be zero.
func TestPaddingLanes(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, typ := range floatTypes {
			for _, p := range producers {
				for _, channels := range []uint32{1, 2, 3, 5, 6, 7, 9} {
					t.Run(fmt.Sprint(typ, " ", p.name, " ", channels), func(t *testing.T) {
						paddingLanes(t, d, typ, channels, p.add)
					})
				}
			}
		}
	})
}

func paddingLanes(t *testing.T, d *driver.Device, typ nn.OperandType, channels uint32, add func(*nn.Builder, nn.OperandType, uint32, nn.Dims) uint32) {
	var b nn.Builder
	dims := nn.Dims{2, 3, 5, channels}
	x := b.Input(typ, dims, 0, 0)
	y := add(&b, typ, x, dims)
	d4 := b.Operand(y).Dims
	width := d4[3]
	result := func(op nn.OperationType, dims nn.Dims, args ...uint32) {
		z := b.Temp(typ, dims, 0, 0)
		b.Op(op, args, []uint32{z})
		b.Output(z)
	}
	weights := func(dims nn.Dims) uint32 {
		n, _ := dims.Elements()
		return b.Const(typ, dims, 0, 0, grid(typ, int(n)+1, -0.5, 0.75)[:int(n)*typ.Bytes()])
	}
	result(nn.OpFullyConnected, nn.Dims{uint32(elements(d4)) / width, 5}, y, weights(nn.Dims{5, width}), weights(nn.Dims{5}), b.Scalar(0))
	result(nn.OpConv2D, nn.Dims{d4[0], d4[1], d4[2], 6}, append([]uint32{y, weights(nn.Dims{6, 3, 3, width}), weights(nn.Dims{6})},
		scalars(&b, int(nn.PaddingSame), 1, 1, 0)...)...)
	result(nn.OpMean, d4[:3], y, b.Ints(nn.Dims{1}, 3), b.Scalar(0))
	result(nn.OpSoftmax, d4, y, beta(&b, typ, 1), b.Scalar(-1))
	result(nn.OpReshape, nn.Dims{uint32(elements(d4))}, y, b.Ints(nn.Dims{1}, -1))
	m := nntest.Build(&b)
	tol := Tolerance{Abs: 2e-5, Rel: 2e-5}
	if typ == nn.TensorFloat16 {
		tol = Tolerance{Abs: 2e-2, Rel: 1e-2}
	}
	CompareOn(t, d, m, [][]byte{grid(typ, elements(dims), 0.5, 2.5)}, tol)
}
