package ref

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/conformancedata"
)

// conformanceDir skips when the data is absent, and fails instead where NNGPU_REQUIRE demands it.
func conformanceDir(t *testing.T) string {
	t.Helper()
	dir, err := conformancedata.Dir()
	if err == nil {
		return dir
	}
	if strings.Contains(os.Getenv("NNGPU_REQUIRE"), "shared") {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// TestConformance proves the oracle: every conformance model made of its operations alone is accepted,
// in each arithmetic, and every invalid one is refused.
func TestConformance(t *testing.T) {
	dir := conformanceDir(t)
	for _, ar := range []Arithmetic{DoubleRounding, SingleRounding, Real} {
		t.Run(ar.String(), func(t *testing.T) {
			models, failures := 0, 0
			err := conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
				for _, op := range c.Operations {
					if !Known(op) {
						return nil
					}
				}
				models++
				got, err := runCase(c, ar)
				if c.ExpectFailure {
					failures++
					if err == nil {
						t.Errorf("%s/%s: succeeded, but must be refused", c.Folder, c.Name)
					}
					return nil
				}
				if err == nil {
					err = conformancedata.Compare(c, got)
				}
				if err != nil {
					t.Errorf("%s/%s: %v", c.Folder, c.Name, err)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 6868, models)
			require.Equal(t, 40, failures)
		})
	}
}

func runCase(c *conformancedata.Case, ar Arithmetic) ([]conformancedata.Result, error) {
	e, err := Evaluate(c.Model, c.Inputs, Options{Arithmetic: Always(ar)})
	if err != nil {
		return nil, err
	}
	return results(e), nil
}

func results(e *Evaluation) (got []conformancedata.Result) {
	for _, o := range e.Outputs {
		got = append(got, conformancedata.Result{Dims: dimsOf(o.Shape), Data: o.Bytes()})
	}
	return got
}

// TestVariations runs what the suite derives from its models: the signed twins of 8-bit models, and open
// output dimensions.
func TestVariations(t *testing.T) {
	dir := conformanceDir(t)
	twins, dynamic := 0, 0
	judge := func(c *conformancedata.Case) {
		got, err := runCase(c, DoubleRounding)
		if c.ExpectFailure {
			require.Error(t, err, c.Name)
			return
		}
		require.NoError(t, err, c.Name)
		require.NoError(t, conformancedata.Compare(c, got))
	}
	err := conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
		for _, op := range c.Operations {
			if !Known(op) {
				return nil
			}
		}
		if v, ok := c.SignedTwin(); ok {
			twins++
			judge(v)
		}
		if v, ok := c.DynamicOutputs(); ok {
			dynamic++
			judge(v)
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, twins)
	require.Equal(t, 6868-40-17, dynamic) // of RANK, whose result is a scalar, the suite derives none
}
