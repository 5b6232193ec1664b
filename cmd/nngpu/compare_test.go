package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rounds are the medians of n rounds of a build, which drift together with the machine.
func rounds(rng *rand.Rand, n int, factor, noise float64) (before, after []float64) {
	for range n {
		drift := math.Exp(0.2 * rng.NormFloat64()) // of the machine, between rounds
		before = append(before, 10*drift*math.Exp(noise*rng.NormFloat64()))
		after = append(after, 10*factor*drift*math.Exp(noise*rng.NormFloat64()))
	}
	return before, after
}

// TestTrueChangesAreFound: 3 % in pairs with 1 % of noise each, on a machine that drifts by 20 %.
func TestTrueChangesAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const trials = 300
	for factor, want := range map[float64]string{1.03: slower, 1 / 1.03: faster} {
		found := 0
		for range trials {
			before, after := rounds(rng, 10, factor, 0.01)
			c, ok := compareFigure("latency", before, after)
			require.True(t, ok)
			require.True(t, c.Paired)
			if c.Verdict == want {
				found++
			}
		}
		require.Greater(t, found, trials*95/100, "%g", factor)
	}
}

// TestNoiseIsNotFound: of what did not change one in twenty is taken for a change, by either estimator.
func TestNoiseIsNotFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const trials = 2000
	paired, unpaired := 0, 0
	for range trials {
		before, after := rounds(rng, 8, 1, 0.03)
		if c, _ := compareFigure("latency", before, after); c.Verdict != same {
			paired++
		}
		if c, _ := compareFigure("latency", before, after[:7]); c.Verdict != same {
			unpaired++
		}
	}
	require.Less(t, paired, trials*7/100)
	require.Less(t, unpaired, trials*7/100)
	before, after := rounds(rng, 5, 2, 0.01)
	c, _ := compareFigure("latency", before, after)
	require.Equal(t, tooFew, c.Verdict, "five pairs cannot tell, whatever they show")
	require.Nil(t, c.Low)
}

// compareCall writes results and compares them; it returns what was printed and the exit code.
func compareCall(t *testing.T, before, after string, flags ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	for i, text := range []string{before, after} {
		require.NoError(t, os.WriteFile(paths[i], []byte(text), 0o600))
	}
	var out, errOut bytes.Buffer
	code = run(t.Context(), append(append([]string{"bench", "--compare"}, flags...), paths...), &out, &errOut, func(int) { t.Error("exit") })
	return out.String(), errOut.String(), code
}

func TestCompareFiles(t *testing.T) {
	series := func(latency, hit float64) string {
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, "{\"device\": \"d\", \"latency_ms\": {\"median\": %g}, \"cold_start_ms\": 100}\n{\"hit_ms\": %g}\n", latency+float64(i)/1000, hit+float64(i))
		}
		return b.String()
	}
	stdout, stderr, code := compareCall(t, series(10, 200), series(10.5, 100))
	require.Equal(t, exitWrong, code, stderr)
	require.Contains(t, stderr, "1 figure became slower")
	require.Regexp(t, `(?m)^latency +10\.\d+ ms +10\.5\d+ ms +\+5\.0 % +\+5\.0 and \+5\.0 % +8 pairs +slower *$`, stdout)
	require.Regexp(t, `(?m)^cold start +100\.000 ms.* same *$`, stdout)
	require.Regexp(t, `(?m)^start from cache .* faster *$`, stdout)

	stdout, _, code = compareCall(t, series(10, 200), series(10, 200), "--json")
	require.Equal(t, exitOK, code)
	var r compareResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Len(t, r.Figures, 3)
	require.Zero(t, r.Slower)

	// One run of each: its executions are compared.
	single := func(factor float64) string {
		rng := rand.New(rand.NewPCG(3, 3))
		b := map[string]any{"device": "d", "latency_ms": map[string]any{"median": 10 * factor}}
		var samples []float64
		for range 1000 {
			samples = append(samples, 10*factor*math.Exp(0.05*rng.NormFloat64()))
		}
		b["samples_ms"] = samples
		text, err := json.Marshal(b)
		require.NoError(t, err)
		return string(text)
	}
	stdout, _, code = compareCall(t, single(1), single(1.03))
	require.Equal(t, exitWrong, code, stdout)
	_, _, code = compareCall(t, single(1), single(1))
	require.Equal(t, exitOK, code)

	for name, tc := range map[string]struct{ before, after, says string }{
		"no JSON":         {"hello", series(1, 1), "no results"},
		"empty":           {"", series(1, 1), "no results"},
		"nothing in it":   {"{}", series(1, 1), "no figure in common"},
		"another device":  {series(1, 1), strings.ReplaceAll(series(1, 1), `"d"`, `"e"`), "different devices"},
		"no numbers":      {`{"latency_ms": {"median": "x"}}`, series(1, 1), "no results"},
		"negative":        {`{"latency_ms": {"median": -1}}`, series(1, 1), "no figure in common"},
		"cut in a result": {series(1, 1)[:30], series(1, 1), "no results"},
	} {
		_, stderr, code := compareCall(t, tc.before, tc.after)
		require.Equal(t, exitUsage, code, name)
		require.Contains(t, stderr, tc.says, name)
	}
}
