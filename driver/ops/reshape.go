package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// RESHAPE, SQUEEZE and EXPAND_DIMS only rename elements, so that only the output's shape matters. If their parameter is
// not a constant, the dimensions that the model states for the output are taken.
func init() {
	register(
		Row{
			Type: nn.OpReshape, Since: 1, Empty: AnyEmpty, Later: map[nn.OperandType]Level{nn.TensorInt32: 6},
			Forms:   one(input(withInt32, extended), indices("shape", exactly(1), "positive sizes; one may be -1").runtime()),
			Outputs: result(extended),
			quant:   sameQuant,
			rules: typed[none]{
				attrs:  func(p *params, _ *none) { reshapeSizes(p) },
				shapes: single(reshapeShape), runtime: sameElements[none],
			},
		},
		Row{
			Type: nn.OpSqueeze, Since: 2, Empty: AnyEmpty,
			Forms:   one(input(numbers, extended), indices("axes", exactly(1), "of size 1; without a value all of size 1").omissible().runtime()),
			Outputs: result(extended),
			quant:   sameQuant,
			rules: typed[none]{
				attrs:  func(p *params, _ *none) { p.int32s("axes") },
				shapes: single(squeezeShape), runtime: sameElements[none],
			},
		},
		Row{
			Type: nn.OpExpandDims, Since: 3, Empty: AnyEmpty,
			Forms: one(input(withInt32, AnyRank), int32Of("axis", "-(rank+1) to rank").runtime()), Outputs: result(AnyRank),
			quant: sameQuant,
			rules: typed[ExpandDims]{attrs: expandDimsAttrs, shapes: single(expandDimsShape), runtime: sameElements[ExpandDims]},
		},
	)
}

// reshapeSizes reads and tests the shape, of which one size may be -1.
func reshapeSizes(p *params) []int32 {
	sizes, _ := p.int32s("shape")
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
	return sizes
}

func reshapeShape(p *params, _ *none) (nn.Dims, error) {
	sizes := reshapeSizes(p)
	have, err := p.In(0).Dims.Elements()
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

// squeezeShape drops the named axes, or all of size 1 if none are named. If no dimension is left, the result is [1].
func squeezeShape(p *params, _ *none) (nn.Dims, error) {
	x := p.In(0).Dims
	drop := make([]bool, len(x))
	if axes, ok := p.int32s("axes"); ok {
		for _, v := range axes {
			drop[p.axis(v, len(x))] = true
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

// ExpandDims are the attributes of EXPAND_DIMS.
type ExpandDims struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis <= rank; 0 where it is known only at run time
}

func (ExpandDims) attrs() {}

// expandDimsAttrs: the axis is one of the output, -(rank+1) .. rank.
func expandDimsAttrs(p *params, a *ExpandDims) {
	axis, ok := p.int32("axis")
	if rank := p.rank(); ok && rank > 0 {
		a.Axis = p.axis(axis, rank+1)
	}
}

func expandDimsShape(p *params, a *ExpandDims) (nn.Dims, error) {
	x, k := p.In(0).Dims, a.Axis
	out := append(nn.Dims(nil), x[:k]...)
	out = append(out, 1)
	return append(out, x[k:]...), nil
}
