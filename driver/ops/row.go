package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Row is what is true of an operation, whoever checks or runs it. Its fields are not changed.
type Row struct {
	Type nn.OperationType
	// Since is the first level that has the operation; 0 for the driver's extension.
	Since Level
	// Later names types of input 0 that came after both the type and the operation.
	Later map[nn.OperandType]Level
	// Forms are the lists of inputs; number and types of the inputs tell which one a call has.
	Forms   []Form
	Outputs []Operand
	// Rules are what holds besides types and ranks, in words.
	Rules []string
	// Extends says what the driver takes that the HAL does not.
	Extends []string

	// quant, when set, tests the quantisation rules.
	quant quantRule
	// attrs, when set, decodes and tests the parameters. It must cope with input shapes that are not
	// known yet, and report parameters that are not constant by ErrNotConstant.
	attrs func(c *Call, p *params, a *Attrs)
	// shapes computes the outputs from inputs whose shapes are known. It may complete a (implicit padding).
	shapes func(c *Call, a *Attrs) ([]nn.Dims, error)
	// runtime computes the output without constant parameters: of a RESHAPE, say, whose output's shape the
	// model states.
	runtime func(c *Call) (nn.Dims, error)
	// fed, when set, lets the parameter at position fedPosition be computed or fed at run time where the
	// model states the output's shape y: it gives the dimensions of the parameter and fails when no value of
	// it leads to y. Of a the parameter's field is missing.
	fed func(c *Call, a *Attrs, y nn.Dims) (nn.Dims, error)
}

// one is the only list of inputs of an operation.
func one(parts ...any) []Form { return []Form{{Inputs: list(parts...)}} }

// Types are those that input 0 may have.
func (r *Row) Types() Types { return r.Forms[0].Inputs[0].Types.With(-1) }

// SinceType is the first level that knows the operation with an input 0 of type t.
func (r *Row) SinceType(t nn.OperandType) Level {
	if level, ok := r.Later[t]; ok || r.Since == 0 {
		return level
	}
	return max(r.Since, introduced(t))
}

// QuantRule is the rule for scales and zero points in words, "" where there is none.
func (r *Row) QuantRule() string {
	if r.Types()&quant8 == 0 {
		return ""
	}
	return r.quant.text
}

// RunTime reports whether input i may be known only at run time although it is a parameter, where the model states the
// output's dimensions.
func (r *Row) RunTime(i int) bool { return (r.fed != nil || r.runtime != nil) && i == fedPosition }

// read is c with the form that its inputs have.
func (r *Row) read(c *Call) *Call {
	read := *c
	read.row, read.form = r, r.form(c)
	return &read
}

// Optional reports whether input i may be without a value. It needs the types of the operands only.
func (r *Row) Optional(c *Call, i int) bool {
	f, n := r.form(c), len(c.Op.Inputs)
	return takes(f.Inputs, n) && i < n && at(f.Inputs, i, n).Omissible
}

// decode reads the parameters; fed: but for the one that is fed at run time.
func (r *Row) decode(c *Call) (a Attrs, fed bool, err error) {
	if r.attrs == nil {
		return a, false, nil
	}
	p := &params{c: c, mayFeed: r.fed != nil}
	r.attrs(c, p, &a)
	return a, p.fed, p.err
}

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
	if _, _, err := r.decode(c); err != nil && !errors.Is(err, ErrNotConstant) {
		return err
	}
	return nil
}

// Infer decodes the parameters and computes the output shapes from the Dims of the inputs, which the
// caller has completed. It fails with ErrNotConstant, ErrOpenShape, or a plain error when shapes or
// values contradict each other. RESHAPE, SQUEEZE, EXPAND_DIMS, PAD, PAD_V2, MIRROR_PAD, TRANSPOSE and
// MEAN with a parameter that is not constant take the shape that the output operand states, the latter
// five with Inferred.Fed; no other row looks at the output's dimensions, which the caller compares
// (MergeDims). Precondition: Check passed.
func (r *Row) Infer(c *Call) (*Inferred, error) {
	c = r.read(c)
	// The ranks are tested again: the caller may have completed an unknown rank since Check.
	if err := r.checkSignature(c); err != nil {
		return nil, err
	}
	inf := &Inferred{}
	for i := range c.Op.Inputs {
		o, d := c.In(i), at(c.form.Inputs, i, len(c.Op.Inputs))
		if o == nil || !d.Data {
			continue
		}
		if !shapeKnown(o) {
			return nil, fmt.Errorf("input %d (%s): %w", i, d.Name, ErrOpenShape)
		}
		inf.Data = append(inf.Data, i)
	}
	var fed bool
	var err error
	inf.Attrs, fed, err = r.decode(c)
	switch {
	case err == nil && fed:
		inf.Shapes, err = r.inferFed(c, inf)
	case err == nil:
		inf.Shapes, err = r.shapes(c, &inf.Attrs)
	case errors.Is(err, ErrNotConstant) && r.runtime != nil:
		inf.Attrs = Attrs{}
		inf.Shapes = make([]nn.Dims, 1)
		inf.Shapes[0], err = r.runtime(c)
	}
	if err != nil {
		return nil, err
	}
	for i, d := range inf.Shapes {
		if err := checkShape(d, c.Out(i).Type); err != nil {
			return nil, fmt.Errorf("output %d (%s): %w", i, at(r.Outputs, i, len(inf.Shapes)).Name, err)
		}
	}
	return inf, nil
}

// checkShape tests that a result has a size that a buffer can have.
func checkShape(d nn.Dims, t nn.OperandType) error {
	if len(d) == 0 {
		return fmt.Errorf("no dimensions")
	}
	if !d.Known() {
		return fmt.Errorf("dimensions %v are empty", []uint32(d))
	}
	o := nn.Operand{Type: t, Dims: d}
	_, err := o.ByteSize()
	return err
}

// MergeDims joins the dimensions that a model states of an operand of type t, where 0 and a missing rank
// stand for unknown ones, with those that were inferred. It fails when they contradict each other.
func MergeDims(t nn.OperandType, stated, inferred nn.Dims) (nn.Dims, error) {
	if t.IsTensor() && len(stated) == 0 {
		return inferred, nil
	}
	if len(stated) != len(inferred) {
		return nil, fmt.Errorf("stated dimensions %v, the inputs give %v", []uint32(stated), []uint32(inferred))
	}
	merged := append(nn.Dims(nil), inferred...)
	for i, n := range stated {
		switch {
		case inferred[i] == 0:
			merged[i] = n
		case n != 0 && n != inferred[i]:
			return nil, fmt.Errorf("stated dimensions %v, the inputs give %v", []uint32(stated), []uint32(inferred))
		}
	}
	return merged, nil
}

// toDim makes a dimension of a computed size.
func toDim(n int64) (uint32, error) {
	if n < 1 {
		return 0, fmt.Errorf("size %d: the result is empty", n)
	}
	if n > math.MaxUint32 {
		return 0, fmt.Errorf("size %d exceeds 2^32-1", n)
	}
	return uint32(n), nil
}

// single makes the shapes function of an operation with one output.
func single(shape func(c *Call, a *Attrs) (nn.Dims, error)) func(*Call, *Attrs) ([]nn.Dims, error) {
	return func(c *Call, a *Attrs) ([]nn.Dims, error) {
		d, err := shape(c, a)
		return []nn.Dims{d}, err
	}
}

// keepShape is the shapes function of operations whose output is as large as input 0.
func keepShape(c *Call, _ *Attrs) ([]nn.Dims, error) {
	return []nn.Dims{append(nn.Dims(nil), c.In(0).Dims...)}, nil
}
