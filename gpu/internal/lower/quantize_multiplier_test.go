package lower

import (
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestQuantizeMultiplier(t *testing.T) {
	for _, tc := range []struct {
		real       float64
		multiplier int32
		shift      int
	}{
		{1, 1 << 30, 1},
		{0.5, 1 << 30, 0},
		{0.25, 1 << 30, -1},
		{0.75, 3 << 29, 0},
		{3, 3 << 29, 2},
		{math.Ldexp(1, -31), 1 << 30, -30},
		{math.Ldexp(1, -33), 0, 0}, // underflows
		{math.Ldexp(1, 40), math.MaxInt32, 30},
		{1 - math.Ldexp(1, -40), 1 << 30, 1}, // rounds up to a power of two
		{0, 0, 0},
		{-1, 0, 0},
		{math.NaN(), 0, 0},
		{math.Inf(1), 0, 0},
	} {
		m, s := quantizeMultiplier(tc.real)
		if m != tc.multiplier || s != tc.shift {
			t.Errorf("%v: %d, %d; want %d, %d", tc.real, m, s, tc.multiplier, tc.shift)
		}
	}
	if got := pushMultiplier(0.25); got != [3]uint32{1 << 30, 0, 1} {
		t.Errorf("push words %v", got)
	}
	if got := pushMultiplier(3); got != [3]uint32{3 << 29, 2, 0} {
		t.Errorf("push words %v", got)
	}
}

func TestRequantize(t *testing.T) {
	for _, real := range []float64{1, 0.5, 0.3, 1.0 / 256, 0.0011, 7.25, 100} {
		m, s := quantizeMultiplier(real)
		for x := int32(-70000); x <= 70000; x += 7 {
			got, want := requantize(x, m, s), float64(x)*real
			// Rounding twice adds up to a quarter.
			if math.Abs(float64(got)-want) > 0.7500001 {
				t.Fatalf("%d * %v = %d", x, real, got)
			}
		}
	}
	// Ties: the product rounds halves up, the shift rounds them away from zero.
	for _, tc := range [][3]int32{{3, 0, 2}, {-3, 0, -1}, {2, -1, 1}, {-2, -1, -1}, {6, -1, 2}, {-6, -1, -2}} {
		if got := requantize(tc[0], 1<<30, int(tc[1])); got != tc[2] {
			t.Errorf("%d with shift %d: %d, want %d", tc[0], tc[1], got, tc[2])
		}
	}
}

func TestQuantRange(t *testing.T) {
	for _, tc := range []struct {
		typ    nn.OperandType
		scale  float32
		zero   int32
		act    nn.Activation
		lo, hi int32
	}{
		{nn.TensorQuant8Asymm, 0.1, 20, nn.ActNone, 0, 255},
		{nn.TensorQuant8Asymm, 0.1, 20, nn.ActRelu, 20, 255},
		{nn.TensorQuant8Asymm, 0.1, 20, nn.ActRelu1, 10, 30},
		{nn.TensorQuant8Asymm, 0.1, 20, nn.ActRelu6, 20, 80},
		{nn.TensorQuant8Asymm, 0.01, 20, nn.ActRelu6, 20, 255},
		{nn.TensorQuant8AsymmSigned, 0.1, -10, nn.ActNone, -128, 127},
		{nn.TensorQuant8AsymmSigned, 0.1, -10, nn.ActRelu, -10, 127},
		{nn.TensorQuant8AsymmSigned, 0.05, -128, nn.ActRelu6, -128, -8},
		{nn.TensorQuant8AsymmSigned, 1e-30, 0, nn.ActRelu6, 0, 127},
	} {
		lo, hi := quantRange(&ir.Tensor{Type: tc.typ, Scale: tc.scale, Zero: tc.zero}, tc.act)
		if lo != tc.lo || hi != tc.hi {
			t.Errorf("%v scale %v zero %d %v: [%d, %d], want [%d, %d]", tc.typ, tc.scale, tc.zero, tc.act, lo, hi, tc.lo, tc.hi)
		}
	}
}
