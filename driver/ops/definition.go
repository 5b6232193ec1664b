package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// definition is what a family states about an operation; row turns it into the two functions of Row.
type definition struct {
	t nn.OperationType
	// form picks the input list by number and types of inputs; nil when none fits the number.
	form func(c *Call) *form
	out  arg
	// quant, when set, tests the quantisation rules.
	quant func(c *Call) error
	// attrs, when set, decodes and tests the parameters. It must cope with input shapes that are not
	// known yet, and report parameters that are not constant by ErrNotConstant.
	attrs func(c *Call, p *params, a *Attrs)
	// shape computes the output from inputs whose shapes are known. It may complete a (implicit padding).
	shape func(c *Call, a *Attrs) (nn.Dims, error)
	// runtime allows shape without constant parameters: a is then incomplete, and shape must not use it.
	runtime func(c *Call) (nn.Dims, error)
	// fed, when set, lets the parameter at position fedPosition be computed or fed at run time where the
	// model states the output's shape y: it gives the dimensions of the parameter and fails when no value of
	// it leads to y. Of a the parameter's field is missing.
	fed func(c *Call, a *Attrs, y nn.Dims) (nn.Dims, error)
}

// one is the form function of an operation with a single form.
func one(counts []int, parts ...any) func(*Call) *form {
	f := &form{args: list(parts...), counts: counts}
	return func(*Call) *form { return f }
}

func (d definition) row() Row {
	return Row{Type: d.t, Check: d.check, Infer: d.infer, Optional: d.optional}
}

func rows(defs ...definition) []Row {
	var rs []Row
	for _, d := range defs {
		rs = append(rs, d.row())
	}
	return rs
}

func (d *definition) signature(c *Call) (*form, error) {
	f := d.form(c)
	if f == nil {
		return nil, fmt.Errorf("%d inputs", len(c.Op.Inputs))
	}
	return f, c.checkSignature(f, d.out)
}

func (d *definition) optional(c *Call, i int) bool {
	f := d.form(c)
	return f != nil && i < len(f.args) && f.args[i].omit
}

// decode reads the parameters; fed: but for the one that is fed at run time.
func (d *definition) decode(c *Call) (a Attrs, fed bool, err error) {
	if d.attrs == nil {
		return a, false, nil
	}
	p := &params{c: c, mayFeed: d.fed != nil}
	d.attrs(c, p, &a)
	return a, p.fed, p.err
}

func (d *definition) check(c *Call) error {
	if _, err := d.signature(c); err != nil {
		return err
	}
	if d.quant != nil {
		if err := d.quant(c); err != nil {
			return err
		}
	}
	if _, _, err := d.decode(c); err != nil && !errors.Is(err, ErrNotConstant) {
		return err
	}
	return nil
}

func (d *definition) infer(c *Call) (*Inferred, error) {
	// The ranks are tested again: the caller may have completed an unknown rank since Check.
	f, err := d.signature(c)
	if err != nil {
		return nil, err
	}
	inf := &Inferred{}
	for i := range c.Op.Inputs {
		o := c.In(i)
		if o == nil || !f.args[i].data {
			continue
		}
		if !shapeKnown(o) {
			return nil, fmt.Errorf("input %d (%s): %w", i, f.args[i].name, ErrOpenShape)
		}
		inf.Data = append(inf.Data, i)
	}
	var dims nn.Dims
	var fed bool
	inf.Attrs, fed, err = d.decode(c)
	switch {
	case err == nil && fed:
		dims, err = d.inferFed(c, inf)
	case err == nil:
		dims, err = d.shape(c, &inf.Attrs)
	case errors.Is(err, ErrNotConstant) && d.runtime != nil:
		inf.Attrs = Attrs{}
		dims, err = d.runtime(c)
	}
	if err != nil {
		return nil, err
	}
	if err := checkShape(dims, c.Out(0).Type); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	inf.Shapes = []nn.Dims{dims}
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

// keepShape is the shape function of operations whose output is as large as input 0.
func keepShape(c *Call, _ *Attrs) (nn.Dims, error) {
	return append(nn.Dims(nil), c.In(0).Dims...), nil
}
