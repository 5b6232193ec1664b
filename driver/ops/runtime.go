package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// inferRuntime takes the output's shape from the model.
func (t typed[A]) inferRuntime(p *params, a *A, inf *Inferred) error {
	y, param := p.Out(0), p.In(p.runtime)
	fail := func(err error) error {
		return fmt.Errorf("input %d (%s): %w", p.runtime, p.form.Inputs[p.runtime].Name, err)
	}
	if !shapeKnown(y) {
		return fail(ErrNotConstant)
	}
	dims, err := t.runtime(p, a, y.Dims)
	if err != nil {
		return err
	}
	inf.Shapes = []nn.Dims{append(nn.Dims(nil), y.Dims...)}
	if dims == nil {
		return nil
	}
	if !dims.Known() {
		return fail(ErrOpenShape)
	}
	if _, err := MergeDims(nn.TensorInt32, param.Dims, dims); err != nil {
		return fail(err)
	}
	inf.RuntimeParam, inf.RuntimeDims = p.runtime, dims
	return nil
}

// sameElements is for operations that only rename elements.
func sameElements[A Attrs](p *params, _ *A, y nn.Dims) (nn.Dims, error) {
	x := p.In(0).Dims
	n, err := x.Elements()
	if err != nil {
		return nil, err
	}
	m, err := y.Elements()
	if err == nil && n != m {
		err = fmt.Errorf("input %v has %d elements, output %v has %d", []uint32(x), n, []uint32(y), m)
	}
	return nil, err
}

// padRuntime: paddings make no dimension smaller.
func padRuntime(p *params, _ *Padding, y nn.Dims) (nn.Dims, error) {
	return grown(p, y, func(int64) int64 { return math.MaxUint32 })
}

// mirrorPadRuntime: the limits of mirrorPadShape on both sides.
func mirrorPadRuntime(p *params, a *MirrorPadding, y nn.Dims) (nn.Dims, error) {
	return grown(p, y, func(n int64) int64 {
		if a.Symmetric {
			return 2 * n
		}
		return 2 * (n - 1)
	})
}

// grown compares the shapes before and after paddings of unknown size; most is how much larger a dimension
// of n elements may become.
func grown(p *params, y nn.Dims, most func(n int64) int64) (nn.Dims, error) {
	x := p.In(0).Dims
	if len(x) != len(y) {
		return nil, fmt.Errorf("output %v of an input %v", []uint32(y), []uint32(x))
	}
	for i, n := range x {
		if d := int64(y[i]) - int64(n); d < 0 || d > most(int64(n)) {
			return nil, fmt.Errorf("no paddings make %v of %v", []uint32(y), []uint32(x))
		}
	}
	return nn.Dims{uint32(len(x)), 2}, nil
}

func transposeRuntime(p *params, _ *Transpose, y nn.Dims) (nn.Dims, error) {
	x := p.In(0).Dims
	from, to := slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	if !slices.Equal(from, to) {
		return nil, fmt.Errorf("no permutation makes %v of %v", []uint32(y), []uint32(x))
	}
	return nn.Dims{uint32(len(x))}, nil
}

// meanRuntime tries every set of axes: at most 16 of them, since the rank is at most 4.
func meanRuntime(p *params, _ *Mean, y nn.Dims) (nn.Dims, error) {
	rank := len(p.In(0).Dims)
	for set := range 1 << rank {
		var a Mean
		for i := range rank {
			if set>>i&1 != 0 {
				a.Axes = append(a.Axes, i)
			}
		}
		got, err := meanShape(p, &a)
		if err != nil {
			return nil, err
		}
		if !got.Equal(y) {
			continue
		}
		n := nn.Dims{0}
		if stated := p.In(p.runtime).Dims; len(stated) > 0 {
			n[0] = stated[0]
		}
		if n[0] > MaxIndices {
			return nil, fmt.Errorf("%d axes", n[0])
		}
		return n, nil
	}
	return nil, fmt.Errorf("no axes reduce %v to %v", []uint32(p.In(0).Dims), []uint32(y))
}
