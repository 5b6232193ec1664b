package driver_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu"
)

// TestExample runs the package's example where there is a device.
func TestExample(t *testing.T) {
	required := os.Getenv("NNGPU_REQUIRE")
	needDevice(t, "", strings.Contains(required, "swiftshader") || strings.Contains(required, "lavapipe"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the example keeps compiled models
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	require.Equal(t, "1 <nil>\n", printed(t, Example))
}

// TestExamples runs the other examples on each device that tests use, and compares what they print with what the
// comments in them say. They have no "Output:", because an example cannot be skipped.
func TestExamples(t *testing.T) {
	names := []string{"swiftshader", "lavapipe"}
	if list := os.Getenv("NNGPU_DEVICE"); list != "" {
		names = strings.Split(list, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			needDevice(t, name, strings.Contains(os.Getenv("NNGPU_REQUIRE"), name))
			t.Setenv("NNGPU_DEVICE", name)
			for _, tc := range []struct {
				name    string
				example func()
				output  string
			}{
				{"inputs", ExamplePreparedModel_Inputs, "image TENSOR_QUANT8_ASYMM_SIGNED [1 28 28 1] 0.003921569 127\n" +
					"probabilities TENSOR_QUANT8_ASYMM_SIGNED [1 10] 0.00390625 -128\n1 <nil>\n"},
				{"buffers", ExampleClient_Allocate, "[0.867 1.735 2.602 3.470]\n0 bytes moved\n"},
				{"pool", Example_pool, "[2 4 6 8]\n"},
				{"deadline", ExamplePreparedModel_Execute, "NONE [2 4 6 8]\nMISSED_DEADLINE_PERSISTENT\n"},
				{"fences", ExamplePreparedModel_ExecuteFenced, "[4 8 12 16] <nil>\n"},
				{"burst", ExamplePreparedModel_Burst, "0\n2\n4\n"},
				{"metrics", ExampleDevice_Metrics, "priority=\"MEDIUM\",status=\"NONE\"} 3\n3 example\n"},
			} {
				t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.output, printed(t, tc.example)) })
			}
		})
	}
}

// needDevice skips the test where the device is absent, unless it is required.
func needDevice(t *testing.T, name string, required bool) {
	b, err := gpu.Open(name, gpu.Options{})
	if err != nil && !required {
		t.Skipf("no device: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

// printed is what f writes to the standard output, which is little.
func printed(t *testing.T, f func()) string {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	stdout := os.Stdout
	os.Stdout = w
	func() {
		defer func() { os.Stdout = stdout }()
		f()
	}()
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(out)
}
