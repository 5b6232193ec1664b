package quantize

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
)

func TestRangeParams(t *testing.T) {
	for _, tc := range []struct {
		lo, hi float32
		zero   int32
	}{
		{0, 6, -128},
		{-1, 0, 127},
		{-1, 1, 0},
		{2, 5, -128}, // widened to 0
		{0, 0, -128},
	} {
		p := rangeParams(tc.lo, tc.hi)
		require.InDelta(t, tc.zero, p.Zero, 1, "%v..%v", tc.lo, tc.hi)
		require.Equal(t, int8(p.Zero), p.Quantize(0), "0 is exact")
	}
	p := rangeParams(-3, 9)
	for _, x := range []float32{-3, -0.7, 0, 4.4, 9} {
		got := p.Scale * float32(int32(p.Quantize(x))-p.Zero)
		require.InDelta(t, x, got, float64(p.Scale)*0.51)
	}
	require.Equal(t, int8(127), p.Quantize(1e9))
	require.Equal(t, int8(-128), p.Quantize(-1e9))
}

func TestMultiplier(t *testing.T) {
	for _, real := range []float64{1, 0.5, 0.3, 1.0 / 3, 0.0007, 1.9, 7.25} {
		m := newMultiplier(real)
		require.GreaterOrEqual(t, m.value, int32(1<<30))
		for _, x := range []int32{0, 1, -1, 5, -5, 1000, -1001, 123456, -654321} {
			require.InDelta(t, float64(x)*real, float64(m.apply(x)), 1, "%v * %v", x, real)
		}
	}
	require.Equal(t, multiplier{}, newMultiplier(1e-20))
	require.Equal(t, multiplier{1 << 30, 1}, newMultiplier(1))
}

// TestRoundings has values worked out by hand from gemmlowp's definitions.
func TestRoundings(t *testing.T) {
	for _, tc := range []struct {
		x    int32
		by   int
		want int32
	}{{5, 1, 3}, {-5, 1, -3}, {4, 3, 1}, {-4, 3, -1}, {3, 3, 0}, {-3, 3, 0}, {7, 0, 7}} {
		require.Equal(t, tc.want, roundingShiftRight(tc.x, tc.by), "%d >> %d", tc.x, tc.by)
	}
	for _, tc := range []struct{ a, b, want int32 }{
		{1, 1 << 30, 1}, {-1, 1 << 30, 0}, {3, 1 << 30, 2}, {-3, 1 << 30, -1}, {math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
	} {
		require.Equal(t, tc.want, doublingHighMul(tc.a, tc.b), "%d * %d", tc.a, tc.b)
	}
	// 0.49: the first rounding makes 0.98 a 1, the second turns its half into 1, where one rounding would give 0.
	require.Equal(t, int32(1), newMultiplier(0.49).apply(1))
	require.Equal(t, int32(-1), newMultiplier(0.49).apply(-1))
}

// TestQuantizedFollowsFloat compares integer and float logits of a random network.
func TestQuantizedFollowsFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	in := convnet.Shape{H: 9, W: 7, C: 1}
	conv := convnet.NewConv(in, 3, 5, rng)
	pool := convnet.NewMaxPool(conv.Out())
	hidden := convnet.NewDense(pool.Out(), 13, true, rng)
	net, err := convnet.New(conv, pool, hidden, convnet.NewDense(hidden.Out(), 4, false, rng))
	require.NoError(t, err)
	var samples []convnet.Sample
	for range 100 {
		x := make([]float32, in.Len())
		for i := range x {
			x[i] = -float32(rng.IntN(256)) / 255
		}
		samples = append(samples, convnet.Sample{X: x})
	}
	input := Params{Scale: 1.0 / 255, Zero: 127}
	q, err := Quantize(net, input, samples)
	require.NoError(t, err)
	require.Len(t, q.Layers, 4)
	require.Equal(t, q.Layers[0].Output(), q.Layers[1].Output(), "pooling keeps the scale")
	require.Len(t, q.Layers[0].(*Conv).Scales, 5)
	require.Len(t, q.Layers[2].(*Dense).Scales, 1)

	out := q.Layers[3].Output()
	w := convnet.NewWorkspace(net)
	for _, s := range samples {
		float := w.Forward(s.X)
		for i, v := range q.Forward(s.X) {
			require.InDelta(t, float[i], out.Scale*float32(int32(v)-out.Zero), 8*float64(out.Scale))
		}
	}
}

func TestQuantizeRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := convnet.New(convnet.NewDense(convnet.Shape{H: 1, W: 1, C: 2}, 2, false, rng))
	require.NoError(t, err)
	_, err = Quantize(net, Params{Scale: 1}, nil)
	require.ErrorContains(t, err, "calibration")
}
