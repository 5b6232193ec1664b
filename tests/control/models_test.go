// Package control runs models with IF and WHILE on every device.
package control

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

const i32, f32, b8 = nn.TensorInt32, nn.TensorFloat32, nn.TensorBool8

var one = nn.Dims{1}

// builder is a builder with less to write.
type builder struct{ nn.Builder }

func (b *builder) in(t nn.OperandType, dims nn.Dims) uint32 { return b.Input(t, dims, 0, 0) }

func (b *builder) op(t nn.OperationType, out nn.OperandType, dims nn.Dims, inputs ...uint32) uint32 {
	y := b.Temp(out, dims, 0, 0)
	switch t {
	case nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv:
		inputs = append(inputs, b.Scalar(0))
	}
	b.Op(t, inputs, []uint32{y})
	return y
}

func (b *builder) ints(v int32) uint32 { return b.Ints(one, v) }

// accumulated are the dimensions of what collatz sums up: not a multiple of four.
var accumulated = nn.Dims{3, 5}

// collatz counts how many times x, until it is 1, is halved where it is even and else becomes 3x+1; acc becomes acc*k+1 each
// time. Its outputs are the count, acc, 2*acc where the count is above 10 and else -acc, and whether it is.
//
// So there is a branch in a loop, state that nobody asks for, an input of the loop that stays, outputs of the model that are
// read again, and a condition that is an output.
func collatz() *nn.Model {
	var condition, body, even, odd, twice, negative, main builder
	type names struct{ x, n, acc, k uint32 }
	state := func(b *builder) names {
		return names{b.in(i32, one), b.in(i32, one), b.in(f32, accumulated), b.in(f32, one)}
	}

	s := state(&condition)
	condition.Output(condition.op(nn.OpGreater, b8, one, s.x, condition.ints(1)))

	s = state(&body)
	half := body.op(nn.OpDiv, i32, one, s.x, body.ints(2))
	isEven := body.op(nn.OpEqual, b8, one, s.x, body.op(nn.OpMul, i32, one, half, body.ints(2)))
	then, otherwise := body.Scalar(0), body.Scalar(0)
	x := body.op(nn.OpIf, i32, one, isEven, then, otherwise, s.x, half, body.ints(3))
	body.Output(x)
	body.Output(body.op(nn.OpAdd, i32, one, s.n, body.ints(1)))
	body.Output(body.op(nn.OpAdd, f32, accumulated, body.op(nn.OpMul, f32, accumulated, s.acc, s.k), body.Floats(one, 1)))

	_, half, _ = even.in(i32, one), even.in(i32, one), even.in(i32, one)
	even.Output(even.op(nn.OpAdd, i32, one, half, even.ints(0)))
	x, _, three := odd.in(i32, one), odd.in(i32, one), odd.in(i32, one)
	odd.Output(odd.op(nn.OpAdd, i32, one, odd.op(nn.OpMul, i32, one, x, three), odd.ints(1)))
	twice.Output(twice.op(nn.OpMul, f32, accumulated, twice.in(f32, accumulated), twice.Floats(one, 2)))
	negative.Output(negative.op(nn.OpNeg, f32, accumulated, negative.in(f32, accumulated)))

	x, acc, k := main.in(i32, one), main.in(f32, accumulated), main.in(f32, one)
	graphs := []uint32{main.Scalar(0), main.Scalar(0), main.Scalar(0), main.Scalar(0)}
	last, n, sum := main.Temp(i32, one, 0, 0), main.Temp(i32, one, 0, 0), main.Temp(f32, accumulated, 0, 0)
	main.Op(nn.OpWhile, []uint32{graphs[0], graphs[1], x, main.ints(0), acc, k}, []uint32{last, n, sum})
	many := main.op(nn.OpGreater, b8, one, n, main.ints(10))
	z := main.op(nn.OpIf, f32, accumulated, many, graphs[2], graphs[3], sum)
	for _, y := range []uint32{n, sum, z, many} {
		main.Output(y)
	}
	return nntest.Join(
		nntest.Graph{B: &main.Builder, Refer: map[uint32]uint32{graphs[0]: 0, graphs[1]: 1, graphs[2]: 4, graphs[3]: 5}},
		nntest.Graph{B: &condition.Builder}, nntest.Graph{B: &body.Builder, Refer: map[uint32]uint32{then: 2, otherwise: 3}},
		nntest.Graph{B: &even.Builder}, nntest.Graph{B: &odd.Builder}, nntest.Graph{B: &twice.Builder}, nntest.Graph{B: &negative.Builder})
}

// collatzOn are inputs of collatz, and its outputs.
func collatzOn(x int32) (inputs, outputs [][]byte) {
	acc, k := make([]float32, 15), float32(0.5)
	for i := range acc {
		acc[i] = float32(i) - 3
	}
	inputs = [][]byte{ints(x), floats(acc...), floats(k)}
	n := int32(0)
	for ; x > 1; n++ {
		if x%2 == 0 {
			x /= 2
		} else {
			x = 3*x + 1
		}
		for i := range acc {
			acc[i] = acc[i]*k + 1
		}
	}
	z, many := make([]float32, 15), byte(0)
	for i, v := range acc {
		z[i] = -v
		if n > 10 {
			z[i] = 2 * v
		}
	}
	if n > 10 {
		many = 1
	}
	return inputs, [][]byte{ints(n), floats(acc...), floats(z...), {many}}
}

func ints(v ...int32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func floats(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// counting adds step to x while x is less than limit: all three are inputs. Each iteration also multiplies matrices of size
// n, as often as times says, which is what makes it long.
func counting(n uint32, times int) *nn.Model {
	var condition, body, main builder
	matrix := nn.Dims{n, n}
	x, _, limit, _ := condition.in(i32, one), condition.in(f32, matrix), condition.in(i32, one), condition.in(i32, one)
	condition.Output(condition.op(nn.OpLess, b8, one, x, limit))
	x, m, _, step := body.in(i32, one), body.in(f32, matrix), body.in(i32, one), body.in(i32, one)
	body.Output(body.op(nn.OpAdd, i32, one, x, step))
	weights, bias := body.Floats(matrix, make([]float32, n*n)...), body.Floats(nn.Dims{n}, make([]float32, n)...)
	for range times {
		m = body.op(nn.OpFullyConnected, f32, matrix, m, weights, bias, body.Scalar(0))
	}
	if times == 0 {
		m = body.op(nn.OpAdd, f32, matrix, m, body.Floats(one, 1))
	}
	body.Output(m)
	x, m, limit, step = main.in(i32, one), main.in(f32, matrix), main.in(i32, one), main.in(i32, one)
	graphs := []uint32{main.Scalar(0), main.Scalar(0)}
	y, z := main.Temp(i32, one, 0, 0), main.Temp(f32, matrix, 0, 0)
	main.Op(nn.OpWhile, []uint32{graphs[0], graphs[1], x, m, limit, step}, []uint32{y, z})
	main.Output(y)
	main.Output(z)
	return nntest.Join(nntest.Graph{B: &main.Builder, Refer: map[uint32]uint32{graphs[0]: 0, graphs[1]: 1}},
		nntest.Graph{B: &condition.Builder}, nntest.Graph{B: &body.Builder})
}

// iteration is what counting does in each of its iterations, as a model.
func iteration(n uint32, times int) *nn.Model {
	var b builder
	matrix := nn.Dims{n, n}
	x, a, limit, step := b.in(i32, one), b.in(f32, matrix), b.in(i32, one), b.in(i32, one)
	y := b.op(nn.OpAdd, i32, one, x, step)
	for range times {
		a = b.op(nn.OpFullyConnected, f32, matrix, a, b.Floats(matrix, make([]float32, n*n)...), b.Floats(nn.Dims{n}, make([]float32, n)...), b.Scalar(0))
	}
	if times == 0 {
		a = b.op(nn.OpAdd, f32, matrix, a, b.Floats(one, 1))
	}
	for _, o := range []uint32{y, a, b.op(nn.OpLess, b8, one, y, limit)} {
		b.Output(o)
	}
	return nntest.Build(&b.Builder)
}

// prepare prepares m for a new client of d.
func prepare(t testing.TB, d *driver.Device, m *nn.Model, opts ...driver.Option) *driver.PreparedModel {
	t.Helper()
	c, err := d.NewClient(t.Name())
	require.NoError(t, err)
	pm, err := c.PrepareModel(t.Context(), m, opts...)
	require.NoError(t, err)
	return pm
}

// countingInputs count from 0 to limit, or for ever.
func countingInputs(n uint32, limit int32) [][]byte {
	step := int32(1)
	if limit < 0 {
		limit, step = 1, 0
	}
	return [][]byte{ints(0), make([]byte, 4*n*n), ints(limit), ints(step)}
}

var gpuOptions gpu.Options
