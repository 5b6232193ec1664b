package conformancedata

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/numbers"
)

// Tolerance is the largest accepted difference: |actual - expected| <= Abs + Rel*|expected|. It covers no
// expected infinity.
type Tolerance struct{ Abs, Rel float64 }

// From the NNAPI test harness, TestHarness.cpp: 5 ULP of each format. relaxed float32 is judged as
// float16.
var (
	toleranceFloat32 = Tolerance{1e-5, 5.0 / (1 << 23)}
	toleranceFloat16 = Tolerance{5.0 / (1 << 10), 5.0 / (1 << 10)}
	toleranceInt     = Tolerance{1, 0}
	toleranceExact   = Tolerance{0, 0}
	// toleranceNetwork is for the quantised types in tests of a whole network.
	toleranceNetwork = Tolerance{3, 0}
)

// Tolerance returns the tolerance of an output of type t of this model. It fails for a type that the suite has no rule
// for.
func (c *Case) Tolerance(t nn.OperandType) (Tolerance, error) {
	switch t {
	case nn.TensorFloat32:
		if c.Relaxed || c.usesFloat16() {
			return toleranceFloat16, nil
		}
		return toleranceFloat32, nil
	case nn.TensorFloat16:
		return toleranceFloat16, nil
	case nn.TensorInt32, nn.Int32, nn.TensorQuant16Asymm, nn.TensorQuant16Symm:
		return toleranceInt, nil
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
		if strings.Contains(c.Name, "mobilenet") {
			return toleranceNetwork, nil
		}
		return toleranceInt, nil
	case nn.TensorBool8:
		return toleranceExact, nil
	}
	return Tolerance{}, fmt.Errorf("no acceptance rule for an output of type %s", t)
}

// usesFloat16 reports whether any operand of any graph is a float16 tensor; a scalar does not count.
func (c *Case) usesFloat16() bool {
	has := func(g *nn.Graph) bool {
		for i := range g.Operands {
			if g.Operands[i].Type == nn.TensorFloat16 {
				return true
			}
		}
		return false
	}
	if has(&c.Model.Main) {
		return true
	}
	for i := range c.Model.Referenced {
		if has(&c.Model.Referenced[i]) {
			return true
		}
	}
	return false
}

// Compare judges the outputs that an engine computed for c; nil means accepted. It has no opinion on a
// case that is expected to fail: that must have ended with an error before there was anything to compare.
func Compare(c *Case, got []Result) error {
	if c.ExpectFailure {
		return fmt.Errorf("%s: succeeded, but an error is expected", c.Name)
	}
	if len(got) != len(c.Expected) {
		return fmt.Errorf("%s: %d outputs, want %d", c.Name, len(got), len(c.Expected))
	}
	for i := range got {
		if err := c.compareOutput(i, got[i]); err != nil {
			return fmt.Errorf("%s: output %d: %w", c.Name, i, err)
		}
	}
	return nil
}

func (c *Case) compareOutput(i int, got Result) error {
	want := &c.Expected[i]
	if !got.Dims.Equal(want.Dims) {
		return fmt.Errorf("dimensions %v, want %v", []uint32(got.Dims), []uint32(want.Dims))
	}
	if len(got.Data) != len(want.Data) {
		return fmt.Errorf("%d bytes, want %d", len(got.Data), len(want.Data))
	}
	if c.MultinomialTolerance > 0 {
		return c.compareMultinomial(i, got.Data)
	}
	if want.Ignored {
		return nil
	}
	t := c.Model.Main.Operands[c.Model.Main.Outputs[i]].Type
	tol, err := c.Tolerance(t)
	if err != nil {
		return err
	}
	if err := noNaN(t, want.Data); err != nil {
		return err
	}
	return CompareValues(t, tol, got.Data, want.Data)
}

// noNaN refuses an expectation that no driver could be held to: in the suite as well an expected NaN is an error of the
// test.
func noNaN(t nn.OperandType, want []byte) error {
	e, err := numbers.Of(t, want)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(e, math.IsNaN); i >= 0 {
		return fmt.Errorf("element %d is expected to be NaN, which is an error of the test", i)
	}
	return nil
}

// CompareValues compares two arrays of equal length with elements of type t, each element by tol in
// double precision; an infinity or NaN must be met exactly, whatever the tolerance. The error tells the
// first and the largest difference and how many elements differ too much.
func CompareValues(t nn.OperandType, tol Tolerance, got, want []byte) error {
	a, err := numbers.Of(t, got)
	if err != nil {
		return err
	}
	e, err := numbers.Of(t, want)
	if err != nil {
		return err
	}
	if len(a) != len(e) {
		return fmt.Errorf("%d elements, want %d", len(a), len(e))
	}
	first, bad, worst, worstAt := -1, 0, -1.0, -1
	for i := range e {
		if numbers.Near(a[i], e[i], tol.Abs, tol.Rel) {
			continue
		}
		if first < 0 {
			first = i
		}
		bad++
		if diff := numbers.Distance(a[i], e[i]); diff > worst {
			worst, worstAt = diff, i
		}
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements differ: first [%d] is %v, want %v; worst [%d] is %v, want %v",
		bad, len(e), first, a[first], e[first], worstAt, a[worstAt], e[worstAt])
}
