package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpEqual, comparison(func(x, y float64) bool { return x == y }))
	register(nn.OpNotEqual, comparison(func(x, y float64) bool { return x != y }))
	register(nn.OpLess, comparison(func(x, y float64) bool { return x < y }))
	register(nn.OpLessEqual, comparison(func(x, y float64) bool { return x <= y }))
	register(nn.OpGreater, comparison(func(x, y float64) bool { return x > y }))
	register(nn.OpGreaterEqual, comparison(func(x, y float64) bool { return x >= y }))
}

func init() {
	truth := func(holds func(x, y bool) bool) kernel {
		return comparison(func(x, y float64) bool { return holds(x != 0, y != 0) })
	}
	register(nn.OpLogicalAnd, truth(func(x, y bool) bool { return x && y }))
	register(nn.OpLogicalOr, truth(func(x, y bool) bool { return x || y }))
	register(nn.OpLogicalNot, kernel{inputs: []int{1}, run: func(c *call) *Tensor {
		return Compare(c.in[0], c.in[0], func(x, _ float64) bool { return x == 0 }, c.out)
	}})
}

// comparison is the kernel of an operation that is true where holds is.
func comparison(holds func(x, y float64) bool) kernel {
	return kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Compare(c.in[0], c.in[1], holds, c.out) }}
}

// Compare is 1 where holds is true of the elements of a and b, else 0. Real numbers of quantised types are those of
// float32, as NNAPI's reference has them; any boolean but 0 is true.
func Compare(a, b *Tensor, holds func(x, y float64) bool, out Format) *Tensor {
	if out.Type != nn.TensorBool8 {
		refuse("result of type %s", out.Type)
	}
	va, vb := realFloat32(a), realFloat32(b)
	return broadcastTo(a, b, out, func(x, y float64) float64 {
		if holds(va(x), vb(y)) {
			return 1
		}
		return 0
	})
}

// realFloat32 gives the number that a stored value of t stands for in a comparison.
func realFloat32(t *Tensor) func(float64) float64 {
	switch {
	case t.Type == nn.TensorBool8:
		return func(q float64) float64 { return min(q, 1) }
	case t.Format().quantised():
		return func(q float64) float64 { return float64(float32(q-float64(t.ZeroPoint)) * float32(t.Scale)) }
	}
	return func(v float64) float64 { return v }
}
