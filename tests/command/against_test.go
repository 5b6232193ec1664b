package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// againstCase is the interface of one case of `nngpu bench --against --json`.
type againstCase struct {
	Runs                int
	P50, P90, P99, Max  float64
	Missed, Refused     int
	Preemptions         int64
	BackgroundPerSecond float64 `json:"background_per_second"`
}

func TestBenchAgainst(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		plot := filepath.Join(t.TempDir(), "new", "latency.svg")
		r := ok(t, "bench", example(t, "digits_s8.tflite"), "--against", example(t, "digits_f32.tflite")+":low",
			"--duration", "400ms", "--plot", plot, "--device", device, "--json")
		require.Empty(t, r.stderr)
		v := object(t, r.stdout)
		require.Equal(t, []string{
			"against", "alone", "device", "driver", "loaded", "model", "no_preempt", "priority", "segment_bound_ms", "version",
		}, keys(v))
		require.Equal(t, example(t, "digits_s8.tflite"), v["model"])
		require.Equal(t, example(t, "digits_f32.tflite"), v["against"])
		require.Equal(t, "low", v["priority"])
		for _, name := range []string{"device", "driver", "version"} {
			require.NotEmpty(t, v[name], name)
		}
		var cases struct {
			Alone, Loaded againstCase
			NoPreempt     againstCase `json:"no_preempt"`
			SegmentBound  float64     `json:"segment_bound_ms"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &cases))
		require.Positive(t, cases.SegmentBound)
		for name, c := range map[string]againstCase{"alone": cases.Alone, "loaded": cases.Loaded, "no_preempt": cases.NoPreempt} {
			require.Equal(t, []string{
				"background_per_second", "max", "missed", "p50", "p90", "p99", "preemptions", "refused", "runs",
			}, keys(v[name]))
			require.Positive(t, c.Runs, name)
			require.Positive(t, c.P50, name)
			require.True(t, c.P50 <= c.P90 && c.P90 <= c.P99 && c.P99 <= c.Max, "%s: %+v", name, c)
			require.Zero(t, c.Missed+c.Refused, "without a deadline")
		}
		require.Zero(t, cases.Alone.BackgroundPerSecond)
		require.Zero(t, cases.Alone.Preemptions)
		require.Positive(t, cases.Loaded.BackgroundPerSecond)
		require.Positive(t, cases.NoPreempt.BackgroundPerSecond)
		require.Zero(t, cases.NoPreempt.Preemptions)
		require.Contains(t, string(read(t, plot)), "</svg>")
	})
}

// TestBenchAgainstWithDeadlines has deadlines that all meet, and that none can.
func TestBenchAgainstWithDeadlines(t *testing.T) {
	device := anyDevice(t)
	args := []string{
		"bench", example(t, "digits_s8.tflite"), "--against", example(t, "digits_f32.tflite"), "--rate", "50",
		"--duration", "300ms", "--device", device,
	}
	text := ok(t, append(args, "--deadline", "1h", "--no-preempt")...).stdout
	for _, word := range []string{"alone", "loaded", "no preemption", "p99", "missed", "refused", "background/s"} {
		require.Contains(t, text, word)
	}
	require.Regexp(t, "segments of at most|no later than alone", text)
	v := object(t, ok(t, append(args, "--deadline", "1ns", "--json")...).stdout)
	for _, name := range []string{"alone", "loaded", "no_preempt"} {
		c := v[name].(map[string]any)
		require.Zero(t, c["max"], "none ended")
		require.Equal(t, 15.0, c["missed"].(float64)+c["refused"].(float64), "all were turned away")
	}
}

func TestBadBenchAgainst(t *testing.T) {
	f := newFiles(t)
	against := func(more ...string) []string {
		return append([]string{"bench", f.model, "--against", f.model}, more...)
	}
	for _, tc := range []bad{
		{name: "no rival", args: []string{"bench", f.model, "--against", ""}, says: []string{"--against is empty"}},
		{name: "priority only", args: []string{"bench", f.model, "--against", ":low"}, says: []string{"no model"}},
		{name: "no priority", args: []string{"bench", f.model, "--against", f.model + ":urgent"}, says: []string{"urgent", "low, medium and high"}},
		{name: "no such rival", args: []string{"bench", f.model, "--against", "none.tflite:low"}, says: []string{"none.tflite"}},
		{name: "no rate", args: against("--rate", "0"), says: []string{"--rate"}},
		{name: "not a number", args: against("--rate", "NaN"), says: []string{"--rate"}},
		{name: "no time", args: against("--deadline", "-1s"), says: []string{"--deadline"}},
		{name: "no duration", args: against("--duration", "0s"), says: []string{"--duration"}},
		{name: "no picture", args: against("--plot", "x.png"), says: []string{"x.png", ".svg"}},
		{name: "runs", args: against("--runs", "5"), says: []string{"--against", "--runs"}},
		{name: "startup", args: against("--startup"), says: []string{"--against", "--startup"}},
		{name: "rate of nothing", args: []string{"bench", f.model, "--rate", "5"}, says: []string{"--rate", "--against"}},
		{name: "plot of nothing", args: []string{"bench", f.model, "--plot", "x.svg"}, says: []string{"--plot", "--against"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.code = usage
			tc.check(t)
		})
	}
}

// TestPlotThatCannotBeWritten fails after measuring, with nothing left behind.
func TestPlotThatCannotBeWritten(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	taken := filepath.Join(dir, "taken.svg")
	require.NoError(t, os.Mkdir(taken, 0o755))
	r := nngpu(t, "bench", example(t, "digits_s8.tflite"), "--against", example(t, "digits_s8.tflite"), "--duration", "50ms",
		"--plot", taken, "--device", device)
	require.Equal(t, usage, r.code)
	require.Contains(t, r.stderr, "taken.svg")
	require.Equal(t, []string{dir, taken}, listing(t, dir))
}
