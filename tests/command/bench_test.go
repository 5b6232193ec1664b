package command

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchJSON is the interface of `nngpu bench --json`.
type benchJSON struct {
	Device, Driver, Version, Model string
	ColdStart                      float64 `json:"cold_start_ms"`
	Prepare                        float64 `json:"prepare_ms"`
	Latency                        struct {
		Min, Median, P90, P99 float64
	} `json:"latency_ms"`
	Pipelines, Dispatches, Segments int
	ArenaBytes                      int64 `json:"arena_bytes"`
	WeightBytes                     int64 `json:"weight_bytes"`
	GFLOPS                          float64
}

func TestBench(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) { bench(t, device, "--runs", "20") })
	for name, flags := range map[string][]string{
		"one run":     {"--runs", "1", "--warmup", "0"},
		"duration":    {"--duration", "300ms"},
		"a moment":    {"--duration", "1ns", "--warmup", "0"},
		"concurrency": {"--runs", "30", "--concurrency", "3"},
		"input":       {"--runs", "5", "--input", example(t, "samples/2.png")},
	} {
		t.Run(name, func(t *testing.T) { bench(t, anyDevice(t), flags...) })
	}
}

// bench measures an example and checks the figures.
func bench(t *testing.T, device string, flags ...string) {
	t.Helper()
	r := ok(t, append([]string{"bench", example(t, "digits_f32.tflite"), "--device", device, "--json"}, flags...)...)
	var v benchJSON
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	require.NotEmpty(t, v.Device)
	require.NotEmpty(t, v.Driver)
	require.NotEmpty(t, v.Version)
	require.Equal(t, example(t, "digits_f32.tflite"), v.Model)
	require.Greater(t, v.ColdStart, v.Latency.Min, "it holds an execution")
	require.Greater(t, v.Prepare, 0.0)
	l := v.Latency
	require.Greater(t, l.Min, 0.0)
	require.True(t, l.Min <= l.Median && l.Median <= l.P90 && l.P90 <= l.P99, "%+v", l)
	require.Positive(t, v.Pipelines)
	require.GreaterOrEqual(t, v.Dispatches, v.Pipelines)
	require.Positive(t, v.Segments)
	require.Positive(t, v.ArenaBytes)
	require.Positive(t, v.WeightBytes)
	require.True(t, v.GFLOPS > 0 && v.GFLOPS < math.MaxFloat64)
}

func TestBenchFields(t *testing.T) {
	device := anyDevice(t)
	r := ok(t, "bench", example(t, "digits_s8.tflite"), "--runs", "3", "--device", device, "--json")
	v := object(t, r.stdout)
	require.Subset(t, keys(v), []string{
		"arena_bytes", "cold_start_ms", "device", "dispatches", "driver", "gflops", "latency_ms", "model",
		"pipelines", "prepare_ms", "segments", "version", "weight_bytes",
	})
	require.Equal(t, []string{"median", "min", "p90", "p99"}, keys(v["latency_ms"]))
	text := ok(t, "bench", example(t, "digits_s8.tflite"), "--runs", "3", "--device", device).stdout
	for _, word := range []string{"cold start", "prepare", "latency", "p99", "GFLOP/s", "pipeline", "dispatch", "segment", "arena", "weights"} {
		require.Contains(t, text, word)
	}
}

// TestModelNamedLikeAFlag is a file whose name begins with a dash.
func TestModelNamedLikeAFlag(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	write(t, filepath.Join(dir, "-v.tflite"), read(t, example(t, "digits_s8.tflite")))
	c := call{dir: dir, args: []string{"bench", "--runs", "1", "--device", device, "--", "-v.tflite"}}
	r := c.run(t)
	require.Equal(t, right, r.code, r.stderr)
}

// TestBenchStartup checks the figures for what must hold on any machine.
func TestBenchStartup(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		r := ok(t, "bench", example(t, "digits_f32.tflite"), "--startup", "--device", device, "--json")
		require.Empty(t, r.stderr)
		v := object(t, r.stdout)
		require.Equal(t, []string{
			"cold_device_bytes", "cold_ms", "cold_rss_bytes", "hit_device_bytes", "hit_ms", "hit_rss_bytes",
			"miss_device_bytes", "miss_ms", "miss_rss_bytes", "pipeline_ms", "prepare_from_cache_ms", "prepare_ms",
		}, keys(v))
		for name, ms := range v {
			if name != "pipeline_ms" {
				require.Greater(t, ms, 0.0, name)
			}
		}
		require.Greater(t, v["hit_ms"], v["prepare_from_cache_ms"])
	})
	text := ok(t, "bench", example(t, "digits_f32.tflite"), "--startup", "--device", anyDevice(t))
	require.Contains(t, text.stdout, "prepare from cache")
	(&bad{
		args: []string{"bench", example(t, "digits_f32.tflite"), "--startup", "--runs", "2"}, code: usage,
		status: "INVALID_ARGUMENT", says: []string{"--startup", "--runs"},
	}).check(t)
}
