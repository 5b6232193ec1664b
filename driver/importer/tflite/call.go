package tflite

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// call is one operator while it is translated. Its first error sticks: afterwards nothing is emitted, operands seem to
// have no dimensions, lists are empty, numbers are 0, and other errors do not count. So translations check once before
// they index dimensions, unless a check of what was read does the same.
type call struct {
	*conversion
	index int
	operator
	long bool // INT64 tensors count as TENSOR_INT32
	bits bool // booleans are moved as numbers
	err  error
}

// fail keeps the first error.
func (c *call) fail(err error) { c.err = cmp.Or(c.err, err) }

// apply checks what every operator has in common and translates it.
func (c *call) apply(b builtin) error {
	if err := c.readable(c.in); err != nil {
		return err
	}
	if n := len(c.in); n < b.inputs.min || n > b.inputs.max {
		return importer.Damaged("%d inputs", n)
	}
	if b.outputs == (counts{}) {
		b.outputs = one
	}
	if n := len(c.out); n < b.outputs.min || n > b.outputs.max {
		return importer.Damaged("%d outputs", n)
	}
	if c.optionsType != 0 && c.optionsType != b.options {
		return importer.Damaged("options of type %d instead of %d", c.optionsType, b.options)
	}
	switch {
	case c.code.version < 1 || int(c.code.version) > b.version:
		return fmt.Errorf("only versions up to %d are known", b.version)
	case c.refused != "":
		return errors.New(c.refused)
	case c.options.beyond(b.fields):
		return errors.New("an option of a newer schema")
	}
	for _, t := range c.out {
		if err := plain(&c.file.tensors[t]); err != nil {
			return err
		}
	}
	c.long = b.long
	done := c.fold()
	if c.err == nil && b.moves {
		c.bits, c.err = c.lifts()
	}
	if c.err == nil && !done {
		c.fail(b.translate(c))
	}
	if c.err == nil && c.bits {
		c.lower()
	}
	if c.err != nil {
		return c.err
	}
	for _, t := range c.out {
		if c.values[t].operand < 0 {
			panic("tflite: " + c.code.name() + " left an output without a value")
		}
	}
	return c.file.buf.err
}

// unknown reports whether an input comes from an operator that is not supported.
func (c *call) unknown() bool {
	return slices.ContainsFunc(c.in, func(t int32) bool { return t >= 0 && c.values[t].unknown })
}

// has reports whether input i is there; optional inputs may be left off or be -1.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] >= 0 }

// tensor returns the tensor of input i. Precondition: c.has(i).
func (c *call) tensor(i int) *tensor { return &c.file.tensors[c.in[i]] }

// output returns the tensor of the first output.
func (c *call) output() *tensor { return &c.file.tensors[c.out[0]] }

// operand returns an operand for reading; the pointer is valid until the next operand is made.
func (c *call) operand(x uint32) *nn.Operand {
	if c.err != nil {
		return &nn.Operand{}
	}
	return &c.Model.Main.Operands[x]
}

// data returns the operand of input i, making one when it is a constant.
func (c *call) data(i int) uint32 {
	if c.err != nil {
		return 0
	}
	x, err := c.stored(i)
	c.fail(err)
	if c.err != nil || !c.bits {
		return x
	}
	if x = c.lift(x); c.err != nil {
		c.err = fmt.Errorf("input %d: %w", i, c.err)
	}
	return x
}

// stored is data of elements as they are.
func (c *call) stored(i int) (uint32, error) {
	if !c.has(i) {
		return 0, importer.Damaged("input %d is missing", i)
	}
	v, t := &c.values[c.in[i]], c.tensor(i)
	if t.typ == typeInt64 && !c.long {
		return 0, fmt.Errorf("input %d: INT64 tensor", i)
	}
	if v.operand >= 0 {
		c.sized = c.sized || v.sized
		return uint32(v.operand), nil
	}
	if _, ok := c.file.constant(t); !ok {
		if v.unknown {
			return 0, errUnknown
		}
		if err := plain(t); err != nil {
			return 0, fmt.Errorf("input %d: %w", i, err)
		}
		if t.empty() {
			return 0, fmt.Errorf("input %d: shape %v with an empty dimension", i, t.shape)
		}
		return 0, importer.Damaged("tensor %d is read before it is written", c.in[i])
	}
	x, err := c.constantOperand(t)
	if err != nil {
		return 0, fmt.Errorf("input %d: %w", i, err)
	}
	v.operand = int(x)
	return x, nil
}

// ints decodes input i, a constant that parameterises the operator.
func (c *call) ints(i int, what string) []int32 {
	if c.err != nil {
		return nil
	}
	if !c.has(i) {
		c.err = importer.Damaged("input %d (%s) is missing", i, what)
		return nil
	}
	if v := c.values[c.in[i]]; v.operand >= 0 {
		if x, ok := c.known(i); ok {
			c.sized = c.sized || x.sized && c.code.builtin != builtinReshape
			return x.list
		}
	}
	x, err := c.integers(c.tensor(i))
	if err != nil {
		c.err = fmt.Errorf("input %d (%s): %w", i, what, err)
	}
	return x
}

// int decodes input i, a constant of one number that parameterises the operator.
func (c *call) int(i int, what string) int32 {
	x := c.ints(i, what)
	if len(x) != 1 {
		c.fail(fmt.Errorf("%d numbers for %s", len(x), what))
		return 0
	}
	return x[0]
}

// result is the operand type of the output.
func (c *call) result() spec { return c.resultOf(0) }

// resultOf is the operand type of output i.
func (c *call) resultOf(i int) spec {
	t := &c.file.tensors[c.out[i]]
	s, err := c.spec(t)
	if err == nil && t.typ == typeInt64 && !c.long {
		err = errors.New("INT64 tensor")
	}
	if c.bits {
		s.Of = nn.TensorFloat32
	}
	switch {
	case err != nil && len(c.out) == 1:
		c.fail(fmt.Errorf("output: %w", err))
	case err != nil:
		c.fail(fmt.Errorf("output %d: %w", i, err))
	}
	return s
}

// int32s adds a TENSOR_INT32 constant.
func (c *call) int32s(d nn.Dims, list []int32) (x uint32) {
	if c.err == nil {
		x, c.err = c.Int32s(d, list)
	}
	return x
}

// zeros adds a constant of zeros.
func (c *call) zeros(t spec, d nn.Dims) (x uint32) {
	if c.err == nil {
		x, c.err = c.Zeros(t, d)
	}
	return x
}

// absent adds an operand without a value.
func (c *call) absent(t nn.OperandType) uint32 {
	return c.Add(nn.Operand{Type: t, Lifetime: nn.NoValue})
}

// emit emits an operation with one result of type t. Its inputs are operands (uint32, []uint32), vectors of integers
// ([]int32), which become constants, and scalars as importer.Builder.Scalars takes them: floats in the precision of the
// first operand, or of the result where that operand holds integers.
func (c *call) emit(op nn.OperationType, t spec, inputs ...any) uint32 {
	return c.emitAll(op, []spec{t}, inputs...)[0]
}

// emitAll is emit of an operation with a result of each of types.
func (c *call) emitAll(op nn.OperationType, types []spec, inputs ...any) []uint32 {
	var list []uint32
	for _, in := range inputs {
		switch in := in.(type) {
		case uint32:
			list = append(list, in)
		case []uint32:
			list = append(list, in...)
		case []int32:
			list = append(list, c.int32s(nn.Dims{uint32(len(in))}, in))
		default:
			like := types[0].Of
			if len(list) > 0 && c.operand(list[0]).Type != nn.TensorInt32 {
				like = c.operand(list[0]).Type
			}
			if c.err == nil {
				list, c.err = c.Scalars(like, list, in)
			}
		}
	}
	if c.err == nil {
		results, err := c.EmitAll(op, types, list...)
		if err == nil {
			return results
		}
		c.err = err
	}
	return make([]uint32, len(types))
}

// finish emits the operation that computes the output.
func (c *call) finish(op nn.OperationType, inputs ...any) error {
	return c.bind(c.emit(op, c.result(), inputs...))
}

// finishAll emits the operation that computes all outputs.
func (c *call) finishAll(op nn.OperationType, inputs ...any) error {
	for i, x := range c.emitAll(op, c.results(), inputs...) {
		c.bindTo(c.out[i], x)
	}
	return c.err
}

// results are the operand types of the outputs.
func (c *call) results() []spec {
	types := make([]spec, len(c.out))
	for i := range types {
		types[i] = c.resultOf(i)
	}
	return types
}

// bind makes x the value of the output.
func (c *call) bind(x uint32) error {
	c.bindTo(c.out[0], x)
	return c.err
}

// bindTo makes x the value of the tensor of the given index, an output. Its shape must be the one in the file, except
// where that is open: TensorFlow Lite also computes the shapes of intermediate tensors when it loads a model.
func (c *call) bindTo(output int32, x uint32) {
	if c.err != nil {
		return
	}
	t, d := &c.file.tensors[output], c.operand(x).Dims
	if len(t.shape) > 0 {
		same := len(t.shape) == len(d)
		for i := 0; same && i < len(d); i++ {
			same = t.open(i) || int64(t.shape[i]) == int64(d[i])
		}
		if !same {
			c.err = fmt.Errorf("output has shape %v, the inputs give %v", t.shape, []uint32(d))
			return
		}
	}
	v := &c.values[output]
	if v.operand >= 0 {
		c.err = importer.Damaged("tensor %d is an output twice", output)
		return
	}
	v.operand, v.unknown = int(x), false
}

// copy returns a tensor of the same value as x, written by an operation.
func (c *call) copy(x uint32) uint32 { return c.reshape(x, slices.Clone(c.operand(x).Dims)) }

// reshape returns x with another shape.
func (c *call) reshape(x uint32, d nn.Dims) uint32 {
	return c.emit(nn.OpReshape, importer.TypeOf(c.operand(x)), x, dims32(d))
}

// dims32 are dimensions as numbers of a vector.
func dims32(d nn.Dims) []int32 {
	list := make([]int32, len(d))
	for i, n := range d {
		list[i] = int32(min(n, math.MaxInt32))
	}
	return list
}

// activation decodes a fused activation. after is set when it is TANH, which no operation of the HAL fuses.
func (c *call) activation(slot int) (act nn.Activation, after bool) {
	switch a := c.options.int8(slot); a {
	case 0, 1, 2, 3: // NONE, RELU, RELU_N1_TO_1, RELU6 have the HAL's numbers
		return nn.Activation(a), false
	case 4:
		if t := c.output().typ; t != typeFloat32 && t != typeFloat16 {
			c.fail(fmt.Errorf("fused TANH on %v", t))
		}
		return nn.ActNone, true
	case 5:
		c.fail(errors.New("fused SIGN_BIT"))
	default:
		c.fail(importer.Damaged("fused activation %d", a))
	}
	return nn.ActNone, false
}

// finishFused emits the operation that computes the output, and TANH behind it when tanh is set.
func (c *call) finishFused(op nn.OperationType, tanh bool, inputs ...any) error {
	s := c.result()
	x := c.emit(op, s, inputs...)
	if tanh {
		x = c.emit(nn.OpTanh, s, x)
	}
	return c.bind(x)
}
