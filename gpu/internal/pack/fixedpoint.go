package pack

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// Multiplier returns the fixed-point form of a real multiplier >= 0: multiplier * 2^(shift-31), with multiplier in
// [2^30, 2^31) or 0. A positive shift goes left. The numbers are those of TensorFlow Lite's QuantizeMultiplier; a
// factor beyond 2^30 saturates there and here.
func Multiplier(real float64) (multiplier int32, shift int) {
	if !(real > 0) || math.IsInf(real, 1) {
		return 0, 0
	}
	q, shift := math.Frexp(real)
	fixed := int64(math.Round(q * (1 << 31)))
	if fixed == 1<<31 {
		fixed /= 2
		shift++
	}
	switch {
	case shift < -31:
		return 0, 0
	case shift > 30:
		return math.MaxInt32, 30
	}
	return int32(fixed), shift
}

// MultiplierWords returns Multiplier as the three words multiplier, left shift and right shift that
// shaders/include/fixedpoint.glsl takes.
func MultiplierWords(real float64) [3]uint32 {
	m, shift := Multiplier(real)
	return [3]uint32{uint32(m), uint32(max(shift, 0)), uint32(max(-shift, 0))}
}

// TypeRange returns the least and the largest integer of a quantised or integer type.
func TypeRange(t nn.OperandType) (lo, hi int32) {
	switch t {
	case nn.TensorQuant8Asymm, nn.TensorBool8, nn.Bool:
		return 0, 255
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel:
		return -128, 127
	case nn.TensorQuant16Symm:
		return math.MinInt16, math.MaxInt16
	case nn.TensorQuant16Asymm:
		return 0, math.MaxUint16
	}
	return math.MinInt32, math.MaxInt32
}

// QuantRange returns the bounds that a fused activation sets on the stored integers of the quantised
// tensor t; without one they are those of the type. As TensorFlow Lite's CalculateActivationRangeQuantized.
func QuantRange(t *ir.Tensor, act nn.Activation) (lo, hi int32) {
	lo, hi = TypeRange(t.Type)
	quantize := func(x float64) int32 {
		// The reference divides and rounds in float32.
		q := math.Round(float64(float32(x)/t.Scale)) + float64(t.Zero)
		return int32(min(max(q, float64(lo)), float64(hi)))
	}
	switch act {
	case nn.ActRelu:
		lo = quantize(0)
	case nn.ActRelu1:
		lo, hi = quantize(-1), quantize(1)
	case nn.ActRelu6:
		lo, hi = quantize(0), quantize(6)
	}
	return lo, hi
}

// FloatRange returns the bounds that a fused activation sets on floats; infinite ones where it sets none,
// so that clamping changes nothing.
func FloatRange(act nn.Activation) (lo, hi float64) {
	switch act {
	case nn.ActRelu:
		return 0, math.Inf(1)
	case nn.ActRelu1:
		return -1, 1
	case nn.ActRelu6:
		return 0, 6
	}
	return math.Inf(-1), math.Inf(1)
}

// SignOffset is the push constant that tells kernels the signedness of an 8-bit tensor: 0 for unsigned
// elements, 128 for signed ones.
func SignOffset(t nn.OperandType) uint32 {
	if t == nn.TensorQuant16Symm {
		return 0x8000
	}
	if lo, _ := TypeRange(t); lo < 0 {
		return 128
	}
	return 0
}

// Bounds are the push constants of the bounds that a fused activation sets on the elements of t: stored integers of a
// quantised tensor, floats of any other.
func Bounds(t *ir.Tensor, act nn.Activation) []uint32 {
	if t.Type.IsQuant8() {
		lo, hi := QuantRange(t, act)
		return []uint32{uint32(lo), uint32(hi)}
	}
	lo, hi := FloatRange(act)
	return []uint32{math.Float32bits(float32(lo)), math.Float32bits(float32(hi))}
}
