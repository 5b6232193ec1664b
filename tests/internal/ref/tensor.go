// Package ref is the oracle of differential tests: every operation in plain Go, computed in float64 and
// int64 by the shortest code that is obviously right, and an evaluator of whole models on top of it.
//
// Speed does not matter here beyond running a mobilenet in seconds. The package shares nothing with the
// driver but its vocabulary, so that a mistake on one side shows as a difference. What a kernel cannot compute it refuses, by a
// panic of which Evaluate makes an error.
//
// Sources of the semantics: the NNAPI operation documentation, and TFLite's reference kernels for the
// fixed-point arithmetic of the 8-bit types.
package ref

import (
	"encoding/binary"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// maxElements bounds one tensor, so that a hostile shape cannot exhaust memory.
const maxElements = 1 << 28

// Tensor is a dense row-major tensor. V holds float types as their values (always representable in
// Type), quantised types as the raw stored integer, int32 and bool as integers; all exact in float64.
// A scalar has an empty Shape and one value.
type Tensor struct {
	Type      nn.OperandType
	Shape     []int
	Scale     float64
	ZeroPoint int
	// ChannelScales and ChannelDim describe TensorQuant8PerChannel: one scale per index of ChannelDim.
	ChannelScales []float64
	ChannelDim    int
	V             []float64
}

// Format is what an operation has to know of its output beforehand: the element type and, for quantised
// types, scale and zero point.
type Format struct {
	Type      nn.OperandType
	Scale     float64
	ZeroPoint int
}

// Format returns the element type and quantisation of t.
func (t *Tensor) Format() Format { return Format{t.Type, t.Scale, t.ZeroPoint} }

// New returns a tensor of zeros (raw zeros for quantised types).
func New(f Format, shape ...int) *Tensor {
	n := elements(shape)
	return &Tensor{Type: f.Type, Scale: f.Scale, ZeroPoint: f.ZeroPoint,
		Shape: append([]int(nil), shape...), V: make([]float64, n)}
}

// FromValues returns a tensor with the given values, rounded to f.Type; quantised values are raw.
func FromValues(f Format, shape []int, v ...float64) (t *Tensor, err error) {
	defer refused(&err)
	t = New(f, shape...)
	if len(v) != len(t.V) {
		refuse("%d values for shape %v", len(v), shape)
	}
	for i, x := range v {
		t.V[i] = f.round(x)
	}
	return t, nil
}

// FromReal returns a tensor with the given real values, quantised (rounding half away from zero, with
// saturation) where f is a quantised format.
func FromReal(f Format, shape []int, v ...float64) (*Tensor, error) {
	q := make([]float64, len(v))
	for i, x := range v {
		q[i] = x
		if f.quantised() {
			q[i] = f.quantise(x)
		}
	}
	return FromValues(f, shape, q...)
}

// Real returns the real values: (q - zero point) * scale for quantised types, V otherwise.
func (t *Tensor) Real() []float64 {
	v := make([]float64, len(t.V))
	for i := range v {
		v[i] = t.real(i)
	}
	return v
}

func (t *Tensor) real(i int) float64 {
	if t.Type == nn.TensorQuant8PerChannel {
		return t.V[i] * t.ChannelScales[i/stride(t.Shape, t.ChannelDim)%t.Shape[t.ChannelDim]]
	}
	if t.Format().quantised() {
		return (t.V[i] - float64(t.ZeroPoint)) * t.Scale
	}
	return t.V[i]
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 {
			refuse("negative dimension in %v", shape)
		}
		if d > 0 && n > maxElements/d {
			refuse("shape %v exceeds %d elements", shape, maxElements)
		}
		n *= d
	}
	return n
}

// stride is the distance in elements between neighbours along dimension d.
func stride(shape []int, d int) int {
	n := 1
	for _, x := range shape[d+1:] {
		n *= x
	}
	return n
}

func (f Format) quantised() bool {
	switch f.Type {
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant16Symm, nn.TensorQuant16Asymm:
		return true
	}
	return false
}

// limits are the smallest and largest stored integer of an integer type.
func (f Format) limits() (lo, hi float64) {
	switch f.Type {
	case nn.TensorQuant8Asymm:
		return 0, 255
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel:
		return -128, 127
	case nn.TensorQuant16Symm:
		return -32768, 32767
	case nn.TensorQuant16Asymm:
		return 0, 65535
	case nn.TensorBool8, nn.Bool:
		return 0, 1
	case nn.Uint32:
		return 0, math.MaxUint32
	default:
		return math.MinInt32, math.MaxInt32
	}
}

// round makes x representable in the type: nearest even for floats, and for integers the nearest, half
// away from zero, with saturation.
func (f Format) round(x float64) float64 {
	switch f.Type {
	case nn.TensorFloat32, nn.Float32:
		return float64(float32(x))
	case nn.TensorFloat16, nn.Float16:
		return roundFloat16(x)
	}
	if math.IsNaN(x) {
		return 0
	}
	lo, hi := f.limits()
	return min(max(math.Round(x), lo), hi)
}

// quantise is the stored integer nearest to the real value x.
func (f Format) quantise(x float64) float64 {
	return f.round(math.Round(x/f.Scale) + float64(f.ZeroPoint))
}

// FromBytes decodes dense little-endian data. Types without quantisation ignore scale and zp.
func FromBytes(t nn.OperandType, shape []int, scale float64, zp int, data []byte) (out *Tensor, err error) {
	defer refused(&err)
	out = New(Format{t, scale, zp}, shape...)
	n := t.Bytes()
	if n == 0 || len(data) != n*len(out.V) {
		refuse("%d bytes for %s%v", len(data), t, shape)
	}
	for i := range out.V {
		out.V[i] = decode(t, data[i*n:])
	}
	return out, nil
}

func decode(t nn.OperandType, b []byte) float64 {
	switch t {
	case nn.TensorFloat32, nn.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case nn.TensorFloat16, nn.Float16:
		return float16Value(binary.LittleEndian.Uint16(b))
	case nn.TensorInt32, nn.Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case nn.Uint32:
		return float64(binary.LittleEndian.Uint32(b))
	case nn.TensorQuant16Symm:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case nn.TensorQuant16Asymm:
		return float64(binary.LittleEndian.Uint16(b))
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel:
		return float64(int8(b[0]))
	default:
		return float64(b[0])
	}
}

// Bytes encodes t as dense little-endian data, rounding to the type where V is not representable.
func (t *Tensor) Bytes() []byte {
	f := t.Format()
	b := make([]byte, 0, len(t.V)*t.Type.Bytes())
	for _, x := range t.V {
		switch t.Type {
		case nn.TensorFloat32, nn.Float32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
			continue
		case nn.TensorFloat16, nn.Float16:
			b = binary.LittleEndian.AppendUint16(b, float16Bits(x))
			continue
		}
		q := int64(f.round(x))
		switch t.Type.Bytes() {
		case 1:
			b = append(b, byte(q))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(q))
		default:
			b = binary.LittleEndian.AppendUint32(b, uint32(q))
		}
	}
	return b
}
