package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpAdd, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return Add(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
	}})
	register(nn.OpSub, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return Sub(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
	}})
	register(nn.OpMul, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return Mul(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
	}})
	register(nn.OpDiv, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return Div(c.in[0], c.in[1], c.activation(2), c.out)
	}})
	register(nn.OpMaximum, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Maximum(c.in[0], c.in[1], c.out) }})
	register(nn.OpMinimum, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Minimum(c.in[0], c.in[1], c.out) }})
	register(nn.OpPow, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Pow(c.in[0], c.in[1], c.out) }})
	register(nn.OpPrelu, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Prelu(c.in[0], c.in[1], c.out, c.ar) }})
	register(nn.OpSquaredDifference, kernel{inputs: []int{2}, run: func(c *call) *Tensor {
		return SquaredDifference(c.in[0], c.in[1], c.out, c.ar)
	}})
}

// BroadcastShape aligns two shapes at their ends: sizes must be equal, or one of them 1.
func BroadcastShape(a, b []int) []int {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		da, db := sizeAt(a, i-len(out)), sizeAt(b, i-len(out))
		switch {
		case da == db || db == 1:
			out[i] = da
		case da == 1:
			out[i] = db
		default:
			refuse("shapes %v and %v do not broadcast", a, b)
		}
	}
	return out
}

// sizeAt is the size of the dimension that is back (negative) from the end, 1 before the first.
func sizeAt(shape []int, back int) int {
	if i := len(shape) + back; i >= 0 {
		return shape[i]
	}
	return 1
}

// broadcast calls f with the stored values of a and b for every element of the broadcast shape.
func broadcast(a, b *Tensor, out Format, f func(a, b float64) float64) *Tensor {
	if a.Type != out.Type {
		refuse("types %s, %s and %s", a.Type, b.Type, out.Type)
	}
	return broadcastTo(a, b, out, f)
}

// broadcastTo is broadcast to an output of any type.
func broadcastTo(a, b *Tensor, out Format, f func(a, b float64) float64) *Tensor {
	if a.Type != b.Type {
		refuse("types %s and %s", a.Type, b.Type)
	}
	shape := BroadcastShape(a.Shape, b.Shape)
	y := New(out, shape...)
	forEach(shape, func(i int, at []int) {
		y.V[i] = f(a.V[broadcastIndex(a.Shape, at)], b.V[broadcastIndex(b.Shape, at)])
	})
	return y
}

// broadcastIndex is the element of a tensor of the given shape that meets index at of the result.
func broadcastIndex(shape, at []int) int {
	n, skip := 0, len(at)-len(shape)
	for d, size := range shape {
		n *= size
		if size != 1 {
			n += at[skip+d]
		}
	}
	return n
}

// Add is a + b with a fused activation.
func Add(a, b *Tensor, act nn.Activation, out Format, ar Arithmetic) *Tensor {
	return sum(a, b, 1, act, out, ar)
}

// Sub is a - b with a fused activation.
func Sub(a, b *Tensor, act nn.Activation, out Format, ar Arithmetic) *Tensor {
	return sum(a, b, -1, act, out, ar)
}

// sum is a + sign*b. int32 wraps around.
func sum(a, b *Tensor, sign float64, act nn.Activation, out Format, ar Arithmetic) *Tensor {
	clamp := clampFor(act, out)
	switch {
	case !out.quantised():
		return broadcast(a, b, out, func(x, y float64) float64 { return clamp(x + sign*y) })
	case ar == Real:
		return broadcast(a, b, out, func(x, y float64) float64 {
			r := (x-float64(a.ZeroPoint))*a.Scale + sign*(y-float64(b.ZeroPoint))*b.Scale
			return clamp(math.Round(r/out.Scale) + float64(out.ZeroPoint))
		})
	}
	// From TFLite kernels/add.cc: both inputs are brought to half the larger scale, with 20 bits to spare.
	const spare = 20
	twice := 2 * max(a.Scale, b.Scale)
	ma, mb := newMultiplier(a.Scale/twice, ar), newMultiplier(b.Scale/twice, ar)
	mo := newMultiplier(twice/((1<<spare)*out.Scale), ar)
	return broadcast(a, b, out, func(x, y float64) float64 {
		sa := ma.apply((int64(x) - int64(a.ZeroPoint)) << spare)
		sb := mb.apply((int64(y) - int64(b.ZeroPoint)) << spare)
		return clamp(float64(mo.apply(sa+int64(sign)*sb)) + float64(out.ZeroPoint))
	})
}

// Mul is a * b with a fused activation. int32 wraps around.
func Mul(a, b *Tensor, act nn.Activation, out Format, ar Arithmetic) *Tensor {
	clamp := clampFor(act, out)
	if !out.quantised() {
		if out.Type.IsFloat() {
			return broadcast(a, b, out, func(x, y float64) float64 { return clamp(x * y) })
		}
		// The product of two int32 needs more than float64's 53 bits.
		return broadcast(a, b, out, func(x, y float64) float64 { return float64(int32(int64(x) * int64(y))) })
	}
	// From TFLite kernels/mul.cc: the scales are multiplied and divided in float32.
	m := newMultiplier(float64(float32(productScale(a, b))/float32(out.Scale)), ar)
	return broadcast(a, b, out, func(x, y float64) float64 {
		q := m.apply((int64(x) - int64(a.ZeroPoint)) * (int64(y) - int64(b.ZeroPoint)))
		return clamp(float64(q) + float64(out.ZeroPoint))
	})
}

// Div is a / b with a fused activation, for float types and int32. int32 rounds toward negative
// infinity; division by zero, which NNAPI leaves undefined, gives 0.
func Div(a, b *Tensor, act nn.Activation, out Format) *Tensor {
	clamp := clampFor(act, out)
	if out.quantised() {
		refuse("DIV of %s", out.Type)
	}
	if out.Type.IsFloat() {
		return broadcast(a, b, out, func(x, y float64) float64 { return clamp(x / y) })
	}
	return broadcast(a, b, out, func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return clamp(math.Floor(x / y))
	})
}

// Maximum is the larger of a and b. Quantised values are compared in the output's quantisation.
func Maximum(a, b *Tensor, out Format) *Tensor {
	return pick(a, b, out, func(x, y float64) float64 { return max(x, y) })
}

// Minimum is the smaller of a and b. Quantised values are compared in the output's quantisation.
func Minimum(a, b *Tensor, out Format) *Tensor {
	return pick(a, b, out, func(x, y float64) float64 { return min(x, y) })
}

func pick(a, b *Tensor, out Format, f func(x, y float64) float64) *Tensor {
	// NNAPI requantises each side in double precision before it compares.
	qa, qb := requantiser(a.Format(), out, Real), requantiser(b.Format(), out, Real)
	return broadcast(a, b, out, func(x, y float64) float64 { return f(qa(x), qb(y)) })
}

// Pow is a to the power of b; float types only.
func Pow(a, b *Tensor, out Format) *Tensor {
	if !out.Type.IsFloat() {
		refuse("POW of %s", out.Type)
	}
	return broadcast(a, b, out, func(x, y float64) float64 { return out.round(math.Pow(x, y)) })
}

// Prelu is x where x >= 0, else alpha * x.
func Prelu(x, alpha *Tensor, out Format, ar Arithmetic) *Tensor {
	if !out.quantised() {
		return broadcast(x, alpha, out, func(v, a float64) float64 {
			if v >= 0 {
				return v
			}
			return out.round(a * v)
		})
	}
	// From TFLite kernels/activations.cc: the scales are combined in double precision.
	pos := newMultiplier(x.Scale/out.Scale, ar)
	neg := newMultiplier(x.Scale*alpha.Scale/out.Scale, ar)
	return broadcast(x, alpha, out, func(v, a float64) float64 {
		v -= float64(x.ZeroPoint)
		q := pos.apply(int64(v))
		if v < 0 {
			q = neg.apply(int64(v * (a - float64(alpha.ZeroPoint))))
		}
		return out.round(float64(q) + float64(out.ZeroPoint))
	})
}

// SquaredDifference is (a - b)^2 with broadcasting, as TFLite has it.
func SquaredDifference(a, b *Tensor, out Format, ar Arithmetic) *Tensor {
	switch {
	case out.Type.IsFloat():
		return broadcast(a, b, out, func(x, y float64) float64 { return out.round((x - y) * (x - y)) })
	case !out.quantised():
		return broadcast(a, b, out, func(x, y float64) float64 {
			d := int64(x) - int64(y)
			return float64(int32(int32(d) * int32(d)))
		})
	case ar == Real:
		return broadcast(a, b, out, func(x, y float64) float64 {
			d := (x-float64(a.ZeroPoint))*a.Scale - (y-float64(b.ZeroPoint))*b.Scale
			return out.quantise(d * d)
		})
	}
	// From TFLite kernels/squared_difference.cc.
	const spare = 7
	twice := 2 * max(a.Scale, b.Scale)
	ma, mb := newMultiplier(a.Scale/twice, ar), newMultiplier(b.Scale/twice, ar)
	mo := newMultiplier(twice*twice/((1<<(2*spare))*out.Scale), ar)
	return broadcast(a, b, out, func(x, y float64) float64 {
		sa := ma.apply((int64(x) - int64(a.ZeroPoint)) << spare)
		sb := mb.apply((int64(y) - int64(b.ZeroPoint)) << spare)
		return out.round(float64(mo.apply((sa-sb)*(sa-sb)) + int64(out.ZeroPoint)))
	})
}
