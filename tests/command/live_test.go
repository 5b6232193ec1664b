package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// liveSummary is the interface of `nngpu live --json`, as far as numbers are checked.
type liveSummary struct {
	Frames, Met, Missed, Refused, Dropped, Drawn int
	Latency                                      struct{ P50, P90, P99, Max float64 }     `json:"latency_ms"`
	Moved                                        struct{ Uploaded, Results, Shown int64 } `json:"moved_bytes"`
	Preemption                                   bool
	Preemptions                                  int64
	Against                                      *struct {
		Priority  string
		PerSecond float64 `json:"per_second"`
	}
}

func liveOf(t *testing.T, args ...string) (s liveSummary, v map[string]any) {
	t.Helper()
	r := ok(t, append([]string{"live", "--json"}, args...)...)
	require.Empty(t, r.stderr)
	v = object(t, r.stdout)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &s))
	return s, v
}

// The canvas of `nngpu live`, in pixels.
const canvasWidth, canvasHeight, canvasView = 768, 512, 384

// greyVideo is a YUV4MPEG2 stream of pictures of one grey each.
func greyVideo(greys ...byte) string {
	s := "YUV4MPEG2 W32 H16 F25:1 Cmono XCOLORRANGE=FULL\n"
	for _, g := range greys {
		s += "FRAME\n" + strings.Repeat(string([]byte{g}), 32*16)
	}
	return s
}

// TestLive draws a few frames, keeps them in both ways, and tells of them.
func TestLive(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		dir := t.TempDir()
		shot, video := filepath.Join(dir, "new", "shot.png"), filepath.Join(dir, "video.y4m")
		s, v := liveOf(t, example(t, "digits_s8.tflite"), "--source", example(t, "samples/7.png"), "--loop", "--frames", "5", "--fps", "0",
			"--screenshot", shot, "--record", video, "--device", device)
		require.Equal(t, []string{
			"deadline_ms", "device", "drawn", "driver", "dropped", "frames", "frames_per_second", "height", "kind", "latency_ms", "met", "met_percent",
			"missed", "model", "moved_bytes", "preemption", "preemptions", "refused", "width",
		}, keys(v))
		require.Equal(t, []string{"max", "p50", "p90", "p99"}, keys(v["latency_ms"]))
		require.Equal(t, []string{"converted", "copied", "results", "shown", "uploaded"}, keys(v["moved_bytes"]))
		require.Equal(t, "labels", v["kind"])
		require.Equal(t, []int{5, 5, 0, 0, 0, 5}, []int{s.Frames, s.Met, s.Missed, s.Refused, s.Dropped, s.Drawn})
		require.True(t, 0 < s.Latency.P50 && s.Latency.P50 <= s.Latency.P90 && s.Latency.P90 <= s.Latency.P99 && s.Latency.P99 <= s.Latency.Max)
		require.EqualValues(t, 5*10, s.Moved.Results, "ten scores a frame")
		require.EqualValues(t, 5*canvasWidth*canvasHeight*4, s.Moved.Shown, "the five of the recording")
		require.True(t, s.Preemption)

		const picture = canvasWidth * canvasHeight * 3 / 2
		header := fmt.Sprintf("YUV4MPEG2 W%d H%d F25000:1000 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n", canvasWidth, canvasHeight)
		data := read(t, video)
		require.Len(t, data, len(header)+5*(len("FRAME\n")+picture))
		require.True(t, bytes.HasPrefix(data, []byte(header+"FRAME\n")))

		m, err := png.Decode(bytes.NewReader(read(t, shot)))
		require.NoError(t, err)
		require.Equal(t, canvasWidth, m.Bounds().Dx())
		require.Equal(t, canvasHeight, m.Bounds().Dy())
		// The seven, dark on white or light on black: its foot is not the colour of the corner.
		corner, _, _, _ := m.At(4, 4).RGBA()
		differs := false
		for y := range canvasView {
			c, _, _, _ := m.At(canvasView/2, y).RGBA()
			differs = differs || max(c, corner)-min(c, corner) > 0x8000
		}
		require.True(t, differs, "the view shows no digit")
	})
}

// TestLiveSources: what a pipe brings is what is shown, and a source that ends is no error.
func TestLiveSources(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	video := write(t, filepath.Join(dir, "x.y4m"), []byte(greyVideo(10, 200, 90)))
	shot := filepath.Join(dir, "shot.png")
	for name, c := range map[string]struct {
		args  []string
		stdin string
		grey  uint32
		n     int
	}{
		"file":           {args: []string{"--source", video}, grey: 90, n: 3},
		"some of it":     {args: []string{"--source", video, "--frames", "2"}, grey: 200, n: 2},
		"standard input": {args: []string{"--source", "-"}, stdin: greyVideo(10, 120), grey: 120, n: 2},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := (&call{args: append([]string{"live", "--json", example(t, "digits_s8.tflite"), "--screenshot", shot, "--device", device}, c.args...)}).command()
			cmd.Stdin = strings.NewReader(c.stdin)
			out, err := cmd.Output()
			require.NoError(t, err)
			require.EqualValues(t, c.n, object(t, string(out))["frames"])
			m, err := png.Decode(bytes.NewReader(read(t, shot)))
			require.NoError(t, err)
			r, _, _, _ := m.At(100, 100).RGBA()
			require.InDelta(t, float64(c.grey), float64(r>>8), 2)
		})
	}
}

// TestLiveDeadlines has one that all meet and one that none can, and a second network that takes the device meanwhile.
func TestLiveDeadlines(t *testing.T) {
	device := anyDevice(t)
	args := []string{example(t, "digits_s8.tflite"), "--frames", "20", "--fps", "50", "--device", device}
	s, _ := liveOf(t, append(args, "--deadline", "1h", "--against", example(t, "digits_f32.tflite")+":low")...)
	require.Equal(t, 20, s.Met)
	require.Equal(t, "low", s.Against.Priority)
	require.Positive(t, s.Against.PerSecond)
	s, _ = liveOf(t, append(args, "--deadline", "1ns", "--no-preempt")...)
	require.Zero(t, s.Met)
	require.Equal(t, 20, s.Missed+s.Refused)
	require.Zero(t, s.Latency.Max)
	require.False(t, s.Preemption)
	require.Zero(t, s.Preemptions)

	text := ok(t, append([]string{"live", "--against", example(t, "digits_f32.tflite")}, args...)...).stdout
	for _, word := range []string{"20 frames", "met their deadline", "latency: median", "against", "of results"} {
		require.Contains(t, text, word)
	}
	r := nngpu(t, append([]string{"live", "--deadline", "1ns", "--screenshot", filepath.Join(t.TempDir(), "x.png")}, args...)...)
	require.Equal(t, wrong, r.code, "there is nothing to show")
	require.Contains(t, r.stderr, "no frame had a result")
	require.Contains(t, r.stdout, "0 met their deadline")
}

func TestBadLive(t *testing.T) {
	f := newFiles(t)
	device := anyDevice(t)
	live := func(more ...string) []string { return append([]string{"live", f.model, "--device", device}, more...) }
	for _, tc := range []bad{
		{name: "no end", args: live(), says: []string{"no window", "--frames", "--record"}},
		{name: "no end of a picture", args: live("--source", f.picture, "--loop"), says: []string{"never ends"}},
		{name: "no frames", args: live("--frames", "0"), says: []string{"--frames"}},
		{name: "no rate", args: live("--frames", "1", "--fps", "-1"), says: []string{"--fps"}},
		{name: "not a number", args: live("--frames", "1", "--fps", "NaN"), says: []string{"--fps"}},
		{name: "no deadline", args: live("--frames", "1", "--deadline", "0s"), says: []string{"--deadline"}},
		{name: "no kind", args: live("--frames", "1", "--as", "bars"), says: []string{"bars", "labels, mask, image, boxes, points, raw"}},
		{name: "another kind", args: live("--frames", "1", "--as", "mask"), says: []string{"as mask", "[1 10]"}, code: refused},
		{name: "a range of one number", args: live("--frames", "1", "--range", "1"), says: []string{"--range", "two numbers"}},
		{name: "a range of nothing", args: live("--frames", "1", "--range", "1,1"), says: []string{"--range", "black below white"}},
		{name: "a range without end", args: live("--frames", "1", "--range", "0,+Inf"), says: []string{"--range"}},
		{name: "a range of labels", args: live("--frames", "1", "--range", "0,255"), says: []string{"results that are pictures", "as labels"}},
		{name: "no priority", args: live("--frames", "1", "--priority", "urgent"), says: []string{"urgent", "low, medium or high"}},
		{name: "no video", args: live("--frames", "1", "--record", "x.mp4"), says: []string{"x.mp4", ".y4m"}},
		{name: "no picture", args: live("--frames", "1", "--screenshot", "x.jpg"), says: []string{"x.jpg", ".png"}},
		{name: "no folder", args: live("--frames", "1", "--screenshot", f.model+"/x.png"), says: []string{"not a folder"}},
		{name: "recording in no folder", args: live("--frames", "1", "--record", f.dir+"/absent/x.y4m"), says: []string{"absent", "no such file"}},
		{name: "no rival", args: live("--frames", "1", "--against", "none.tflite"), says: []string{"none.tflite"}},
		{name: "input too many", args: live("--frames", "1", "-i", f.picture), says: []string{"one too many"}},
		{name: "network without a picture", args: []string{"live", f.pair, "--frames", "1", "--device", device}, code: refused, says: []string{"no input takes a picture"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.code == right {
				tc.code = usage
			}
			tc.check(t)
		})
	}
}
