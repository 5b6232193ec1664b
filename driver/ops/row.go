package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Row is what is true of an operation, no matter what checks or runs it. Its fields are not changed.
type Row struct {
	Type nn.OperationType
	// Since is the first level that has the operation; 0 for the driver's extension.
	Since Level
	// Later names types of the leading input that are newer than both the type itself and the operation.
	Later map[nn.OperandType]Level
	// Forms are the lists of inputs; number and types of a call's inputs tell which one it has.
	Forms []Form
	// Lead is the position of the input that counts as input 0 for the types of others and for scales and zero points.
	Lead    int
	Outputs []Operand
	// Rules are what holds in addition to types and ranks, in words.
	Rules []string
	// Extends says what the driver takes that the HAL does not.
	Extends []string
	// FromData: only the data tells the number of rows of the outputs, their first dimension. See Counted.
	FromData bool
	// Empty says which of the inputs that hold tensors may have no elements, in a call that is Sized.
	Empty Empty

	quant quantRule
	// relate adds what the row knows of open dimensions, nil for nothing. It must cope with unknown ranks and parameters.
	relate func(*params, *Relations)
	rules  rules
}

// rules are the part of a row that knows its attributes.
type rules interface {
	check(c *Call) error
	infer(c *Call, inf *Inferred) error
	fits(a Attrs) bool
	parse(text []byte) (Attrs, error)
}

// one makes the only list of inputs of an operation.
func one(parts ...any) []Form { return []Form{{Inputs: list(parts...)}} }

// Types are the types that the leading input may have.
func (r *Row) Types() Types { return r.Forms[0].Inputs[r.Lead].Types.With(-1) }

// ResultType is the type of output i of n, if the leading input has type x; ok is false if the outputs of a call choose
// it.
func (r *Row) ResultType(i, n int, x nn.OperandType) (t nn.OperandType, ok bool) {
	if !takes(r.Outputs, n) {
		return 0, false
	}
	types := at(r.Outputs, i, n).Types.With(x).List()
	if len(types) != 1 {
		return 0, false
	}
	return types[0], true
}

// SinceType is the first level that knows the operation with a leading input of type t.
func (r *Row) SinceType(t nn.OperandType) Level {
	if level, ok := r.Later[t]; ok || r.Since == 0 {
		return level
	}
	return max(r.Since, t.Since())
}

// Level is the first level that knows c as it is: the operation with that type of the leading input, each input and
// each output. 0 for the driver's extension. The types of other operands, and their possible values, are not
// considered.
//
// Precondition: Check passed.
func (r *Row) Level(c *Call) Level {
	f, n := r.form(c), len(c.Op.Inputs)
	level := r.SinceType(c.inputType(r.Lead))
	for i := range n {
		level = max(level, at(f.Inputs, i, n).Since)
	}
	for i, m := 0, len(c.Op.Outputs); i < m; i++ {
		level = max(level, at(r.Outputs, i, m).Since)
	}
	return level
}

// QuantRule is the rule for scales and zero points in words, "" where there is none.
func (r *Row) QuantRule() string {
	if r.Types()&quant8 == 0 {
		return ""
	}
	return r.quant.text
}

// RunTime reports whether input i, a parameter, may be known only at run time, if the model states the output's
// dimensions.
func (r *Row) RunTime(i int) bool {
	list := r.Forms[0].Inputs
	return i < len(list) && list[i].Runtime
}

// read is c with the form that fits its inputs.
func (r *Row) read(c *Call) *Call {
	read := *c
	read.row, read.form = r, r.form(c)
	return &read
}

// Optional reports whether input i, an input of the model, may have no value in a request.
func (r *Row) Optional(c *Call, i int) bool {
	f, n := r.form(c), len(c.Op.Inputs)
	return takes(f.Inputs, n) && i < n && at(f.Inputs, i, n).Omissible
}

// Fits reports whether a is of the type of the operation's attributes.
func (r *Row) Fits(a Attrs) bool { return r.rules.fits(a) }

// Tensors returns the positions of the inputs that hold tensors for the kernel, including those left off; the others
// are parameters, which Infer decodes. It needs only the types of the operands.
//
// Precondition: the number of inputs is right, as after Check.
func (r *Row) Tensors(c *Call) []int {
	f, n := r.form(c), len(c.Op.Inputs)
	var list []int
	for i := range n {
		if at(f.Inputs, i, n).Data {
			list = append(list, i)
		}
	}
	return list
}

// ParseAttrs reads the attributes of the operation from their JSON, in which fields may be left out.
func (r *Row) ParseAttrs(text []byte) (Attrs, error) { return r.rules.parse(text) }

// Check tests the signature: number, types and ranks of operands, quantisation rules, the values of
// constant parameters. Shapes that are not known yet pass.
func (r *Row) Check(c *Call) error {
	c = r.read(c)
	if err := r.checkSignature(c); err != nil {
		return err
	}
	if r.quant.check != nil {
		if err := r.quant.check(c); err != nil {
			return err
		}
	}
	return r.rules.check(c)
}

// Infer decodes the parameters and computes the output shapes from the Dims of the inputs, which the
// caller has completed. It fails with ErrNotConstant, ErrOpenShape, or a plain error when shapes or
// values contradict each other. FILL, RESHAPE, SQUEEZE, EXPAND_DIMS, PAD, PAD_V2, MIRROR_PAD, TRANSPOSE and
// MEAN with a parameter that is not constant, like TILE and TRANSPOSE_CONV_2D, take the shape that the output operand
// states, the latter five of the list with Inferred.RuntimeParam; no other row looks at the output's dimensions, which the
// caller compares (MergeDims). Of outputs whose rows the data tells, their number is open. Precondition: Check passed.
func (r *Row) Infer(c *Call) (*Inferred, error) {
	c = r.read(c)
	// The ranks are tested again: the caller may have completed an unknown rank since Check.
	if err := r.checkSignature(c); err != nil {
		return nil, err
	}
	inf := &Inferred{}
	if list := c.Undecided(); list != nil {
		return nil, fmt.Errorf("input %d (%s) has a value or none: %w", list[0], at(c.form.Inputs, list[0], len(c.Op.Inputs)).Name, ErrNotConstant)
	}
	for _, i := range r.Tensors(c) {
		o := c.In(i)
		if o == nil {
			continue
		}
		err := ErrOpenShape
		if shapeKnown(o) || c.Sized && len(o.Dims) > 0 {
			err = r.checkEmpty(i, o.Dims)
		}
		if err != nil {
			return nil, fmt.Errorf("input %d (%s): %w", i, at(c.form.Inputs, i, len(c.Op.Inputs)).Name, err)
		}
	}
	if err := r.rules.infer(c, inf); err != nil {
		return nil, err
	}
	for i, d := range inf.Shapes {
		if err := c.checkShape(d, c.Out(i).Type); err != nil {
			return nil, fmt.Errorf("output %d (%s): %w", i, at(r.Outputs, i, len(inf.Shapes)).Name, err)
		}
		if r.FromData {
			d[0] = 0
		}
	}
	return inf, nil
}
