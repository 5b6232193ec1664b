package driver_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu"
)

// TestExamples runs the package's examples where there is a device, and compares what they print with what the
// comments in them say. They have no "Output:" of their own, because an example cannot be skipped.
func TestExamples(t *testing.T) {
	b, err := gpu.Open("", gpu.Options{})
	if required := os.Getenv("NNGPU_REQUIRE"); err != nil && !strings.Contains(required, "swiftshader") && !strings.Contains(required, "lavapipe") {
		t.Skipf("no device: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, b.Close())
	for _, tc := range []struct {
		name    string
		example func()
		output  string
	}{
		{"a network", Example, "1 <nil>\n"},
		{"a pool", Example_pool, "[2 4 6 8]\n"},
		{"buffers", ExampleClient_Allocate, "[0.867 1.735 2.602 3.470]\n0 bytes moved\n"},
		{"a deadline", ExamplePreparedModel_Execute, "NONE [2 4 6 8]\nMISSED_DEADLINE_PERSISTENT\n"},
		{"fences", ExamplePreparedModel_ExecuteFenced, "[4 8 12 16] <nil>\n"},
		{"a burst", ExamplePreparedModel_Burst, "0\n2\n4\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the first example keeps compiled models
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			require.Equal(t, tc.output, printed(t, tc.example))
		})
	}
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
