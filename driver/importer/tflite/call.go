package tflite

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// call is one operator while it is translated.
type call struct {
	*conversion
	index int
	operator
	long bool // INT64 tensors count as TENSOR_INT32
	bits bool // booleans are moved as numbers
}

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
	done, err := c.fold()
	if err == nil && b.moves {
		c.bits, err = c.lifts()
	}
	if err == nil && !done {
		err = b.translate(c)
	}
	if err == nil && c.bits {
		err = c.lower()
	}
	if err != nil {
		return err
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
func (c *call) operand(x uint32) *nn.Operand { return &c.Model.Main.Operands[x] }

// data returns the operand of input i, making one when it is a constant.
func (c *call) data(i int) (uint32, error) {
	x, err := c.stored(i)
	if err != nil || !c.bits {
		return x, err
	}
	if x, err = c.lift(x); err != nil {
		return 0, fmt.Errorf("input %d: %w", i, err)
	}
	return x, nil
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
	s, err := c.spec(t)
	if err != nil {
		return 0, fmt.Errorf("input %d: %w", i, err)
	}
	d, e, err := c.constantDims(t)
	if err != nil {
		return 0, fmt.Errorf("input %d: %w", i, err)
	}
	if t.typ == typeInt64 {
		x, err := c.narrow(d, e)
		if err != nil {
			return 0, fmt.Errorf("input %d: %w", i, err)
		}
		v.operand = int(x)
	} else {
		v.operand = int(c.addConstant(s, d, e))
	}
	return uint32(v.operand), nil
}

// ints decodes input i, a constant that parameterises the operator.
func (c *call) ints(i int, what string) ([]int32, error) {
	if !c.has(i) {
		return nil, importer.Damaged("input %d (%s) is missing", i, what)
	}
	if v := c.values[c.in[i]]; v.operand >= 0 {
		if x, ok := c.known(i); ok {
			c.sized = c.sized || x.sized && c.code.builtin != builtinReshape
			return x.list, nil
		}
	}
	x, err := c.integers(c.tensor(i))
	if err != nil {
		return nil, fmt.Errorf("input %d (%s): %w", i, what, err)
	}
	return x, nil
}

// result is the operand type of the output.
func (c *call) result() (spec, error) { return c.resultOf(0) }

// resultOf is the operand type of output i.
func (c *call) resultOf(i int) (spec, error) {
	t := &c.file.tensors[c.out[i]]
	s, err := c.spec(t)
	if err == nil && t.typ == typeInt64 && !c.long {
		err = errors.New("INT64 tensor")
	}
	if c.bits {
		s.Of = nn.TensorFloat32
	}
	switch {
	case err == nil:
		return s, nil
	case len(c.out) == 1:
		return s, fmt.Errorf("output: %w", err)
	}
	return s, fmt.Errorf("output %d: %w", i, err)
}

// finish emits the operation that computes the output.
func (c *call) finish(op nn.OperationType, inputs ...uint32) error {
	s, err := c.result()
	if err != nil {
		return err
	}
	x, err := c.Emit(op, s, inputs...)
	if err != nil {
		return err
	}
	return c.bind(x)
}

// finishAll emits the operation that computes all outputs.
func (c *call) finishAll(op nn.OperationType, inputs ...uint32) error {
	specs := make([]spec, len(c.out))
	for i := range specs {
		var err error
		if specs[i], err = c.resultOf(i); err != nil {
			return err
		}
	}
	list, err := c.EmitAll(op, specs, inputs...)
	if err != nil {
		return err
	}
	for i, x := range list {
		if err := c.bindTo(c.out[i], x); err != nil {
			return err
		}
	}
	return nil
}

// bind makes x the value of the output.
func (c *call) bind(x uint32) error { return c.bindTo(c.out[0], x) }

// bindTo makes x the value of the tensor of the given index, an output. Its shape must be the one in the file, except where that is open:
// TensorFlow Lite, too, computes the shapes of intermediate tensors when it loads a model.
func (c *call) bindTo(output int32, x uint32) error {
	t, d := &c.file.tensors[output], c.operand(x).Dims
	if len(t.shape) > 0 {
		same := len(t.shape) == len(d)
		for i := 0; same && i < len(d); i++ {
			same = t.open(i) || int64(t.shape[i]) == int64(d[i])
		}
		if !same {
			return fmt.Errorf("output has shape %v, the inputs give %v", t.shape, []uint32(d))
		}
	}
	v := &c.values[output]
	if v.operand >= 0 {
		return importer.Damaged("tensor %d is an output twice", output)
	}
	v.operand, v.unknown = int(x), false
	return nil
}

// copy returns a tensor of the same value as x, written by an operation.
func (c *call) copy(x uint32) (uint32, error) {
	return c.reshape(x, slices.Clone(c.operand(x).Dims))
}

// reshape returns x with another shape.
func (c *call) reshape(x uint32, d nn.Dims) (uint32, error) {
	return c.withInts(nn.OpReshape, importer.TypeOf(c.operand(x)), x, [][]int32{dims32(d)})
}

// dims32 are dimensions as numbers of a vector.
func dims32(d nn.Dims) []int32 {
	list := make([]int32, len(d))
	for i, n := range d {
		list[i] = int32(min(n, math.MaxInt32))
	}
	return list
}

// withInts emits an operation on x, with vectors and then scalars as parameters.
func (c *call) withInts(op nn.OperationType, t spec, x uint32, vectors [][]int32, scalars ...any) (uint32, error) {
	inputs := []uint32{x}
	for _, v := range vectors {
		list, err := c.Int32s(nn.Dims{uint32(len(v))}, v)
		if err != nil {
			return 0, err
		}
		inputs = append(inputs, list)
	}
	inputs, err := c.Scalars(t.Of, inputs, scalars...)
	if err != nil {
		return 0, err
	}
	return c.Emit(op, t, inputs...)
}

// activation decodes a fused activation. after is set when it is TANH, which no operation of the HAL fuses.
func (c *call) activation(slot int) (act nn.Activation, after bool, err error) {
	switch a := c.options.int8(slot); a {
	case 0, 1, 2, 3: // NONE, RELU, RELU_N1_TO_1, RELU6 have the HAL's numbers
		return nn.Activation(a), false, nil
	case 4:
		if t := c.output().typ; t != typeFloat32 && t != typeFloat16 {
			return 0, false, fmt.Errorf("fused TANH on %v", t)
		}
		return nn.ActNone, true, nil
	case 5:
		return 0, false, errors.New("fused SIGN_BIT")
	default:
		return 0, false, importer.Damaged("fused activation %d", a)
	}
}

// finishFused emits the operation that computes the output, and TANH behind it when tanh is set.
func (c *call) finishFused(op nn.OperationType, tanh bool, inputs ...uint32) error {
	if !tanh {
		return c.finish(op, inputs...)
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	x, err := c.Emit(op, s, inputs...)
	if err != nil {
		return err
	}
	return c.finish(nn.OpTanh, x)
}
