package importer

import (
	"math"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// applied is f of each number.
func applied(f func(float64) float64, list ...float32) []byte {
	var y []float32
	for _, x := range list {
		y = append(y, float32(f(float64(x))))
	}
	return floats(y...)
}

func TestNumbers(t *testing.T) {
	odd := []float32{0, 0.3, -0.3, 1, -1, 1.5, -2.5, 7.75, -7.75, 100, -31.4, 1e-7, 3}
	unary := func(name string, code g.Operator, o g.Options, f func(float64) float64) expectation {
		return expectation{name: name, tol: close5, build: func(n *net) ([]int, [][]byte) {
			return n.op(code, o, one(g.Float32, len(odd)), n.floats([]int{len(odd)}, odd...)), [][]byte{applied(f, odd...)}
		}}
	}
	x, y := []int32{7, -7, 7, -7, 6, 0, -1, 1 << 30}, []int32{3, 3, -3, -3, 3, 5, 1 << 30, 7}
	divided := func(code g.Operator, f func(x, y float64) float64) func(n *net) ([]int, [][]byte) {
		return func(n *net) ([]int, [][]byte) {
			var want []int32
			for i := range x {
				want = append(want, int32(f(float64(x[i]), float64(y[i]))))
			}
			return n.op(code, nil, one(g.Int32, len(x)), n.input(g.Int32, []int{len(x)}, int32s(x...)), n.input(g.Int32, []int{len(y)}, int32s(y...))), [][]byte{int32s(want...)}
		}
	}
	floor := func(x, y float64) float64 { return math.Floor(x / y) }
	runAll(t, []expectation{
		unary("rounded up", g.OpCeil, nil, math.Ceil),
		unary("rounded, halves to even", g.OpRound, nil, math.RoundToEven),
		unary("sign", g.OpSign, nil, func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return math.Copysign(1, x)
		}),
		{name: "quotients of integers, toward zero", build: divided(g.OpDiv, func(x, y float64) float64 { return math.Trunc(x / y) })},
		{name: "one of many", build: func(n *net) ([]int, [][]byte) {
			x := n.input(g.Int32, []int{2, 2}, int32s(0, 2, 5, -1))
			one1, zero := n.constant(g.Float32, nil, floats(1)), n.constant(g.Float32, nil, floats(0))
			a := n.op(g.OpOneHot, g.OneHotOptions{Axis: -1}, one(g.Float32, 2, 2, 3), x, n.ints(nil, 3), one1, zero)
			b := n.op(g.OpOneHot, g.OneHotOptions{Axis: 1}, one(g.Int32, 2, 3, 2), x, n.ints(nil, 3), n.ints(nil, 7), n.ints(nil, -3))
			return append(a, b...), [][]byte{
				floats(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0), int32s(7, -3, -3, -3, -3, 7, -3, -3, -3, -3, -3, -3),
			}
		}},
		unary("cosine", g.OpCos, nil, math.Cos),
		unary("from 0 to 1", g.OpRelu0To1, nil, func(x float64) float64 { return min(max(x, 0), 1) }),
		unary("GELU", g.OpGelu, g.GeluOptions{Approximate: true}, func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}),
		{name: "quotients of integers", build: divided(g.OpFloorDiv, floor)},
		{name: "remainders of integers", build: divided(g.OpFloorMod, func(x, y float64) float64 { return x - floor(x, y)*y })},
		{name: "quotients of floats", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpFloorDiv, nil, one(g.Float32, 4), n.floats([]int{4}, 7, -7, 7.5, -1), n.floats([]int{4}, 2, 2, -2.5, 4)), [][]byte{floats(3, -4, -3, -1)}
		}},
		{name: "sum of three", build: func(n *net) ([]int, [][]byte) {
			a, b := n.floats([]int{3}, 1, 2, 3), n.floats([]int{3}, 10, 20, 30)
			return n.op(g.OpAddN, nil, one(g.Float32, 3), a, b, a), [][]byte{floats(12, 24, 36)}
		}},
		{name: "filled with a number that is computed", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpFill, nil, one(g.Float32, 2, 2), n.vector(2, 2), n.floats(nil, 7)), [][]byte{floats(7, 7, 7, 7)}
		}},
		{name: "filled, and zeros", build: func(n *net) ([]int, [][]byte) {
			x := n.floats([]int{2}, 1, 2)
			value := n.constant(g.Float32, nil, floats(2.5))
			return append(n.op(g.OpFill, nil, one(g.Float32, 3), n.vector(3), value), n.op(g.OpZerosLike, nil, one(g.Float32, 2), x)...),
				[][]byte{floats(2.5, 2.5, 2.5), floats(0, 0)}
		}},
		{name: "ranges", build: func(n *net) ([]int, [][]byte) {
			x, y := n.input(g.Int32, []int{3}, int32s(0, 0, 0)), n.floats([]int{3}, 0, 0, 0)
			whole := n.op(g.OpRange, nil, one(g.Int32, 3), n.ints(nil, 5), n.ints(nil, -1), n.ints(nil, -2))
			part := n.op(g.OpRange, nil, one(g.Float32, 3), n.constant(g.Float32, nil, floats(1)), n.constant(g.Float32, nil, floats(2.5)), n.constant(g.Float32, nil, floats(0.5)))
			return append(n.op(g.OpAdd, nil, one(g.Int32, 3), x, whole[0]), n.op(g.OpAdd, nil, one(g.Float32, 3), y, part[0])...),
				[][]byte{int32s(5, 3, 1), floats(1, 1.5, 2)}
		}},
		{name: "a shape that is computed", build: func(n *net) ([]int, [][]byte) {
			x := n.floats([]int{2, 3}, count(6)...)
			shape := n.op(g.OpShape, g.ShapeOptions{OutType: g.Int32}, one(g.Int32, 2), x)[0]
			turned := n.op(g.OpReverseV2, nil, one(g.Int32, 2), shape, n.vector(0))[0]
			twice := n.op(g.OpMul, nil, one(g.Int32, 2), shape, n.vector(2, 1))[0]
			return append(n.op(g.OpFill, nil, one(g.Float32, 4, 3), twice, n.constant(g.Float32, nil, floats(1))), turned), [][]byte{floats(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), int32s(3, 2)}
		}},
	})
}
