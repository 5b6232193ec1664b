package tflite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// errUnknown says that a tensor has no operand because it comes from an operator that is not supported.
var errUnknown = errors.New("follows an operator that is not supported")

// spec is the type of a tensor operand without its shape.
type spec = importer.Type

// elementOperands are the operands of elements. No operand has 64 bits: INT64 is TENSOR_INT32 where that holds the same
// numbers (builtin.long), also in inputs and outputs of the network.
var elementOperands = map[elementType]nn.OperandType{
	typeFloat32: nn.TensorFloat32, typeFloat16: nn.TensorFloat16, typeInt32: nn.TensorInt32, typeBool: nn.TensorBool8,
	typeUInt8: nn.TensorQuant8Asymm, typeInt8: nn.TensorQuant8AsymmSigned, typeInt64: nn.TensorInt32,
}

// spec returns the operand type of a tensor. An 8-bit tensor without quantisation holds plain integers, which
// is what scale 1 and zero point 0 say.
func (im *conversion) spec(t *tensor) (spec, error) {
	if err := plain(t); err != nil {
		return spec{}, err
	}
	typ, ok := elementOperands[t.typ]
	if !ok {
		return spec{}, fmt.Errorf("%v tensor", t.typ)
	}
	s := spec{Of: typ}
	if !typ.IsQuant8() {
		return s, nil
	}
	switch t.quant.scales.n {
	case 0:
		s.Scale = 1
		return s, nil
	case 1:
	default:
		return spec{}, errors.New("per-channel scales on a tensor that is not a filter")
	}
	s.Scale = t.quant.scales.float32(0)
	if !validScale(s.Scale) {
		return spec{}, importer.Damaged("scale %v", s.Scale)
	}
	zero := t.quant.zeroPoint(0)
	low, high := quant8Range(typ)
	if zero < int64(low) || zero > int64(high) {
		return spec{}, importer.Damaged("zero point %d of %v", zero, t.typ)
	}
	s.Zero = int32(zero)
	return s, nil
}

// plain refuses tensors that are more than type, shape, scales and bytes.
func plain(t *tensor) error {
	switch {
	case t.table.bool(tensorIsVariable):
		return errors.New("variable tensor")
	case t.table.table(tensorSparsity).present():
		return errors.New("sparse tensor")
	case t.table.vector(tensorVariants, 4).n > 0:
		return errors.New("variant tensor")
	case t.table.uint32(tensorExternalBuffer) != 0:
		return errors.New("tensor in an external file")
	case t.table.beyond(tensorSlots):
		return errors.New("tensor of a newer schema")
	case t.quant.details:
		return errors.New("quantisation other than scale and zero point")
	}
	return nil
}

func validScale(s float32) bool { return s > 0 && !math.IsInf(float64(s), 0) }

// quant8Range returns the least and greatest stored value of an 8-bit type.
func quant8Range(t nn.OperandType) (low, high int32) {
	if t == nn.TensorQuant8Asymm {
		return 0, 255
	}
	return -128, 127
}

// dims returns the shape of a tensor as operand dimensions, [1] for rank 0.
func (t *tensor) dims() (nn.Dims, error) {
	if len(t.shape) == 0 {
		return nn.Dims{1}, nil
	}
	d := make(nn.Dims, len(t.shape))
	for i, n := range t.shape {
		switch {
		case n < 0:
			return nil, importer.Damaged("shape %v", t.shape)
		case n == 0:
			return nil, fmt.Errorf("shape %v with an empty dimension", t.shape)
		}
		d[i] = uint32(n)
	}
	if _, err := d.Elements(); err != nil {
		return nil, importer.Damaged("%w", err)
	}
	return d, nil
}

// constantDims returns the shape and place of a plain constant tensor, whose size must agree with its shape.
func (im *conversion) constantDims(t *tensor) (nn.Dims, extent, error) {
	if err := plain(t); err != nil {
		return nil, extent{}, err
	}
	e, ok := im.file.constant(t)
	if !ok {
		return nil, e, errors.New("not a constant")
	}
	d, err := t.dims()
	if err != nil {
		return nil, e, err
	}
	n, err := d.Elements()
	if err != nil {
		return nil, e, importer.Damaged("%w", err)
	}
	size := uint64(t.typ.bytes())
	if size == 0 {
		return nil, e, fmt.Errorf("%v constant", t.typ)
	}
	if uint64(n)*size != uint64(e.n) {
		return nil, e, importer.Damaged("a constant of shape %v and type %v has %d bytes", t.shape, t.typ, e.n)
	}
	return d, e, nil
}

func (e extent) location() nn.Location {
	return nn.Location{Offset: uint32(e.off), Length: uint32(e.n)}
}

// addConstant appends an operand for bytes of the file.
func (im *conversion) addConstant(s spec, d nn.Dims, e extent) uint32 {
	o := s.Operand(d, nn.ConstantReference)
	o.Location = e.location()
	return im.Add(o)
}

// constantOperand appends an operand for a constant tensor.
func (im *conversion) constantOperand(t *tensor) (uint32, error) {
	s, err := im.spec(t)
	if err != nil {
		return 0, err
	}
	d, e, err := im.constantDims(t)
	if err != nil {
		return 0, err
	}
	if t.typ == typeInt64 {
		return im.narrow(d, e)
	}
	return im.addConstant(s, d, e), nil
}

// addReserved appends an operand for bytes that were reserved.
func (im *conversion) addReserved(s spec, d nn.Dims, l nn.Location) uint32 {
	o := s.Operand(d, nn.ConstantCopy)
	o.Location = l
	return im.Add(o)
}

// narrow makes a TENSOR_INT32 constant of an INT64 one.
func (im *conversion) narrow(d nn.Dims, e extent) (uint32, error) {
	loc, value, err := im.Reserve(e.n / 2)
	if err != nil {
		return 0, err
	}
	src := im.file.buf.data[e.off : e.off+e.n]
	for i := 0; i < len(value); i += 4 {
		n, err := narrowed(src[2*i:])
		if err != nil {
			return 0, err
		}
		binary.LittleEndian.PutUint32(value[i:], uint32(n))
	}
	return im.addReserved(intType, d, loc), nil
}

// narrowed is the INT64 that b begins with, in 32 bits.
func narrowed(b []byte) (int32, error) {
	n := int64(binary.LittleEndian.Uint64(b))
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d does not fit 32 bits", n)
	}
	return int32(n), nil
}

// perChannel returns a constant int8 tensor as symmetric per-channel weights along the given dimension. One
// scale for the whole tensor stands for every channel.
func (im *conversion) perChannel(ti int32, dim int) (uint32, error) {
	key := viewKey{tensor: ti, channel: dim}
	if x, ok := im.views[key]; ok {
		return x, nil
	}
	t := &im.file.tensors[ti]
	d, e, err := im.constantDims(t)
	if err != nil {
		return 0, err
	}
	q := &t.quant
	if dim >= len(d) {
		return 0, fmt.Errorf("weights of shape %v", t.shape)
	}
	n := int(d[dim])
	switch {
	case q.scales.n == 0:
		return 0, errors.New("8-bit weights without scales")
	case q.scales.n != 1 && (q.scales.n != n || int(q.dimension) != dim):
		return 0, fmt.Errorf("%d scales along dimension %d of weights %v", q.scales.n, q.dimension, t.shape)
	case !im.file.buf.charge(n):
		return 0, im.file.buf.err
	}
	scales := make([]float32, n)
	for i := range scales {
		from := min(i, q.scales.n-1)
		scales[i] = q.scales.float32(from)
		if !validScale(scales[i]) {
			return 0, importer.Damaged("scale %v of channel %d", scales[i], i)
		}
		if z := q.zeroPoint(from); z != 0 {
			return 0, fmt.Errorf("zero point %d of signed weights", z)
		}
	}
	o := spec{Of: nn.TensorQuant8PerChannel}.Operand(d, nn.ConstantReference)
	o.Channel = &nn.ChannelQuant{Scales: scales, ChannelDim: uint32(dim)}
	o.Location = e.location()
	x := im.Add(o)
	im.views[key] = x
	return x, nil
}

// view returns a constant tensor as a vector of n elements with the given type.
func (im *conversion) view(ti int32, s spec, n uint32) (uint32, error) {
	key := viewKey{tensor: ti, spec: s, channel: -1}
	if x, ok := im.views[key]; ok && im.Model.Main.Operands[x].Dims.Equal(nn.Dims{n}) {
		return x, nil
	}
	t := &im.file.tensors[ti]
	d, e, err := im.constantDims(t)
	if err != nil {
		return 0, err
	}
	if have, _ := d.Elements(); have != n {
		return 0, fmt.Errorf("%d elements where %d are needed", have, n)
	}
	x := im.addConstant(s, nn.Dims{n}, e)
	im.views[key] = x
	return x, nil
}

// maxParameter bounds the number of elements of a tensor that parameterises an operator.
const maxParameter = 64

// integers decodes a constant INT32 or INT64 tensor.
func (im *conversion) integers(t *tensor) ([]int32, error) {
	if t.typ != typeInt32 && t.typ != typeInt64 {
		return nil, fmt.Errorf("%v where integers are needed", t.typ)
	}
	if err := plain(t); err != nil {
		return nil, err
	}
	if t.empty() {
		return nil, nil
	}
	d, e, err := im.constantDims(t)
	if err != nil {
		return nil, err
	}
	n, _ := d.Elements()
	if n > maxParameter {
		return nil, fmt.Errorf("%d elements", n)
	}
	x := make([]int32, n)
	data := im.file.buf.data[e.off : e.off+e.n]
	for i := range x {
		if t.typ == typeInt32 {
			x[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
			continue
		}
		if x[i], err = narrowed(data[8*i:]); err != nil {
			return nil, err
		}
	}
	return x, nil
}
