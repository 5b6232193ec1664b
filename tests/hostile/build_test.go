//go:build linux

package hostile

import "github.com/nngpu/nngpu/driver/nn"

const (
	f32 = nn.TensorFloat32
	u8  = nn.TensorQuant8Asymm
	s8  = nn.TensorQuant8AsymmSigned
	i32 = nn.TensorInt32

	huge = 1<<31 - 1
)

// quantOf is an ordinary scale and zero point for a type.
func quantOf(t nn.OperandType) (float32, int32) {
	if !t.IsQuant8() {
		return 0, 0
	}
	return 0.5, 3
}

func input(b *nn.Builder, t nn.OperandType, d ...uint32) uint32 {
	scale, zero := quantOf(t)
	return b.Input(t, d, scale, zero)
}

// temp is a result whose shape the inputs give.
func temp(b *nn.Builder, t nn.OperandType) uint32 {
	scale, zero := quantOf(t)
	return b.Temp(t, nil, scale, zero)
}

// op adds an operation on tensors of type t and returns its result.
func op(b *nn.Builder, o nn.OperationType, t nn.OperandType, in ...uint32) uint32 {
	y := temp(b, t)
	b.Op(o, in, []uint32{y})
	return y
}

// constant is a tensor of small values.
func constant(b *nn.Builder, t nn.OperandType, d ...uint32) uint32 {
	n, err := nn.Dims(d).Elements()
	if err != nil {
		panic(err)
	}
	if t == f32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i%7-3) / 4
		}
		return b.Floats(d, v...)
	}
	value := make([]byte, int(n)*t.Bytes())
	for i := range value {
		value[i] = byte(i % 11)
	}
	scale, zero := quantOf(t)
	return b.Const(t, d, scale, zero, value)
}

// bias goes with filters of type t.
func bias(b *nn.Builder, t nn.OperandType, n uint32) uint32 {
	if t.IsQuant8() {
		return b.Const(i32, nn.Dims{n}, 0.25, 0, make([]byte, 4*n))
	}
	return constant(b, t, n)
}

func ints(b *nn.Builder, v ...int32) []uint32 {
	ids := make([]uint32, len(v))
	for i, x := range v {
		ids[i] = b.Scalar(x)
	}
	return ids
}

// single is a model of one operation on one input, whose further operands rest makes.
func single(o nn.OperationType, t nn.OperandType, d nn.Dims, rest func(b *nn.Builder) []uint32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		in := []uint32{input(b, t, d...)}
		if rest != nil {
			in = append(in, rest(b)...)
		}
		b.Output(op(b, o, t, in...))
	}
}

// list is a constant TENSOR_INT32 of the given shape.
func list(b *nn.Builder, d nn.Dims, v ...int32) uint32 { return b.Ints(d, v...) }

// repeat is n times v.
func repeat[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}
