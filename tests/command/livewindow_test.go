//go:build window

package command

import (
	"bytes"
	"encoding/json"
	"image/png"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/xvfb"
)

// buildTags are those of the command under test. Only the tests of this file are run with them.
const buildTags = "window"

// inWindow is a run of `nngpu live` on an X server.
func inWindow(t *testing.T, s *xvfb.Server, args ...string) *call {
	return &call{args: append([]string{"live", example(t, "digits_s8.tflite")}, args...), env: []string{"DISPLAY=" + s.Display}}
}

// TestWindow: in a window everything is kept and told as without.
func TestWindow(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		server, dir := xvfb.Start(t), t.TempDir()
		shot, video := filepath.Join(dir, "shot.png"), filepath.Join(dir, "video.y4m")
		r := inWindow(t, server, "--frames", "5", "--fps", "0", "--json", "--screenshot", shot, "--record", video, "--device", device).run(t)
		require.Equal(t, right, r.code, r.stderr)
		require.Empty(t, r.stderr)
		var s liveSummary
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &s))
		require.Equal(t, []int{5, 5, 5}, []int{s.Frames, s.Met, s.Drawn})
		require.True(t, s.Preemption)
		m, err := png.Decode(bytes.NewReader(read(t, shot)))
		require.NoError(t, err)
		require.Equal(t, canvasWidth, m.Bounds().Dx())
		require.Equal(t, 5, bytes.Count(read(t, video), []byte("FRAME\n")))

		r = inWindow(t, server, "--no-window", "--device", device).run(t)
		require.Equal(t, usage, r.code, "the pattern never ends")
		require.Contains(t, r.stderr, "--frames")
	})
}

// TestWindowHelp: help tells the keys.
func TestWindowHelp(t *testing.T) {
	text := ok(t, "live", "--help").stdout
	for _, word := range []string{"Keys", "left, right: deadline", "p: preemption", "q: quit", "--no-window"} {
		require.Contains(t, text, word)
	}
}

// TestWindowWithoutDisplay: there is a message that says what to do, and doing it helps.
func TestWindowWithoutDisplay(t *testing.T) {
	device := anyDevice(t)
	for _, display := range []string{"", ":4711"} {
		c := inWindow(t, &xvfb.Server{Display: display}, "--device", device)
		r := c.run(t)
		require.Equal(t, refused, r.code)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, "no display")
		require.Contains(t, r.stderr, "--no-window")
		c.args = append(c.args, "--no-window", "--frames", "2")
		require.Equal(t, right, c.run(t).code)
	}
}

// TestWindowEnds: an interrupt ends it, and so does the end of the X server.
func TestWindowEnds(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		server := xvfb.Start(t)
		r, took := inWindow(t, server, "--device", device).interrupt(t, 2*time.Second, syscall.SIGINT)
		require.Equal(t, interrupted, r.code, r.stderr)
		require.Less(t, took, prompt)

		time.AfterFunc(2*time.Second, server.Stop)
		r = inWindow(t, server, "--device", device).run(t)
		require.Equal(t, refused, r.code)
		require.Equal(t, "nngpu: the X server has gone, and the window with it\n", r.stderr)
	})
}
