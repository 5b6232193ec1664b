package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// sweep is a set of arguments and the function they are for.
type sweep struct {
	name  string
	op    nn.OperationType
	x, y  func(r *rand.Rand) float32 // y of binary functions
	f     func(x, y float64) float64
	ulp   float64 // largest error in units of the last place
	extra []float32
}

func between(lo, hi float64) func(*rand.Rand) float32 {
	return func(r *rand.Rand) float32 { return float32(lo + (hi-lo)*r.Float64()) }
}

// anyNormal has all exponents alike.
func anyNormal(r *rand.Rand) float32 {
	return math.Float32frombits(r.Uint32N(2)<<31 | (1+r.Uint32N(254))<<23 | r.Uint32N(1<<23))
}

func positive(r *rand.Rand) float32 { return float32(math.Abs(float64(anyNormal(r)))) }

func integer(lo, hi int) func(*rand.Rand) float32 {
	return func(r *rand.Rand) float32 { return float32(lo + r.IntN(hi-lo+1)) }
}

var (
	inf, nan = float32(math.Inf(1)), float32(math.NaN())
	corners  = []float32{0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 88.72283, 88.72284, 89, -87.3, -104, 1e30, -1e30, math.MaxFloat32, -math.MaxFloat32, inf, -inf, nan}
)

// The limits are those that shaders/include/math.glsl states. Nothing is asked of the place where sine
// crosses zero far out but the absolute error.
var sweeps = []sweep{
	{name: "exp", op: nn.OpExp, x: between(-110, 95), f: func(x, _ float64) float64 { return math.Exp(x) }, ulp: 2, extra: corners},
	{name: "exp near 0", op: nn.OpExp, x: between(-1, 1), f: func(x, _ float64) float64 { return math.Exp(x) }, ulp: 2},
	{name: "log", op: nn.OpLog, x: positive, f: func(x, _ float64) float64 { return math.Log(x) }, ulp: 1, extra: corners},
	{name: "log near 1", op: nn.OpLog, x: between(0.5, 2), f: func(x, _ float64) float64 { return math.Log(x) }, ulp: 1},
	{name: "sin", op: nn.OpSin, x: between(-8, 8), f: func(x, _ float64) float64 { return math.Sin(x) }, ulp: 2},
	{name: "sin far", op: nn.OpSin, x: between(-1e5, 1e5), f: func(x, _ float64) float64 { return math.Sin(x) }},
	{name: "sin very far", op: nn.OpSin, x: between(-6e6, 6e6), f: func(x, _ float64) float64 { return math.Sin(x) }},
	{name: "tanh", op: nn.OpTanh, x: between(-12, 12), f: func(x, _ float64) float64 { return math.Tanh(x) }, ulp: 2, extra: corners},
	{name: "tanh anywhere", op: nn.OpTanh, x: anyNormal, f: func(x, _ float64) float64 { return math.Tanh(x) }, ulp: 2},
	{name: "logistic", op: nn.OpLogistic, x: between(-80, 80), f: func(x, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }, ulp: 4, extra: corners},
	{name: "sqrt", op: nn.OpSqrt, x: positive, f: func(x, _ float64) float64 { return math.Sqrt(x) }, ulp: 3, extra: corners},
	{name: "rsqrt", op: nn.OpRsqrt, x: positive, f: func(x, _ float64) float64 { return 1 / math.Sqrt(x) }, ulp: 3},
	{name: "elu", op: nn.OpElu, x: between(-25, 3), f: func(x, _ float64) float64 {
		if x >= 0 {
			return x
		}
		return math.Expm1(x)
	}, ulp: 2, extra: corners},
	{name: "hard swish", op: nn.OpHardSwish, x: between(-5, 5), f: func(x, _ float64) float64 { return x * min(max(x+3, 0), 6) / 6 }},
	{name: "relu6", op: nn.OpRelu6, x: anyNormal, f: func(x, _ float64) float64 { return min(max(x, 0), 6) }, ulp: 0.5, extra: corners},
	{name: "div", op: nn.OpDiv, x: anyNormal, y: between(0.001, 1000), f: func(x, y float64) float64 { return x / y }, ulp: 3},
	{name: "pow", op: nn.OpPow, x: between(0, 10), y: between(-10, 10), f: math.Pow, ulp: 2},
	{name: "pow anywhere", op: nn.OpPow, x: positive, y: between(-2, 2), f: math.Pow, ulp: 2},
	{name: "pow of integers", op: nn.OpPow, x: between(-10, 10), y: integer(-20, 20), f: math.Pow, ulp: 2, extra: []float32{0, -1, 1, inf, nan, 2}},
	{name: "pow near 1", op: nn.OpPow, x: between(0.98, 1.02), y: between(-4000, 4000), f: math.Pow, ulp: 2},
	{name: "fractional pow below 0", op: nn.OpPow, x: between(-3, -0.01), y: between(-9, 9), f: math.Pow, ulp: 2, extra: []float32{-inf}},
	{name: "pow beyond the range", op: nn.OpPow, x: positive, y: between(-1e6, 1e6), f: math.Pow, ulp: 2},
}

// TestMath compares the functions of shaders/include/math.glsl with float64: within NNAPI's tolerance for
// float32 everywhere, and within the stated number of units of the last place.
func TestMath(t *testing.T) {
	const count = 1 << 16
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, s := range sweeps {
			t.Run(s.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				x, y := make([]float32, count), make([]float32, count)
				for i := range x {
					x[i] = s.x(r)
					if s.y != nil {
						y[i] = s.y(r)
					}
				}
				copy(x, s.extra)
				tensor := ir.Tensor{Type: nn.TensorFloat32, Shape: []int{count}}
				n := ir.Node{Op: s.op}
				if s.op == nn.OpElu {
					n.Attrs = ops.Elu{Alpha: 1}
				}
				var got []float32
				if s.y == nil {
					got = f32OfBytes(runGraph(t, d, singleNode(n, tensor, tensor), bytesOfF32(x))[0])
				} else {
					got = f32OfBytes(runGraph(t, d, singleNode(n, tensor, tensor, tensor), bytesOfF32(x), bytesOfF32(y))[0])
				}
				bad := 0
				for i := range x {
					want := s.f(float64(x[i]), float64(y[i]))
					if !closeTo(float64(got[i]), want, s.ulp) {
						t.Errorf("of %v, %v: %v, want %v", x[i], y[i], got[i], want)
						if bad++; bad == 5 {
							return
						}
					}
				}
			})
		}
	})
}

// closeTo applies NNAPI's tolerance and, if ulp is not 0, a limit in units of the last place. Results
// below the normal range may be 0; those beyond float32 are infinite.
func closeTo(got, want, ulp float64) bool {
	const smallest, largest = 0x1p-126, math.MaxFloat32
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case math.Abs(want) > largest*(1+1e-6):
		return math.IsInf(got, int(math.Copysign(1, want)))
	case math.Abs(want) >= largest*(1-1e-6): // one or the other
		return math.Abs(got) >= largest*(1-1e-6) && math.Signbit(got) == math.Signbit(want)
	case math.Abs(want) < smallest*2:
		return math.Abs(got) <= smallest*3
	}
	diff := math.Abs(got - want)
	if ulp > 0 && diff > ulp*math.Ldexp(1, math.Ilogb(want)-23) {
		return false
	}
	return diff <= 1e-5+6e-7*math.Abs(want)
}
