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
	b, err := gpu.Open("", gpu.Options{})
	if required := os.Getenv("NNGPU_REQUIRE"); err != nil && !strings.Contains(required, "swiftshader") && !strings.Contains(required, "lavapipe") {
		t.Skipf("no device: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, b.Close())
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the example keeps compiled models
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	func() {
		defer func() { os.Stdout = stdout }()
		Example()
	}()
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "1 <nil>\n", string(out))
}
