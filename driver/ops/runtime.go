package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// runtimePosition is where operations have the parameter that need not be a constant.
const runtimePosition = 1

// inferRuntime takes the output's shape from the model.
func (t typed[A]) inferRuntime(c *Call, a *A, inf *Inferred) error {
	y, at := c.Out(0), fmt.Sprintf("input %d (%s)", runtimePosition, c.form.Inputs[runtimePosition].Name)
	if !shapeKnown(y) {
		return fmt.Errorf("%s: %w", at, ErrNotConstant)
	}
	dims, err := t.runtime(c, a, y.Dims)
	if err != nil {
		return err
	}
	if !dims.Known() {
		return fmt.Errorf("%s: %w", at, ErrOpenShape)
	}
	if _, err := MergeDims(nn.TensorInt32, c.In(runtimePosition).Dims, dims); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	inf.RuntimeParam, inf.RuntimeDims = runtimePosition, dims
	inf.Shapes = []nn.Dims{append(nn.Dims(nil), y.Dims...)}
	return nil
}

// padRuntime: paddings make no dimension smaller.
func padRuntime(c *Call, _ *Padding, y nn.Dims) (nn.Dims, error) {
	return grown(c, y, func(int64) int64 { return math.MaxUint32 })
}

// mirrorPadRuntime: the limits of mirrorPadShape on both sides.
func mirrorPadRuntime(c *Call, a *MirrorPadding, y nn.Dims) (nn.Dims, error) {
	return grown(c, y, func(n int64) int64 {
		if a.Symmetric {
			return 2 * n
		}
		return 2 * (n - 1)
	})
}

// grown compares the shapes before and after paddings of unknown size; most is how much larger a dimension
// of n elements may become.
func grown(c *Call, y nn.Dims, most func(n int64) int64) (nn.Dims, error) {
	x := c.In(0).Dims
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

func transposeRuntime(c *Call, _ *Transpose, y nn.Dims) (nn.Dims, error) {
	x := c.In(0).Dims
	from, to := slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	if !slices.Equal(from, to) {
		return nil, fmt.Errorf("no permutation makes %v of %v", []uint32(y), []uint32(x))
	}
	return nn.Dims{uint32(len(x))}, nil
}

// meanRuntime tries every set of axes: at most 16 of them, since the rank is at most 4.
func meanRuntime(c *Call, _ *Mean, y nn.Dims) (nn.Dims, error) {
	rank := len(c.In(0).Dims)
	for set := range 1 << rank {
		var a Mean
		for i := range rank {
			if set>>i&1 != 0 {
				a.Axes = append(a.Axes, i)
			}
		}
		got, err := meanShape(c, &a)
		if err != nil {
			return nil, err
		}
		if !got.Equal(y) {
			continue
		}
		n := nn.Dims{0}
		if stated := c.In(runtimePosition).Dims; len(stated) > 0 {
			n[0] = stated[0]
		}
		if n[0] > MaxIndices {
			return nil, fmt.Errorf("%d axes", n[0])
		}
		return n, nil
	}
	return nil, fmt.Errorf("no axes reduce %v to %v", []uint32(c.In(0).Dims), []uint32(y))
}
