//go:build linux

package command

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what the command writes to tty comes out of screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	return screen, tty
}

// onTerminal runs the command with its standard error on a terminal and returns what that shows.
func onTerminal(t *testing.T, args ...string) (shown, stdout string) {
	t.Helper()
	screen, tty := terminal(t)
	var out, seen bytes.Buffer
	cmd := (&call{args: args}).command()
	cmd.Stdout, cmd.Stderr = &out, tty
	require.NoError(t, cmd.Start())
	require.NoError(t, tty.Close())
	_, _ = seen.ReadFrom(screen) // ends with EIO when the last writer has closed it
	require.NoError(t, cmd.Wait())
	return seen.String(), out.String()
}

func TestProgress(t *testing.T) {
	device, model := anyDevice(t), example(t, "digits_f32.tflite")
	shown, stdout := onTerminal(t, "bench", model, "--duration", "1500ms", "--device", device, "--json")
	require.Contains(t, shown, "measure", "a bar after a second")
	object(t, stdout)
	require.Empty(t, ok(t, "bench", model, "--duration", "1500ms", "--device", device).stderr, "no bar without a terminal")
}
