package ops

import (
	"encoding/json"
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
)

// typed is the part of a row that knows the type of its attributes.
type typed[A Attrs] struct {
	// attrs, when set, decodes and tests the parameters. It must cope with input shapes that are not
	// known yet, and report parameters that are not constant by ErrNotConstant.
	attrs func(c *Call, p *params, a *A)
	// shapes computes the outputs from inputs whose shapes are known. It may complete a (implicit padding).
	shapes func(c *Call, a *A) ([]nn.Dims, error)
	// stated, when set, gives the output's shape where parameters are not constants: RESHAPE, say, takes what the model
	// states.
	stated func(c *Call) (nn.Dims, error)
	// runtime, when set, allows a parameter at runtimePosition that is not a constant, where the model states the output's
	// shape y. It gives the dimensions of the parameter, and fails when no value of it leads to y. The parameter's field in a
	// is not set.
	runtime func(c *Call, a *A, y nn.Dims) (nn.Dims, error)
	// leads: input 0 is a parameter that shapes does without where the model states the output's shape.
	leads bool
}

// untyped is the part of a row without parameters.
func untyped(shapes func(*Call, *none) ([]nn.Dims, error)) typed[none] {
	return typed[none]{shapes: shapes}
}

// decode reads the parameters. runtime reports that the one at runtimePosition is not a constant, and may be none.
func (t typed[A]) decode(c *Call) (a *A, runtime bool, err error) {
	a = new(A)
	if t.attrs == nil {
		return a, false, nil
	}
	p := &params{c: c, mayBeRuntime: t.runtime != nil}
	t.attrs(c, p, a)
	return a, p.runtime, p.err
}

func (t typed[A]) check(c *Call) error {
	if _, _, err := t.decode(c); err != nil && !errors.Is(err, ErrNotConstant) {
		return err
	}
	return nil
}

func (t typed[A]) infer(c *Call, inf *Inferred) error {
	a, runtime, err := t.decode(c)
	switch {
	case err == nil && runtime:
		err = t.inferRuntime(c, a, inf)
	case err == nil:
		inf.Shapes, err = t.shapes(c, a)
	case errors.Is(err, ErrNotConstant) && t.stated != nil:
		a, inf.Shapes = new(A), make([]nn.Dims, 1)
		inf.Shapes[0], err = t.stated(c)
	}
	inf.Attrs = valueOf(a)
	return err
}

func (t typed[A]) fits(a Attrs) bool {
	if a == nil {
		return valueOf(new(A)) == nil
	}
	_, ok := a.(A)
	return ok
}

func (t typed[A]) mayRun(i int) bool {
	return i == runtimePosition && (t.runtime != nil || t.stated != nil) || i == 0 && t.leads
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
func single[A Attrs](shape func(*Call, *A) (nn.Dims, error)) func(*Call, *A) ([]nn.Dims, error) {
	return func(c *Call, a *A) ([]nn.Dims, error) {
		d, err := shape(c, a)
		return []nn.Dims{d}, err
	}
}

// keepShape is the shapes function of operations whose output is as large as input 0.
func keepShape[A Attrs](c *Call, _ *A) ([]nn.Dims, error) {
	return []nn.Dims{append(nn.Dims(nil), c.In(0).Dims...)}, nil
}
