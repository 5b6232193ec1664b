package pack

import (
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestMultiplier(t *testing.T) {
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
		m, s := Multiplier(tc.real)
		if m != tc.multiplier || s != tc.shift {
			t.Errorf("%v: %d, %d; want %d, %d", tc.real, m, s, tc.multiplier, tc.shift)
		}
	}
	if got := MultiplierWords(0.25); got != [3]uint32{1 << 30, 0, 1} {
		t.Errorf("push words %v", got)
	}
	if got := MultiplierWords(3); got != [3]uint32{3 << 29, 2, 0} {
		t.Errorf("push words %v", got)
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
		lo, hi := QuantRange(&ir.Tensor{Type: tc.typ, Scale: tc.scale, Zero: tc.zero}, tc.act)
		if lo != tc.lo || hi != tc.hi {
			t.Errorf("%v scale %v zero %d %v: [%d, %d], want [%d, %d]", tc.typ, tc.scale, tc.zero, tc.act, lo, hi, tc.lo, tc.hi)
		}
	}
}

func TestBounds(t *testing.T) {
	half := ir.Tensor{Type: nn.TensorFloat16}
	bytes := ir.Tensor{Type: nn.TensorQuant8AsymmSigned, Scale: 0.1, Zero: -10}
	for _, tc := range []struct {
		t    ir.Tensor
		act  nn.Activation
		want [2]uint32
	}{
		{half, nn.ActRelu6, [2]uint32{0, math.Float32bits(6)}},
		{half, nn.ActNone, [2]uint32{0xff800000, 0x7f800000}},
		{bytes, nn.ActRelu6, [2]uint32{0xfffffff6, 50}},
		{bytes, nn.ActNone, [2]uint32{0xffffff80, 127}},
	} {
		if got := Bounds(&tc.t, tc.act); [2]uint32(got) != tc.want {
			t.Errorf("%v %v: %x, want %x", tc.t.Type, tc.act, got, tc.want)
		}
	}
}
