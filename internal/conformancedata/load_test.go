package conformancedata

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedDir skips when the data is absent, and fails instead where NNGPU_REQUIRE demands it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := Dir()
	if err == nil {
		return dir
	}
	if strings.Contains(os.Getenv("NNGPU_REQUIRE"), "shared") {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// TestLoadAll reads every model and checks the counts of the data's README, and that the expected
// outputs pass their own acceptance.
func TestLoadAll(t *testing.T) {
	dir := sharedDir(t)
	type count struct{ models, failures, relaxed int }
	got := map[string]count{}
	names := map[string]bool{}
	err := Load(dir, nil, func(c *Case) error {
		n := got[c.Folder]
		n.models++
		if c.ExpectFailure {
			n.failures++
		}
		if c.Relaxed {
			n.relaxed++
		}
		got[c.Folder] = n
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
		require.NotEmpty(t, c.Operations, c.Name)
		require.Len(t, c.Inputs, len(c.Model.Main.Inputs), c.Name)
		for i := range c.Model.Main.Operands {
			o := &c.Model.Main.Operands[i]
			v, err := c.Model.Value(o)
			require.NoError(t, err, "%s operand %d", c.Name, i)
			require.Zero(t, o.Location.Offset%4*uint32(min(len(v), 1)), "%s operand %d", c.Name, i)
		}
		if c.ExpectFailure || c.MultinomialTolerance > 0 {
			return nil
		}
		res := make([]Result, len(c.Expected))
		for i, e := range c.Expected {
			res[i] = Result{Dims: e.Dims, Data: e.Data}
		}
		return Compare(c, res)
	})
	require.NoError(t, err)
	require.Equal(t, map[string]count{
		"V1_0": {297, 0, 0}, "V1_1": {462, 0, 295}, "V1_2": {4101, 35, 934}, "V1_3": {2208, 8, 159},
		"V1_3_cts_only": {221, 5, 38}, "AIDL_V2": {62, 0, 0}, "AIDL_V3": {138, 0, 0},
	}, got)
}

func TestLoadFilterAndStop(t *testing.T) {
	dir := sharedDir(t)
	n := 0
	require.NoError(t, Load(dir, func(name string) bool { return strings.HasPrefix(name, "add") }, func(c *Case) error {
		require.True(t, strings.HasPrefix(c.Name, "add"))
		n++
		if n == 3 {
			return ErrStop
		}
		return nil
	}))
	require.Equal(t, 3, n)
	want := errors.New("own error")
	require.Equal(t, want, Load(dir, nil, func(*Case) error { return want }))
}

func TestLoadMissing(t *testing.T) {
	require.ErrorIs(t, Load(t.TempDir(), nil, nil), ErrAbsent)
}
