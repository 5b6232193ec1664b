package importer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Type is the type of a tensor operand without its shape.
type Type struct {
	Of    nn.OperandType
	Scale float32
	Zero  int32
}

// TypeOf is the type of an operand.
func TypeOf(o *nn.Operand) Type { return Type{o.Type, o.Scale, o.ZeroPoint} }

// Operand is an operand of the type, without a place for its value.
func (t Type) Operand(d nn.Dims, l nn.Lifetime) nn.Operand {
	return nn.Operand{Type: t.Of, Dims: d, Scale: t.Scale, ZeroPoint: t.Zero, Lifetime: l}
}

// Builder makes the model of a file, operation by operation. Each is checked by the table driver/ops when it is added, and
// its results get the dimensions that follow from its inputs. An error is about one operation: the model stays as it was, but
// for constants, and more operations may be added so that one report names all that is not supported.
type Builder struct {
	Model *nn.Model
	// room is how many bytes Model.Values may still grow by. It is bounded by the size of the file, because several operators
	// may ask for copies of the same bytes.
	room    int
	scalars map[scalar]uint32
}

type scalar struct {
	typ  nn.OperandType
	bits uint32
}

// NewBuilder begins the model of a file, which is its pool 0: constants are operands of lifetime ConstantReference.
func NewBuilder(file []byte) *Builder {
	return &Builder{
		Model: &nn.Model{Pools: []nn.Memory{nn.HostMemory(file)}}, room: 4*len(file) + 1<<16, scalars: map[scalar]uint32{},
	}
}

// Grow says how many bytes of constants will be made, about, so that they are allocated once. It comes before the first.
func (b *Builder) Grow(n int) { b.Model.Values = make([]byte, 0, min(n, b.room)) }

// Add adds an operand and returns its index.
func (b *Builder) Add(o nn.Operand) uint32 {
	g := &b.Model.Main
	g.Operands = append(g.Operands, o)
	return uint32(len(g.Operands) - 1)
}

// Reserve appends n zero bytes to the model's values, 4-aligned, and returns their place and the bytes. It fails where
// the values would exceed the size of the file many times over.
func (b *Builder) Reserve(n int) (nn.Location, []byte, error) {
	v := b.Model.Values
	start := (len(v) + 3) &^ 3
	need := start - len(v) + n
	if n < 0 || need > b.room {
		return nn.Location{}, nil, errors.New("constants to be made exceed the size of the file many times over")
	}
	b.room -= need
	v = append(v, make([]byte, need)...)
	b.Model.Values = v
	return nn.Location{Offset: uint32(start), Length: uint32(n)}, v[start : start+n], nil
}

// constant adds a constant of n bytes, zeros that the caller may fill.
func (b *Builder) constant(t Type, d nn.Dims, n int) (x uint32, value []byte, err error) {
	o := t.Operand(d, nn.ConstantCopy)
	if o.Location, value, err = b.Reserve(n); err != nil {
		return 0, nil, err
	}
	return b.Add(o), value, nil
}

// scalar returns an operand that holds one value of type INT32, FLOAT32, FLOAT16 or BOOL.
func (b *Builder) scalar(typ nn.OperandType, bits uint32) (uint32, error) {
	key := scalar{typ, bits}
	if x, ok := b.scalars[key]; ok {
		return x, nil
	}
	x, value, err := b.constant(Type{Of: typ}, nil, typ.Bytes())
	if err != nil {
		return 0, err
	}
	copy(value, binary.LittleEndian.AppendUint32(nil, bits))
	b.scalars[key] = x
	return x, nil
}

// Scalars appends scalars to inputs: int32, nn.Activation, bool, or float32 in the precision of the tensor type like.
func (b *Builder) Scalars(like nn.OperandType, inputs []uint32, list ...any) ([]uint32, error) {
	for _, p := range list {
		var x uint32
		var err error
		switch p := p.(type) {
		case int32:
			x, err = b.scalar(nn.Int32, uint32(p))
		case nn.Activation:
			x, err = b.scalar(nn.Int32, uint32(p))
		case bool:
			var bits uint32
			if p {
				bits = 1
			}
			x, err = b.scalar(nn.Bool, bits)
		case float32:
			if like == nn.TensorFloat16 {
				x, err = b.scalar(nn.Float16, uint32(nn.HalfOf(p)))
			} else {
				x, err = b.scalar(nn.Float32, math.Float32bits(p))
			}
		default:
			panic(fmt.Sprintf("importer: parameter of type %T", p))
		}
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, x)
	}
	return inputs, nil
}

// Int32s adds a TENSOR_INT32 constant.
func (b *Builder) Int32s(d nn.Dims, list []int32) (uint32, error) {
	x, value, err := b.constant(Type{Of: nn.TensorInt32}, d, 4*len(list))
	for i, n := range list[:len(value)/4] {
		binary.LittleEndian.PutUint32(value[4*i:], uint32(n))
	}
	return x, err
}

// Zeros adds a constant of zeros.
func (b *Builder) Zeros(t Type, d nn.Dims) (uint32, error) {
	n, err := d.Elements()
	if err != nil {
		return 0, Damaged("%w", err)
	}
	size := uint64(n) * uint64(t.Of.Bytes())
	if size > math.MaxInt32 {
		return 0, fmt.Errorf("%d zeros", n)
	}
	x, _, err := b.constant(t, d, int(size))
	return x, err
}

// Emit adds an operation with one output of the given type and returns that output, whose dimensions follow from the inputs.
// An operation that the table refuses leaves no trace.
func (b *Builder) Emit(op nn.OperationType, t Type, inputs ...uint32) (uint32, error) {
	out, err := b.EmitAll(op, []Type{t}, inputs...)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// EmitAll is Emit of an operation with an output for each of types.
func (b *Builder) EmitAll(op nn.OperationType, types []Type, inputs ...uint32) ([]uint32, error) {
	g := &b.Model.Main
	row := ops.Lookup(op)
	if row == nil {
		return nil, fmt.Errorf("%v is not in the operation table", op)
	}
	first := len(g.Operands)
	o := nn.Operation{Type: op, Inputs: inputs}
	for _, t := range types {
		o.Outputs = append(o.Outputs, b.Add(t.Operand(nil, nn.Temporary)))
	}
	if err := complete(row, &ops.Call{Model: b.Model, Graph: g, Op: &o}); err != nil {
		g.Operands = g.Operands[:first]
		return nil, err
	}
	g.Operations = append(g.Operations, o)
	return o.Outputs, nil
}

// complete checks an operation and gives its outputs their dimensions.
func complete(row *ops.Row, oc *ops.Call) error {
	if err := row.Check(oc); err != nil {
		return err
	}
	inf, err := row.Infer(oc)
	if err != nil {
		return err
	}
	for i, d := range inf.Shapes {
		o := oc.Out(i)
		o.Dims = d
		if size, err := o.ByteSize(); err != nil || size > math.MaxInt32 {
			return fmt.Errorf("a result of shape %v is too large", []uint32(d))
		}
	}
	return nil
}

// DropUnusedPool removes the file from the pools of a model that refers to no constant in it.
func (b *Builder) DropUnusedPool() {
	refers := func(o nn.Operand) bool { return o.Lifetime == nn.ConstantReference }
	if !slices.ContainsFunc(b.Model.Main.Operands, refers) {
		b.Model.Pools = nil
	}
}
