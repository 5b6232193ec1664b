package interpret

import (
	"math"
	"math/bits"

	"github.com/nngpu/nngpu/driver/nn"
)

// compute executes an instruction whose result depends on values only.
func (s *state) compute(op uint16, w []uint32) {
	to := s.reg(w[2])
	switch op {
	case opUndef:
	case opExtInst:
		s.extended(w)
	case opVectorExtractDynamic:
		v, k := s.reg(w[3]), s.reg(w[4])[0]
		if int64(k) >= int64(len(v)) {
			s.fault("takes component %d of %d", k, len(v))
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
	case opQuadSwap: // an invocation runs by itself; nobody makes an address of what its neighbours have
		copy(to, s.reg(w[4]))
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
		s.lanes(op, to, w[3:])
	}
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
func (s *state) lanes(op uint16, to []uint32, operands []uint32) {
	a := s.reg(operands[0])
	if len(operands) == 1 {
		f := singles[op]
		if f == nil {
			s.unknown(op)
		}
		for k := range to {
			to[k] = f(a[k])
		}
		return
	}
	b, f := s.reg(operands[1]), doubles[op]
	if f == nil {
		s.unknown(op)
	}
	for k := range to {
		switch op {
		case opUDiv, opUMod:
			if b[k] == 0 {
				s.fault("divides %d by zero", a[k])
			}
		case opSDiv, opSRem, opSMod:
			if b[k] == 0 || a[k] == 1<<31 && b[k] == math.MaxUint32 {
				s.fault("divides %d by %d", int32(a[k]), int32(b[k]))
			}
		case opShiftLeftLogical, opShiftRightArithmetic, opShiftRightLogical:
			if b[k] > 31 {
				s.fault("shifts by %d", int32(b[k]))
			}
		}
		to[k] = f(a[k], b[k])
	}
}

func (s *state) unknown(op uint16) { s.fail("opcode %d is not known", op) }

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

// singles are the instructions of one operand.
var singles = map[uint16]func(a uint32) uint32{
	opBitcast:     func(a uint32) uint32 { return a },
	opConvertFToS: func(a uint32) uint32 { return toInt(math.Float32frombits(a)) },
	opConvertFToU: func(a uint32) uint32 { return toUint(math.Float32frombits(a)) },
	opConvertSToF: func(a uint32) uint32 { return math.Float32bits(float32(int32(a))) },
	opConvertUToF: func(a uint32) uint32 { return math.Float32bits(float32(a)) },
	opSNegate:     func(a uint32) uint32 { return -a },
	opFNegate:     func(a uint32) uint32 { return a ^ 1<<31 },
	opNot:         func(a uint32) uint32 { return ^a },
	opLogicalNot:  func(a uint32) uint32 { return a ^ 1 },
	opIsNan:       func(a uint32) uint32 { return truth(math.IsNaN(float64(math.Float32frombits(a)))) },
	opIsInf:       func(a uint32) uint32 { return truth(math.IsInf(float64(math.Float32frombits(a)), 0)) },
}

// doubles are those of two.
var doubles = map[uint16]func(a, b uint32) uint32{
	opIAdd: func(a, b uint32) uint32 { return a + b },
	opISub: func(a, b uint32) uint32 { return a - b },
	opIMul: func(a, b uint32) uint32 { return a * b },
	opUDiv: func(a, b uint32) uint32 { return a / b },
	opUMod: func(a, b uint32) uint32 { return a % b },
	opSDiv: func(a, b uint32) uint32 { return uint32(int32(a) / int32(b)) },
	opSRem: func(a, b uint32) uint32 { return uint32(int32(a) % int32(b)) },
	opSMod: func(a, b uint32) uint32 { // with the sign of b
		x, y := int64(int32(a)), int64(int32(b))
		return uint32((x%y + y) % y)
	},
	opShiftLeftLogical:     func(a, b uint32) uint32 { return a << b },
	opShiftRightLogical:    func(a, b uint32) uint32 { return a >> b },
	opShiftRightArithmetic: func(a, b uint32) uint32 { return uint32(int32(a) >> b) },
	opBitwiseOr:            func(a, b uint32) uint32 { return a | b },
	opLogicalOr:            func(a, b uint32) uint32 { return a | b },
	opBitwiseAnd:           func(a, b uint32) uint32 { return a & b },
	opLogicalAnd:           func(a, b uint32) uint32 { return a & b },
	opBitwiseXor:           func(a, b uint32) uint32 { return a ^ b },
	opIEqual:               func(a, b uint32) uint32 { return truth(a == b) },
	opLogicalEqual:         func(a, b uint32) uint32 { return truth(a == b) },
	opINotEqual:            func(a, b uint32) uint32 { return truth(a != b) },
	opLogicalNotEqual:      func(a, b uint32) uint32 { return truth(a != b) },
	opUGreaterThan:         func(a, b uint32) uint32 { return truth(a > b) },
	opUGreaterThanEqual:    func(a, b uint32) uint32 { return truth(a >= b) },
	opULessThan:            func(a, b uint32) uint32 { return truth(a < b) },
	opULessThanEqual:       func(a, b uint32) uint32 { return truth(a <= b) },
	opSGreaterThan:         func(a, b uint32) uint32 { return truth(int32(a) > int32(b)) },
	opSGreaterThanEqual:    func(a, b uint32) uint32 { return truth(int32(a) >= int32(b)) },
	opSLessThan:            func(a, b uint32) uint32 { return truth(int32(a) < int32(b)) },
	opSLessThanEqual:       func(a, b uint32) uint32 { return truth(int32(a) <= int32(b)) },
	opFAdd:                 floats(func(a, b float32) float32 { return a + b }),
	opFSub:                 floats(func(a, b float32) float32 { return a - b }),
	opFMul:                 floats(func(a, b float32) float32 { return a * b }),
	opFDiv:                 floats(func(a, b float32) float32 { return a / b }),
	opFOrdEqual:            test(func(a, b float32) bool { return a == b }),
	opFOrdNotEqual:         test(func(a, b float32) bool { return a < b || a > b }),
	opFUnordNotEqual:       test(func(a, b float32) bool { return a != b }),
	opFOrdLessThan:         test(func(a, b float32) bool { return a < b }),
	opFOrdGreaterThan:      test(func(a, b float32) bool { return a > b }),
	opFOrdLessThanEqual:    test(func(a, b float32) bool { return a <= b }),
	opFOrdGreaterThanEqual: test(func(a, b float32) bool { return a >= b }),
}

func floats(f func(a, b float32) float32) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 { return math.Float32bits(f(math.Float32frombits(a), math.Float32frombits(b))) }
}

func test(f func(a, b float32) bool) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 { return truth(f(math.Float32frombits(a), math.Float32frombits(b))) }
}

// extended executes an instruction of GLSL.std.450.
func (s *state) extended(w []uint32) {
	to, op := s.reg(w[2]), w[4]
	var x [3][]uint32
	for k, id := range w[5:] {
		x[k] = s.reg(id)
	}
	switch op {
	case extPackHalf2x16:
		low, high := nn.HalfOf(math.Float32frombits(x[0][0])), nn.HalfOf(math.Float32frombits(x[0][1]))
		to[0] = uint32(low) | uint32(high)<<16
		return
	case extUnpackHalf2x16:
		to[0] = math.Float32bits(nn.Half(x[0][0]).Float32())
		to[1] = math.Float32bits(nn.Half(x[0][0] >> 16).Float32())
		return
	}
	f := functions[op]
	if f == nil {
		s.fail("extended instruction %d is not known", op)
	}
	for k := range to {
		var v [3]uint32
		for j := range w[5:] {
			v[j] = x[j][k]
		}
		to[k] = f(v[0], v[1], v[2])
	}
}

// functions are the extended instructions that work on each component by itself, of three operands at most.
var functions = map[uint32]func(x, y, z uint32) uint32{
	extSAbs:        func(x, _, _ uint32) uint32 { return uint32(max(int32(x), -int32(x))) },
	extFindUMsb:    func(x, _, _ uint32) uint32 { return uint32(bits.Len32(x) - 1) },
	extFindSMsb:    func(x, _, _ uint32) uint32 { return uint32(bits.Len32(x^uint32(int32(x)>>31)) - 1) },
	extUMin:        func(x, y, _ uint32) uint32 { return min(x, y) },
	extUMax:        func(x, y, _ uint32) uint32 { return max(x, y) },
	extUClamp:      func(x, y, z uint32) uint32 { return min(max(x, y), z) },
	extSMin:        func(x, y, _ uint32) uint32 { return uint32(min(int32(x), int32(y))) },
	extSMax:        func(x, y, _ uint32) uint32 { return uint32(max(int32(x), int32(y))) },
	extSClamp:      func(x, y, z uint32) uint32 { return uint32(min(max(int32(x), int32(y)), int32(z))) },
	extRoundEven:   real(math.RoundToEven),
	extTrunc:       real(math.Trunc),
	extFAbs:        real(math.Abs),
	extFloor:       real(math.Floor),
	extCeil:        real(math.Ceil),
	extExp:         real(math.Exp),
	extSqrt:        real(math.Sqrt),
	extInverseSqrt: real(func(a float64) float64 { return 1 / math.Sqrt(a) }),
	extFSign:       triple(func(a, _, _ float32) float32 { return float32(truth(a > 0)) - float32(truth(a < 0)) }),
	extFMin:        triple(func(a, b, _ float32) float32 { return min(a, b) }),
	extFMax:        triple(func(a, b, _ float32) float32 { return max(a, b) }),
	extFClamp:      triple(func(a, b, c float32) float32 { return min(max(a, b), c) }),
	extFMix:        triple(func(a, b, c float32) float32 { return a*(1-c) + b*c }),
	extFma:         triple(func(a, b, c float32) float32 { return float32(math.FMA(float64(a), float64(b), float64(c))) }),
}

func real(f func(float64) float64) func(x, y, z uint32) uint32 {
	return triple(func(a, _, _ float32) float32 { return float32(f(float64(a))) })
}

func triple(f func(a, b, c float32) float32) func(x, y, z uint32) uint32 {
	return func(x, y, z uint32) uint32 {
		return math.Float32bits(f(math.Float32frombits(x), math.Float32frombits(y), math.Float32frombits(z)))
	}
}
