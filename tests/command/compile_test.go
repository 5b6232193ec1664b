package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// figures of a text that differ between devices and versions.
var figures = regexp.MustCompile(`-?\d+(\.\d+)?`)

// segments begin with such lines in the dump of a plan.
var segments = regexp.MustCompile(`(?m)^segment \d+.*\n`)

func TestCompile(t *testing.T) {
	needDevice(t, "swiftshader")
	args := []string{"compile", example(t, "digits_f32.tflite"), "--device", "swiftshader"}
	v := object(t, ok(t, append(args, "--json")...).stdout)
	require.Equal(t, []string{
		"arena_bytes", "device", "dispatches", "driver", "gflop", "largest_live_bytes", "layout_bytes", "model",
		"pipelines", "predicted_ms", "segment_bound_ms", "segments", "weight_bytes",
	}, keys(v))
	for _, name := range keys(v) {
		if n, ok := v[name].(float64); ok {
			require.Positive(t, n, name)
		}
	}
	require.GreaterOrEqual(t, v["layout_bytes"], v["largest_live_bytes"])
	require.GreaterOrEqual(t, v["arena_bytes"], v["layout_bytes"])
	text := ok(t, args...).stdout
	for _, word := range []string{"pipelines", "dispatches", "segment", "arena", "weights", "predicted", "GFLOP"} {
		require.Contains(t, text, word)
	}
}

// TestDumpOfPlan has the form of each part; kernels, sizes and times may change.
func TestDumpOfPlan(t *testing.T) {
	needDevice(t, "swiftshader")
	args := []string{"compile", example(t, "digits_f32.tflite"), "--device", "swiftshader", "--dump", "plan"}
	v := object(t, ok(t, append(args, "--json")...).stdout)
	dump := v["dump"].(string)
	// The device may have been measured anew between the two: predicted times, and segments by them, differ then.
	form := func(text string) string {
		return figures.ReplaceAllString(segments.ReplaceAllString(text, ""), "N")
	}
	require.Contains(t, form(ok(t, args...).stdout), form(dump))
	parts := strings.Split(strings.TrimSpace(dump), "\n\n")
	require.Len(t, parts, 3)

	plan := strings.Split(parts[0], "\n")
	require.Equal(t, "arena N  weights N  host N", figures.ReplaceAllString(plan[0], "N"))
	require.Equal(t, `input N "image" host[N+N]`, figures.ReplaceAllString(plan[1], "N"))
	require.Equal(t, `output N "probabilities" host[N+N]`, figures.ReplaceAllString(plan[2], "N"))
	require.Equal(t, "segment 0", plan[3])
	require.Len(t, plan, 3+int(v["segments"].(float64)+v["dispatches"].(float64)))
	require.Contains(t, plan[len(plan)-1], "SOFTMAX #9")

	arena := strings.Split(parts[1], "\n")
	require.Equal(t, "arena N bytes, N for values; largest live set N at step N, ratio N", figures.ReplaceAllString(arena[0], "N"))
	require.Equal(t, []string{"offset", "size", "steps"}, strings.Fields(arena[1]))
	require.Greater(t, len(arena), 5)
	for _, line := range arena[2:] {
		require.Regexp(t, `^ *\d+ +\d+  \d+-\d+$`, line)
	}

	times := strings.Split(parts[2], "\n")
	require.Equal(t, "predicted N ms, segments of at most N ms", figures.ReplaceAllString(times[0], "N"))
	require.Regexp(t, `^segment 0  \d+\.\d{3} ms$`, times[1])
	require.Len(t, times, len(plan)-2, "a line for each segment and step")
	for _, op := range []string{"CONV_2D", "MAX_POOL_2D", "FULLY_CONNECTED", "SOFTMAX"} {
		require.Contains(t, parts[0], op)
		require.Contains(t, parts[2], op)
	}
}

// TestDumpOfGraph depends on the model and the passes, not on the device.
func TestDumpOfGraph(t *testing.T) {
	device := anyDevice(t)
	v := object(t, ok(t, "compile", example(t, "digits_f32.tflite"), "--device", device, "--dump", "ir", "--json").stdout)
	var ops []string
	for line := range strings.Lines(v["dump"].(string)) {
		if _, right, isNode := strings.Cut(line, " = "); isNode {
			ops = append(ops, strings.Fields(right)[0])
		}
	}
	require.Equal(t, []string{
		"CONV_2D", "MAX_POOL_2D", "CONV_2D", "MAX_POOL_2D", "CONV_2D", "MAX_POOL_2D", "RESHAPE",
		"FULLY_CONNECTED", "FULLY_CONNECTED", "SOFTMAX",
	}, ops)
	require.Contains(t, v["dump"], "input %0 TENSOR_FLOAT32 [1,28,28,1]\n")
}

// TestCompileAs needs no device: facts are enough.
func TestCompileAs(t *testing.T) {
	facts := filepath.Join("..", "networks", "testdata", "h200.json")
	args := []string{"compile", example(t, "digits_f32.tflite"), "--as", facts}
	v := object(t, ok(t, append(args, "--json")...).stdout)
	require.Equal(t, facts, v["device"])
	choices := v["choices"].([]any)
	require.NotEmpty(t, choices)
	first := choices[0].(map[string]any)
	require.Equal(t, []string{"kernel", "operation", "why"}, keys(first))
	require.Contains(t, first["kernel"], "_shared_")
	text := ok(t, args...).stdout
	require.Contains(t, text, first["kernel"])
	require.Contains(t, text, first["why"])
}

func TestBadCompile(t *testing.T) {
	f := newFiles(t)
	for _, tc := range []bad{
		{name: "no model", args: []string{"compile"}, code: usage, says: []string{"one model"}},
		{name: "no such dump", args: []string{"compile", f.model, "--dump", "spirv"}, code: usage, says: []string{"spirv", "plan or ir"}},
		{name: "empty dump", args: []string{"compile", f.model, "--dump", ""}, code: usage, says: []string{"plan or ir"}},
		{name: "no such file", args: []string{"compile", f.dir + "/none"}, code: usage, says: []string{"none"}},
		{name: "no network", args: []string{"compile", f.put(t, "x.tflite", []byte("text"))}, code: usage, says: []string{"x.tflite"}},
		{name: "no such facts", args: []string{"compile", f.model, "--as", f.dir + "/none"}, code: usage, says: []string{"none"}},
		{name: "facts without a name", args: []string{"compile", f.model, "--as", ""}, code: usage, says: []string{"--as is empty"}},
		{name: "facts from a pipe", args: []string{"compile", f.model, "--as", f.pipe(t, "pipe.json")}, code: usage, says: []string{"pipe.json", "not a regular file"}},
		{name: "too many facts", args: []string{"compile", f.model, "--as", f.put(t, "large.json", make([]byte, 1<<16+1))}, code: usage, says: []string{"large.json", "at most 65536"}},
		{name: "facts of nothing", args: []string{"compile", f.model, "--as", f.put(t, "facts.json", []byte(`{"Class": "gpu"}`))}, code: usage, says: []string{"facts.json", "MaxStorageRange"}},
		{name: "facts and a device", args: []string{"compile", f.model, "--as", f.model, "--device", "0"}, code: usage, says: []string{"in place of --device"}},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.check(t) })
	}
}
