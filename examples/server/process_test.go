package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/devices"
)

// asServer in the environment makes the test's program the server itself.
const asServer = "NNGPU_EXAMPLE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestProcess: the server as docs/library.md starts it answers, publishes what it does, and ends well when it is told to.
func TestProcess(t *testing.T) {
	devices.EachNamed(t, func(t *testing.T, device string) {
		c := exec.CommandContext(t.Context(), os.Args[0], "-device", device, "-listen", "127.0.0.1:0", "-model", "../digits/digits_s8.tflite")
		c.Env = append(os.Environ(), asServer+"=1", "XDG_CACHE_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
		log, err := c.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		lines := bufio.NewScanner(log)
		var address []string
		for address == nil && lines.Scan() {
			t.Log(lines.Text())
			address = regexp.MustCompile(`listening address=(\S+)`).FindStringSubmatch(lines.Text())
		}
		require.NotNil(t, address)

		x := &server{url: "http://" + address[1], client: newClient()}
		r, err := x.post(t.Context(), interactive, 5000, sample(t, 4))
		require.NoError(t, err)
		require.Equal(t, "4", r.Label, "%+v", r)
		_, vars := x.get(t, "/debug/vars")
		require.Contains(t, vars, `"tier=\"interactive\",code=\"200\"": 1`)
		require.Contains(t, vars, `"queue_wait":`)
		x.client.CloseIdleConnections()
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			t.Log(lines.Text())
		}
		require.NoError(t, c.Wait())
	})
}
