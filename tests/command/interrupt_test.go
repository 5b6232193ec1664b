package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prompt is how soon an interrupted command must end, on a machine that is busy otherwise.
const prompt = 2 * time.Second

// interrupt starts the command, sends a signal after some time, and returns how it ended and how soon.
func (c *call) interrupt(t *testing.T, after time.Duration, s os.Signal) (result, time.Duration) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := c.command()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	time.Sleep(after)
	sent := time.Now()
	require.NoError(t, cmd.Process.Signal(s), "ended before: %s%s", &stdout, &stderr)
	kill := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait()
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}, time.Since(sent)
}

func TestInterrupt(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	slow := slowNetwork(t)
	input := write(t, filepath.Join(dir, "x.bin"), make([]byte, 320*320*64*4))
	measure := []string{"bench", example(t, "digits_f32.tflite"), "--duration", "60s"}
	for _, tc := range []struct {
		name   string
		args   []string
		after  time.Duration
		signal os.Signal
	}{
		{"while measuring", measure, time.Second, syscall.SIGINT},
		{"terminated", measure, time.Second, syscall.SIGTERM},
		{"while the cold start is measured", []string{"bench", slow}, time.Second / 2, syscall.SIGINT},
		{"during one long execution", []string{"run", slow, "-i", input, "-o", "out"}, 3 * time.Second / 2, syscall.SIGINT},
	} {
		t.Run(tc.name, func(t *testing.T) {
			work := t.TempDir()
			c := call{args: append(tc.args, "--device", device), dir: work}
			r, took := c.interrupt(t, tc.after, tc.signal)
			require.Equal(t, interrupted, r.code, "%s%s", r.stdout, r.stderr)
			require.Less(t, took, prompt)
			require.Empty(t, r.stdout)
			require.Equal(t, "nngpu: interrupted\n", r.stderr)
			require.Equal(t, []string{work}, listing(t, work), "something was written")
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		c := call{args: append(measure, "--device", device, "--json")}
		r, _ := c.interrupt(t, time.Second, syscall.SIGINT)
		require.Equal(t, interrupted, r.code)
		require.Equal(t, []string{"error", "status"}, keys(object(t, r.stdout)))
		require.Empty(t, r.stderr)
	})
	t.Run("the process of the cold start is gone", func(t *testing.T) {
		time.Sleep(100 * time.Millisecond)
		entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		for _, e := range entries {
			b, _ := os.ReadFile(e) // the process may have ended since
			require.False(t, strings.Contains(string(b), slow), "still there: %q", b)
		}
	})
}
