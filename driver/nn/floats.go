package nn

import (
	"encoding/binary"
	"math"
)

// EncodeFloats returns the dense elements of a value of o, of which v are the real values, row-major. There must be as
// many as o's dimensions say; where some are open, a multiple of the others' product.
//
// Of a quantised type an element is round(x / scale) + zero point, clamped to what the type holds: the formula of
// ANEURALNETWORKS_QUANTIZE in NNAPI's NeuralNetworks.h, with C's round, whose ties go away from zero, and the division in
// float32. So QUANTIZE computes it on the device. TENSOR_INT32 has its scale, if it has one; other integers are rounded and
// clamped in the same way. A float16 is what HalfOf makes of x, infinite where it is too large. Of a boolean 0 is false and
// all else true.
//
// Errors are INVALID_ARGUMENT. A NaN is an error unless o is of a float type, because no other can hold it.
func (o *Operand) EncodeFloats(v []float32) ([]byte, error) {
	if err := o.checkCount(len(v)); err != nil {
		return nil, err
	}
	switch o.Type {
	case Float32, TensorFloat32:
		return Bytes(v), nil
	case Float16, TensorFloat16:
		b := make([]byte, 0, 2*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint16(b, uint16(HalfOf(x)))
		}
		return b, nil
	}
	for i, x := range v {
		if x != x {
			return nil, Invalid("values", "element %d is NaN, which %v does not hold", i, o.Type)
		}
	}
	b := make([]byte, 0, len(v)*o.Type.Bytes())
	if o.isBool() {
		for _, x := range v {
			e := byte(0)
			if x != 0 {
				e = 1
			}
			b = append(b, e)
		}
		return b, nil
	}
	f, err := o.integers(len(v))
	if err != nil {
		return nil, err
	}
	for c := 0; len(v) > 0; c++ {
		for _, x := range v[:f.run] {
			b = f.append(b, f.quantise(x, f.scales[c%len(f.scales)]))
		}
		v = v[f.run:]
	}
	return b, nil
}

// DecodeFloats returns the real values of b, the dense elements of a value of o, as ANEURALNETWORKS_DEQUANTIZE in NNAPI's
// NeuralNetworks.h defines them: (q - zero point) * scale of a quantised type, and of TENSOR_INT32 if it has a scale. Other
// integers stand for themselves, exact up to 2^24. Booleans are 0 or 1, and float16 is exact.
//
// EncodeFloats makes b of it again as long as no value is infinite by overflow, no boolean is other than 0 or 1, no 32-bit
// integer is beyond 2^22, and no float16 is a NaN. Errors are INVALID_ARGUMENT.
func (o *Operand) DecodeFloats(b []byte) ([]float32, error) {
	size := o.Type.Bytes()
	if size == 0 {
		return nil, o.notNumbers()
	}
	if len(b)%size != 0 {
		return nil, Invalid("values", "%d bytes are no whole number of %v", len(b), o.Type)
	}
	v := make([]float32, len(b)/size)
	if err := o.checkCount(len(v)); err != nil {
		return nil, err
	}
	switch o.Type {
	case Float32, TensorFloat32:
		return Values[float32](b)
	case Float16, TensorFloat16:
		for i := range v {
			v[i] = Half(binary.LittleEndian.Uint16(b[2*i:])).Float32()
		}
		return v, nil
	}
	if o.isBool() {
		for i, e := range b {
			if e != 0 {
				v[i] = 1
			}
		}
		return v, nil
	}
	f, err := o.integers(len(v))
	if err != nil {
		return nil, err
	}
	for c, rest := 0, v; len(rest) > 0; c++ {
		scale := float64(f.scales[c%len(f.scales)])
		for i := range rest[:f.run] {
			rest[i] = float32(float64(f.at(b)-f.zero) * scale)
			b = b[size:]
		}
		rest = rest[f.run:]
	}
	return v, nil
}

// checkCount requires that o can have n elements.
func (o *Operand) checkCount(n int) error {
	known, open := uint64(1), o.Type.IsTensor() && len(o.Dims) == 0
	for _, d := range o.Dims {
		if d == 0 {
			open = true
			continue
		}
		if known *= uint64(d); known > math.MaxUint32 {
			return Invalid("values", "dimensions %v exceed 2^32-1 elements", []uint32(o.Dims))
		}
	}
	if open && uint64(n)%known == 0 || !open && uint64(n) == known {
		return nil
	}
	return Invalid("values", "%d values; %v%v has %d", n, o.Type, []uint32(o.Dims), known)
}

func (o *Operand) isBool() bool { return o.Type == Bool || o.Type == TensorBool8 }

func (o *Operand) notNumbers() error { return Invalid("values", "%v has none", o.Type) }

// integerForm says what the integers of an operand stand for.
type integerForm struct {
	size   int
	lo, hi int64
	scales []float32 // one, or one a channel
	run    int       // elements in a row that have the same scale
	zero   int64
}

// integers is the form of n elements of o.
func (o *Operand) integers(n int) (*integerForm, error) {
	f := &integerForm{size: o.Type.Bytes(), scales: []float32{o.Scale}, run: n, zero: int64(o.ZeroPoint)}
	switch o.Type {
	case Int32, TensorInt32:
		f.lo, f.hi = math.MinInt32, math.MaxInt32
		if o.Scale == 0 {
			f.scales = []float32{1}
		}
	case Uint32:
		f.hi, f.scales = math.MaxUint32, []float32{1}
	case TensorQuant8Asymm:
		f.hi = math.MaxUint8
	case TensorQuant8AsymmSigned, TensorQuant8Symm:
		f.lo, f.hi = math.MinInt8, math.MaxInt8
	case TensorQuant16Asymm:
		f.hi = math.MaxUint16
	case TensorQuant16Symm:
		f.lo, f.hi = math.MinInt16, math.MaxInt16
	case TensorQuant8PerChannel:
		f.lo, f.hi = math.MinInt8, math.MaxInt8
		if err := o.channels(f); err != nil {
			return nil, err
		}
	default:
		return nil, o.notNumbers()
	}
	for _, s := range f.scales {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			return nil, Invalid("values", "scale %v of %v", s, o.Type)
		}
	}
	return f, nil
}

// channels sets what differs where each channel has a scale.
func (o *Operand) channels(f *integerForm) error {
	q := o.Channel
	if q == nil || uint64(q.ChannelDim) >= uint64(len(o.Dims)) || uint64(o.Dims[q.ChannelDim]) != uint64(len(q.Scales)) || len(q.Scales) == 0 {
		return Invalid("values", "%v%v without a scale for each channel", o.Type, []uint32(o.Dims))
	}
	run, err := o.Dims[q.ChannelDim+1:].Elements()
	if err != nil || run == 0 {
		return Invalid("values", "%v%v: the dimensions after that of the channels must be known", o.Type, []uint32(o.Dims))
	}
	f.scales, f.run = q.Scales, int(run)
	return nil
}

// quantise is the element for x, no NaN.
func (f *integerForm) quantise(x, scale float32) int64 {
	q := math.Round(float64(x/scale)) + float64(f.zero)
	return int64(min(max(q, float64(f.lo)), float64(f.hi)))
}

func (f *integerForm) append(b []byte, q int64) []byte {
	switch f.size {
	case 1:
		return append(b, byte(q))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(q))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(q))
}

// at is the first element of b.
func (f *integerForm) at(b []byte) int64 {
	var u uint64
	switch f.size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(b))
	default:
		u = uint64(binary.LittleEndian.Uint32(b))
	}
	if f.lo == 0 {
		return int64(u)
	}
	shift := 64 - 8*f.size
	return int64(u<<shift) >> shift
}
