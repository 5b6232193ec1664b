package ops

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
)

// typed is the part of a row that knows the type of its attributes.
type typed[A Attrs] struct {
	// attrs, when set, decodes and tests the parameters. It must cope with input shapes that are not
	// known yet, and with parameters that are not constants.
	attrs func(p *params, a *A)
	// shapes computes the outputs from inputs whose shapes are known. It may complete a (implicit padding).
	shapes func(p *params, a *A) ([]nn.Dims, error)
	// runtime is set if an operand may be known only at run time (Operand.Runtime), the model stating the output's
	// shape y. It fails if no value of the operand leads to y, and gives the operand's dimensions, nil if no kernel
	// reads it. The field of a that it stands for is not set.
	runtime func(p *params, a *A, y nn.Dims) (nn.Dims, error)
}

// untyped is the part of a row without parameters.
func untyped(shapes func(*params, *none) ([]nn.Dims, error)) typed[none] {
	return typed[none]{shapes: shapes}
}

// decode reads the parameters.
func (t typed[A]) decode(c *Call) (*params, *A) {
	p, a := &params{Call: c, runtime: -1}, new(A)
	if t.attrs != nil {
		t.attrs(p, a)
	}
	return p, a
}

func (t typed[A]) check(c *Call) error {
	if p, _ := t.decode(c); !errors.Is(p.err, ErrNotConstant) {
		return p.err
	}
	return nil
}

func (t typed[A]) infer(c *Call, inf *Inferred) (err error) {
	p, a := t.decode(c)
	switch {
	case p.err != nil:
	case p.runtime >= 0:
		err = t.inferRuntime(p, a, inf)
	default:
		inf.Shapes, err = t.shapes(p, a)
	}
	inf.Attrs = valueOf(a)
	return cmp.Or(p.err, err)
}

func (t typed[A]) fits(a Attrs) bool {
	if a == nil {
		return valueOf(new(A)) == nil
	}
	_, ok := a.(A)
	return ok
}

func (t typed[A]) parse(text []byte) (Attrs, error) {
	a := new(A)
	if err := json.Unmarshal(text, a); err != nil {
		return nil, err
	}
	return valueOf(a), nil
}

func valueOf[A Attrs](a *A) Attrs {
	attrs := Attrs(*a)
	if _, without := attrs.(none); without {
		return nil
	}
	return attrs
}

// single makes the shapes function of an operation with one output.
func single[A Attrs](shape func(*params, *A) (nn.Dims, error)) func(*params, *A) ([]nn.Dims, error) {
	return func(p *params, a *A) ([]nn.Dims, error) {
		d, err := shape(p, a)
		return []nn.Dims{d}, err
	}
}

// keepShape is the shapes function of operations whose output is as large as input 0.
func keepShape[A Attrs](p *params, _ *A) ([]nn.Dims, error) {
	return []nn.Dims{append(nn.Dims(nil), p.In(0).Dims...)}, nil
}
