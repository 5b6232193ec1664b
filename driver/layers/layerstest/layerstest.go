// Package layerstest has a small model of every operation of the table, in each type of its leading input: for tests, and for
// what docs/operators.md says of devices. Imports only driver/layers, driver/nn and driver/ops.
package layerstest

import (
	"maps"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Example is a model of one operation.
type Example struct {
	Op   nn.OperationType
	Type nn.OperandType // of the leading input
	// Model is nil where there is no example of the operation; docs/operators.md has a question mark then.
	Model *nn.Model
	Err   error
}

// All returns an example of each operation and type, in the order of the table.
func All() []Example {
	var list []Example
	for _, row := range ops.All() {
		for _, t := range row.Types().List() {
			e := Example{Op: row.Type, Type: t}
			if f := examples[row.Type]; f != nil {
				b := &builder{typ: t}
				for _, y := range f(b) {
					b.Output(y)
				}
				e.Model, e.Err = b.Build()
			}
			list = append(list, e)
		}
	}
	return list
}

// examples add an operation and return its outputs.
var examples = map[nn.OperationType]func(b *builder) []uint32{}

func init() {
	for _, m := range []map[nn.OperationType]func(b *builder) []uint32{elements, images, shapes, recurrent} {
		maps.Copy(examples, m)
	}
}

// builder makes models whose leading input is of one type.
type builder struct {
	layers.Builder
	typ nn.OperandType
}

// quant are a scale and a zero point for a type.
func quant(t nn.OperandType) (scale float32, zero int32) {
	switch t {
	case nn.TensorQuant8Asymm:
		return 0.5, 100
	case nn.TensorQuant8AsymmSigned:
		return 0.5, -3
	case nn.TensorQuant16Asymm:
		return ops.BoxScale, 0
	case nn.TensorQuant8Symm, nn.TensorQuant16Symm:
		return 0.5, 0
	}
	return 0, 0
}

// x adds an input.
func (b *builder) x(d ...uint32) uint32 { return b.of(b.typ, d...) }

// of adds an input of another type.
func (b *builder) of(t nn.OperandType, d ...uint32) uint32 {
	scale, zero := quant(t)
	return b.Input(t, d, scale, zero)
}

// w adds a constant of zeros of the leading type.
func (b *builder) w(d ...uint32) uint32 {
	scale, zero := quant(b.typ)
	return b.zeros(b.typ, scale, zero, d)
}

func (b *builder) zeros(t nn.OperandType, scale float32, zero int32, d nn.Dims) uint32 {
	n, err := d.Elements()
	if err != nil {
		panic(err) // the examples are of this package
	}
	return b.Const(t, d, scale, zero, make([]byte, int(n)*t.Bytes()))
}

// bias adds a bias of n zeros for x times a w.
func (b *builder) bias(n uint32) uint32 {
	if !b.typ.IsQuant8() {
		return b.w(n)
	}
	scale, _ := quant(b.typ)
	return b.zeros(nn.TensorInt32, scale*scale, 0, nn.Dims{n})
}

// one is a list of one output.
func one(y uint32) []uint32 { return []uint32{y} }

// unary is an example of an operation on one tensor.
func unary(f func(b *builder, x uint32) uint32) func(b *builder) []uint32 {
	return func(b *builder) []uint32 { return one(f(b, b.x(3, 7))) }
}

// binary is an example of an operation on two tensors, with broadcasting.
func binary(f func(b *builder, x, y uint32) uint32) func(b *builder) []uint32 {
	return func(b *builder) []uint32 { return one(f(b, b.x(3, 7), b.x(7))) }
}
