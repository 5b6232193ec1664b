package modeldata

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/numbers"
)

// Difference is how far an output lies from what was expected: in steps of the output scale for a
// quantised one, absolute for floats.
type Difference struct {
	Max, Mean float64
}

// Compare measures the difference of two dense tensors of type t. An infinity or NaN differs infinitely from all
// but itself, and so do tensors of unequal length.
func Compare(t nn.OperandType, got, want []byte) (Difference, error) {
	if len(got) != len(want) {
		return Difference{math.Inf(1), math.Inf(1)}, fmt.Errorf("%d bytes, expected %d", len(got), len(want))
	}
	g, err := numbers.Of(t, got)
	if err != nil {
		return Difference{math.Inf(1), math.Inf(1)}, err
	}
	w, err := numbers.Of(t, want)
	if err != nil {
		return Difference{math.Inf(1), math.Inf(1)}, err
	}
	var d Difference
	for i := range g {
		diff := numbers.Distance(g[i], w[i])
		d.Max = max(d.Max, diff)
		d.Mean += diff / float64(len(g))
	}
	return d, nil
}

// Within reports whether d is allowed for output i. Detected judges outputs that are lists.
func (f *Folder) Within(i int, d Difference) error {
	for _, t := range f.Tolerances {
		if t.Output != i {
			continue
		}
		if t.Kind == kindDetections {
			return nil
		}
		if !(d.Max <= t.Max) {
			return fmt.Errorf("output %d differs by %.3g, at most %.3g is allowed (%s)", i, d.Max, t.Max, t.Kind)
		}
		if t.Mean > 0 && !(d.Mean <= t.Mean) {
			return fmt.Errorf("output %d differs by %.3g on average, at most %.3g is allowed (%s)", i, d.Mean, t.Mean, t.Kind)
		}
		return nil
	}
	return fmt.Errorf("meta.json states no tolerance for output %d", i)
}
