package interpret

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/nngpu/nngpu/driver/nn"
)

// compute executes an instruction whose result depends on values only.
func (s *state) compute(op uint16, w []uint32) error {
	to := s.reg(w[2])
	switch op {
	case opUndef:
		return nil
	case opExtInst:
		return s.extended(w)
	case opVectorExtractDynamic:
		v, k := s.reg(w[3]), s.reg(w[4])[0]
		if int64(k) >= int64(len(v)) {
			return s.fault("takes component %d of %d", k, len(v))
		}
		to[0] = v[k]
	case opVectorShuffle:
		both := append(append([]uint32(nil), s.reg(w[3])...), s.reg(w[4])...)
		for k, c := range w[5:] {
			if int(c) < len(both) {
				to[k] = both[c]
			}
		}
	case opCompositeConstruct:
		at := 0
		for _, id := range w[3:] {
			at += copy(to[at:], s.reg(id))
		}
	case opCompositeExtract:
		copy(to, s.part(s.reg(w[3]), s.typeOf[w[3]], w[4:]))
	case opCompositeInsert:
		copy(to, s.reg(w[4]))
		copy(s.part(to, w[1], w[5:]), s.reg(w[3]))
	case opSelect:
		cond, a, b := s.reg(w[3]), s.reg(w[4]), s.reg(w[5])
		for k := range to {
			to[k] = b[k]
			if cond[min(k, len(cond)-1)] != 0 {
				to[k] = a[k]
			}
		}
	case opUMulExtended, opSMulExtended:
		a, b := s.reg(w[3]), s.reg(w[4])
		for k := range a {
			v := uint64(a[k]) * uint64(b[k])
			if op == opSMulExtended {
				v = uint64(int64(int32(a[k])) * int64(int32(b[k])))
			}
			to[k], to[len(a)+k] = uint32(v), uint32(v>>32)
		}
	case opIAddCarry, opISubBorrow:
		a, b := s.reg(w[3]), s.reg(w[4])
		for k := range a {
			v := uint64(a[k]) + uint64(b[k])
			if op == opISubBorrow {
				v = uint64(a[k]) - uint64(b[k])
			}
			to[k], to[len(a)+k] = uint32(v), uint32(v>>32)&1
		}
	case opDot:
		var sum float32
		a, b := s.reg(w[3]), s.reg(w[4])
		for k := range a {
			sum += math.Float32frombits(a[k]) * math.Float32frombits(b[k])
		}
		to[0] = math.Float32bits(sum)
	case opAny, opAll:
		any, all := uint32(0), uint32(1)
		for _, v := range s.reg(w[3]) {
			any, all = any|v, all&v
		}
		to[0] = any
		if op == opAll {
			to[0] = all
		}
	case opVectorTimesScalar:
		f := math.Float32frombits(s.reg(w[4])[0])
		for k, v := range s.reg(w[3]) {
			to[k] = math.Float32bits(math.Float32frombits(v) * f)
		}
	case opSUDot:
		a, b := s.reg(w[3])[0], s.reg(w[4])[0]
		sum := int32(0)
		for k := 0; k < 32; k += 8 {
			sum += int32(int8(a>>k)) * int32(uint8(b>>k))
		}
		to[0] = uint32(sum)
	default:
		return s.lanes(op, to, w[3:])
	}
	return nil
}

// part returns the words of a member of a composite value.
func (s *state) part(words []uint32, t uint32, path []uint32) []uint32 {
	for _, k := range path {
		c := &s.types[t]
		at := 0
		if c.kind == opTypeStruct {
			for _, member := range c.members[:k] {
				at += s.types[member].words
			}
			t = c.members[k]
		} else {
			t = c.element
			at = int(k) * s.types[t].words
		}
		words = words[at : at+s.types[t].words]
	}
	return words
}

// lanes executes an instruction that works on each component by itself.
func (s *state) lanes(op uint16, to []uint32, operands []uint32) error {
	a := s.reg(operands[0])
	if len(operands) == 1 {
		for k := range to {
			v, ok := single(op, a[k])
			if !ok {
				return fmt.Errorf("%v: opcode %d is not known", s.kernel, op)
			}
			to[k] = v
		}
		return nil
	}
	b := s.reg(operands[1])
	for k := range to {
		switch op {
		case opUDiv, opUMod:
			if b[k] == 0 {
				return s.fault("divides %d by zero", a[k])
			}
		case opSDiv, opSRem, opSMod:
			if b[k] == 0 || a[k] == 1<<31 && b[k] == math.MaxUint32 {
				return s.fault("divides %d by %d", int32(a[k]), int32(b[k]))
			}
		case opShiftLeftLogical, opShiftRightArithmetic, opShiftRightLogical:
			if b[k] > 31 {
				return s.fault("shifts by %d", int32(b[k]))
			}
		}
		v, ok := double(op, a[k], b[k])
		if !ok {
			return fmt.Errorf("%v: opcode %d is not known", s.kernel, op)
		}
		to[k] = v
	}
	return nil
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// toInt is what x86 gives for a float that no integer holds.
func toInt(f float32) uint32 {
	if f >= -1<<31 && f < 1<<31 {
		return uint32(int32(f))
	}
	return 1 << 31
}

func toUint(f float32) uint32 {
	if f > -1 && f < 1<<32 {
		return uint32(int64(f))
	}
	return math.MaxUint32
}

func single(op uint16, a uint32) (uint32, bool) {
	f := math.Float32frombits(a)
	switch op {
	case opBitcast:
		return a, true
	case opConvertFToS:
		return toInt(f), true
	case opConvertFToU:
		return toUint(f), true
	case opConvertSToF:
		return math.Float32bits(float32(int32(a))), true
	case opConvertUToF:
		return math.Float32bits(float32(a)), true
	case opSNegate:
		return -a, true
	case opFNegate:
		return a ^ 1<<31, true
	case opNot:
		return ^a, true
	case opLogicalNot:
		return a ^ 1, true
	case opIsNan:
		return truth(f != f), true
	case opIsInf:
		return truth(math.IsInf(float64(f), 0)), true
	}
	return 0, false
}

func double(op uint16, a, b uint32) (uint32, bool) {
	switch op {
	case opIAdd:
		return a + b, true
	case opISub:
		return a - b, true
	case opIMul:
		return a * b, true
	case opUDiv:
		return a / b, true
	case opUMod:
		return a % b, true
	case opSDiv:
		return uint32(int32(a) / int32(b)), true
	case opSRem:
		return uint32(int32(a) % int32(b)), true
	case opSMod: // with the sign of b
		x, y := int64(int32(a)), int64(int32(b))
		return uint32((x%y + y) % y), true
	case opShiftLeftLogical:
		return a << b, true
	case opShiftRightLogical:
		return a >> b, true
	case opShiftRightArithmetic:
		return uint32(int32(a) >> b), true
	case opBitwiseOr, opLogicalOr:
		return a | b, true
	case opBitwiseAnd, opLogicalAnd:
		return a & b, true
	case opBitwiseXor:
		return a ^ b, true
	case opIEqual, opLogicalEqual:
		return truth(a == b), true
	case opINotEqual, opLogicalNotEqual:
		return truth(a != b), true
	case opUGreaterThan:
		return truth(a > b), true
	case opUGreaterThanEqual:
		return truth(a >= b), true
	case opULessThan:
		return truth(a < b), true
	case opULessThanEqual:
		return truth(a <= b), true
	case opSGreaterThan:
		return truth(int32(a) > int32(b)), true
	case opSGreaterThanEqual:
		return truth(int32(a) >= int32(b)), true
	case opSLessThan:
		return truth(int32(a) < int32(b)), true
	case opSLessThanEqual:
		return truth(int32(a) <= int32(b)), true
	}
	return doubleFloat(op, math.Float32frombits(a), math.Float32frombits(b))
}

func doubleFloat(op uint16, a, b float32) (uint32, bool) {
	switch op {
	case opFAdd:
		return math.Float32bits(a + b), true
	case opFSub:
		return math.Float32bits(a - b), true
	case opFMul:
		return math.Float32bits(a * b), true
	case opFDiv:
		return math.Float32bits(a / b), true
	case opFOrdEqual:
		return truth(a == b), true
	case opFOrdNotEqual:
		return truth(a < b || a > b), true
	case opFUnordNotEqual:
		return truth(a != b), true
	case opFOrdLessThan:
		return truth(a < b), true
	case opFOrdGreaterThan:
		return truth(a > b), true
	case opFOrdLessThanEqual:
		return truth(a <= b), true
	case opFOrdGreaterThanEqual:
		return truth(a >= b), true
	}
	return 0, false
}

// extended executes an instruction of GLSL.std.450.
func (s *state) extended(w []uint32) error {
	to, op := s.reg(w[2]), w[4]
	var x [3][]uint32
	for k, id := range w[5:] {
		x[k] = s.reg(id)
	}
	switch op {
	case extPackHalf2x16:
		low, high := nn.HalfOf(math.Float32frombits(x[0][0])), nn.HalfOf(math.Float32frombits(x[0][1]))
		to[0] = uint32(low) | uint32(high)<<16
		return nil
	case extUnpackHalf2x16:
		to[0] = math.Float32bits(nn.Half(x[0][0]).Float32())
		to[1] = math.Float32bits(nn.Half(x[0][0] >> 16).Float32())
		return nil
	}
	for k := range to {
		var v [3]uint32
		for j := range w[5:] {
			v[j] = x[j][k]
		}
		r, ok := function(op, v[0], v[1], v[2])
		if !ok {
			return fmt.Errorf("%v: extended instruction %d is not known", s.kernel, op)
		}
		to[k] = r
	}
	return nil
}

func function(op, x, y, z uint32) (uint32, bool) {
	switch op {
	case extSAbs:
		return uint32(max(int32(x), -int32(x))), true
	case extFindUMsb:
		return uint32(bits.Len32(x) - 1), true
	case extFindSMsb:
		return uint32(bits.Len32(x^uint32(int32(x)>>31)) - 1), true
	case extUMin:
		return min(x, y), true
	case extUMax:
		return max(x, y), true
	case extUClamp:
		return min(max(x, y), z), true
	case extSMin:
		return uint32(min(int32(x), int32(y))), true
	case extSMax:
		return uint32(max(int32(x), int32(y))), true
	case extSClamp:
		return uint32(min(max(int32(x), int32(y)), int32(z))), true
	}
	a, b, c := math.Float32frombits(x), math.Float32frombits(y), math.Float32frombits(z)
	d := float64(a)
	var r float32
	switch op {
	case extRoundEven:
		r = float32(math.RoundToEven(d))
	case extTrunc:
		r = float32(math.Trunc(d))
	case extFAbs:
		r = float32(math.Abs(d))
	case extFSign:
		r = float32(truth(a > 0)) - float32(truth(a < 0))
	case extFloor:
		r = float32(math.Floor(d))
	case extCeil:
		r = float32(math.Ceil(d))
	case extExp:
		r = float32(math.Exp(d))
	case extSqrt:
		r = float32(math.Sqrt(d))
	case extInverseSqrt:
		r = float32(1 / math.Sqrt(d))
	case extFMin:
		r = min(a, b)
	case extFMax:
		r = max(a, b)
	case extFClamp:
		r = min(max(a, b), c)
	case extFMix:
		r = a*(1-c) + b*c
	case extFma:
		r = float32(math.FMA(d, float64(b), float64(c)))
	default:
		return 0, false
	}
	return math.Float32bits(r), true
}
