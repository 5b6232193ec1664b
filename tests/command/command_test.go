// Package command runs the built command nngpu the way its users do.
package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// Exit codes that docs/command.md promises.
const (
	right   = 0
	wrong   = 1
	usage   = 2
	refused = 3
	// interrupted is 128 + SIGINT.
	interrupted = 130
)

// built is the command under test, built once.
var built string

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "nngpu-command")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "nngpu")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-tags", buildTags, "-o", built, "github.com/nngpu/nngpu/cmd/nngpu").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	// The user's own cache is neither used nor changed. (Go's, which lies there too, was needed before.)
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if err := os.Setenv(name, filepath.Join(dir, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return run()
}

// result is how a run of the command ended.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// call is a run of the command that is being prepared.
type call struct {
	args []string
	dir  string   // working directory
	env  []string // NAME=VALUE, beside the test's own
}

// soak is whether the long tests are to run.
func soak() bool { return os.Getenv("NNGPU_SOAK") == "1" }

// timeout bounds every run; a test that meets it has failed.
var timeout = map[bool]time.Duration{false: time.Minute, true: 10 * time.Minute}[soak()]

// command prepares the process without starting it.
func (c *call) command() *exec.Cmd {
	cmd := exec.Command(built, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "NNGPU_DEVICE=") // there a list, for the tests
	cmd.Env = append(cmd.Env, c.env...)
	return cmd
}

func (c *call) run(t *testing.T) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := c.command()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	require.NoError(t, cmd.Start())
	stop := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(start)}
	require.Less(t, r.took, timeout, "%v hung", c.args)
	require.NotContains(t, r.stderr, "goroutine ", "%v panicked", c.args)
	return r
}

// nngpu runs the command with args.
func nngpu(t *testing.T, args ...string) result {
	t.Helper()
	return (&call{args: args}).run(t)
}

// ok runs the command, which must succeed.
func ok(t *testing.T, args ...string) result {
	t.Helper()
	r := nngpu(t, args...)
	require.Equal(t, right, r.code, "%v: %s%s", args, r.stdout, r.stderr)
	return r
}

// object decodes text that must be exactly one JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	var v map[string]any
	require.NoError(t, dec.Decode(&v), "not JSON: %q", text)
	require.False(t, dec.More(), "more than one value: %q", text)
	return v
}

// keys are the sorted field names of a decoded object.
func keys(v any) []string {
	m, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// available reports whether the command can use a device, and its message when not.
func available(t *testing.T, name string) (bool, string) {
	t.Helper()
	probeMu.Lock()
	defer probeMu.Unlock()
	r, known := probed[name]
	if !known {
		r = nngpu(t, "info", "--device", name)
		probed[name] = r
	}
	return r.code == right, r.stderr
}

var (
	probeMu sync.Mutex
	probed  = map[string]result{} // guarded by probeMu
)

// needDevice skips the test where the device is absent, or fails when it is required.
func needDevice(t *testing.T, name string) {
	t.Helper()
	ok, why := available(t, name)
	if !ok && nntest.Required(name) {
		t.Fatalf("device %s is required: %s", name, why)
	}
	if !ok {
		t.Skipf("device %s: %s", name, why)
	}
}

// anyDevice is a device for what does not depend on the device: SwiftShader, which starts within milliseconds,
// else another.
func anyDevice(t *testing.T) string {
	t.Helper()
	for _, name := range append([]string{"swiftshader"}, nntest.Devices()...) {
		if ok, _ := available(t, name); ok {
			return name
		}
	}
	needDevice(t, "swiftshader")
	return ""
}

// eachDevice runs f for each device that is to be tested.
func eachDevice(t *testing.T, f func(t *testing.T, device string)) {
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			needDevice(t, name)
			f(t, name)
		})
	}
}

// example is a file of the example that the project ships.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "digits", name))
	require.NoError(t, err)
	require.FileExists(t, path)
	return path
}

// write makes a file and returns its path.
func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// read returns the content of a file.
func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// listing is every path below dir.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, path)
		return err
	}))
	return list
}
