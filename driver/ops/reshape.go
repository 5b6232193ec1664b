package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// RESHAPE, SQUEEZE and EXPAND_DIMS only rename elements, so that all that counts is the output's shape.
// Where their parameter is not constant, the dimensions that the model states of the output are taken.
func init() {
	register(rows(
		definition{
			t:       nn.OpReshape,
			form:    one(nil, input(withInt32, extended), indices("shape", exactly(1), false)),
			out:     like("output", extended),
			quant:   sameQuant,
			attrs:   reshapeAttrs,
			shape:   reshapeShape,
			runtime: statedShape,
		},
		definition{
			t:       nn.OpSqueeze,
			form:    one(nil, input(numbers, extended), indices("axes", exactly(1), true)),
			out:     like("output", extended),
			quant:   sameQuant,
			attrs:   func(c *Call, p *params, a *Attrs) { p.int32s(1) },
			shape:   squeezeShape,
			runtime: statedShape,
		},
		definition{
			t:       nn.OpExpandDims,
			form:    one(nil, input(withInt32, anyRank), int32s("axis")),
			out:     like("output", anyRank),
			quant:   sameQuant,
			attrs:   expandDimsAttrs,
			shape:   expandDimsShape,
			runtime: statedShape,
		},
	)...)
}

// statedShape takes the output's dimensions from the model.
func statedShape(c *Call) (nn.Dims, error) {
	x, y := c.In(0), c.Out(0)
	if !shapeKnown(y) {
		return nil, fmt.Errorf("input 1: %w", ErrNotConstant)
	}
	n, err := x.Dims.Elements()
	if err != nil {
		return nil, err
	}
	m, err := y.Dims.Elements()
	if err != nil {
		return nil, err
	}
	if n != m {
		return nil, fmt.Errorf("input %v has %d elements, output %v has %d", []uint32(x.Dims), n, []uint32(y.Dims), m)
	}
	return append(nn.Dims(nil), y.Dims...), nil
}

// reshapeSizes reads and tests the shape, of which one size may be -1. The value may lie in memory that
// others write to, so what is read is tested each time.
func reshapeSizes(p *params) (sizes []int32, ok bool) {
	sizes, ok = p.int32s(1)
	if !ok {
		return nil, false
	}
	free := 0
	for _, n := range sizes {
		switch {
		case n == -1:
			free++
		case n < 1:
			p.fail("size %d in shape %v", n, sizes)
		}
	}
	if len(sizes) > MaxRank || free > 1 {
		p.fail("shape %v has more than %d dimensions or more than one open size", sizes, MaxRank)
	}
	return sizes, p.err == nil
}

func reshapeAttrs(_ *Call, p *params, _ *Attrs) { reshapeSizes(p) }

func reshapeShape(c *Call, _ *Attrs) (nn.Dims, error) {
	p := &params{c: c}
	sizes, ok := reshapeSizes(p)
	if !ok {
		return nil, p.err
	}
	have, err := c.In(0).Dims.Elements()
	if err != nil {
		return nil, err
	}
	out, open := make(nn.Dims, len(sizes)), -1
	for i, n := range sizes {
		if n == -1 {
			out[i], open = 1, i
			continue
		}
		out[i] = uint32(n)
	}
	want, err := out.Elements()
	if err != nil {
		return nil, err
	}
	if open >= 0 && have%want == 0 {
		out[open] = have / want
		return out, nil
	}
	if open >= 0 || have != want {
		return nil, fmt.Errorf("%d elements cannot have the shape %v", have, sizes)
	}
	return out, nil
}

// squeezeShape drops the named axes, all of size 1 when none are named. What is left of nothing is [1].
func squeezeShape(c *Call, _ *Attrs) (nn.Dims, error) {
	x := c.In(0).Dims
	drop := make([]bool, len(x))
	p := &params{c: c}
	if axes, ok := p.int32s(1); ok {
		for _, v := range axes {
			drop[p.axis(v, len(x))] = true
		}
		if p.err != nil {
			return nil, p.err
		}
	} else {
		for i, n := range x {
			drop[i] = n == 1
		}
	}
	var out nn.Dims
	for i, n := range x {
		if !drop[i] {
			out = append(out, n)
		} else if n != 1 {
			return nil, fmt.Errorf("axis %d of %v is not 1", i, []uint32(x))
		}
	}
	if len(out) == 0 {
		out = nn.Dims{1}
	}
	return out, nil
}

// expandDimsAttrs: the axis counts in the output, -(rank+1) .. rank.
func expandDimsAttrs(c *Call, p *params, a *Attrs) {
	axis, ok := p.int32(1)
	if rank := c.rank(); ok && rank > 0 {
		a.Axes = []int{p.axis(axis, rank+1)}
	}
}

func expandDimsShape(c *Call, a *Attrs) (nn.Dims, error) {
	x, k := c.In(0).Dims, a.Axes[0]
	out := append(nn.Dims(nil), x[:k]...)
	out = append(out, 1)
	return append(out, x[k:]...), nil
}
