package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// profiled is what `nngpu profile --json` prints.
type profiled struct {
	Device, Driver, Model string
	Runs                  int
	Wall                  float64 `json:"wall_ms"`
	Sum                   float64 `json:"sum_ms"`
	Rows                  []struct {
		Name, Kind, Kernel, Ceiling string
		MS                          float64
		Uncertainty                 float64 `json:"uncertainty_ms"`
		Share                       float64
		GFLOPS                      float64
		GBPS                        float64
		Percent                     float64
	}
}

func profileJSON(t *testing.T, args ...string) (p profiled) {
	t.Helper()
	r := ok(t, append([]string{"profile", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &p))
	return p
}

// addsUp is how far the sum of the rows may be from the time of a run. Both are of the same runs, so that what others do
// to the machine makes no difference.
const addsUp = 0.001

// TestProfile: the fields that docs/command.md names; rows that add up to the time of a run; operations of the network with
// their kernels and ceilings; the same time whatever rows are put together.
func TestProfile(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		net := example(t, "digits_f32.tflite")
		p := profileJSON(t, net, "--device", device, "--runs", "15")
		require.Equal(t, 15, p.Runs)
		require.Equal(t, net, p.Model)
		require.NotEmpty(t, p.Device)
		require.NotEmpty(t, p.Driver)
		require.InEpsilon(t, p.Wall, p.Sum, addsUp)
		var sum, share float64
		kinds := map[string]int{}
		for _, r := range p.Rows {
			require.Positive(t, r.MS, r.Name)
			require.GreaterOrEqual(t, r.Uncertainty, 0.0, r.Name)
			sum += r.MS
			share += r.Share
			kinds[r.Kind]++
			require.Equal(t, r.Kernel != "", r.Ceiling != "", r.Name)
			require.Equal(t, r.Kernel != "", r.Percent > 0, r.Name)
			if r.Kind == "op" {
				require.Regexp(t, `^[A-Z0-9_]+ #\d+`, r.Name)
			}
		}
		require.InEpsilon(t, p.Sum, sum, 1e-6)
		require.InEpsilon(t, 1, share, 1e-6)
		for _, kind := range []string{"op", "bind", "record", "submit", "wait", "finish"} {
			require.Positive(t, kinds[kind], kind)
		}
		for _, by := range []string{"kernel", "segment"} {
			b := profileJSON(t, net, "--device", device, "--runs", "5", "--by", by)
			require.InEpsilon(t, b.Wall, b.Sum, addsUp)
			require.LessOrEqual(t, len(b.Rows), len(p.Rows))
		}
		text := ok(t, "profile", net, "--device", device, "--runs", "5").stdout
		require.Contains(t, text, "GFLOP/s")
		require.Contains(t, text, "CONV_2D #")
		require.Regexp(t, `(?m)^sum +[\d.]+ +all rows; a run takes`, text)
	})
}

// TestProfileBadInput: as the other commands.
func TestProfileBadInput(t *testing.T) {
	device := anyDevice(t)
	net := example(t, "digits_f32.tflite")
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no network", []string{"profile"}, usage, "takes one model"},
		{"absent network", []string{"profile", filepath.Join(t.TempDir(), "absent.tflite")}, usage, "no such file"},
		{"no network at all", []string{"profile", write(t, filepath.Join(t.TempDir(), "x.tflite"), []byte("none"))}, usage, "models are .tflite files"},
		{"no runs", []string{"profile", net, "--runs", "0"}, usage, "--runs must be at least 1"},
		{"unknown rows", []string{"profile", net, "--by", "moon"}, usage, "--by is op, kernel or segment"},
		{"unknown device", []string{"profile", net, "--device", "moon"}, refused, "moon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tc.args
			if !strings.Contains(strings.Join(args, " "), "--device") {
				args = append(args, "--device", device)
			}
			r := nngpu(t, args...)
			require.Equal(t, tc.code, r.code, r.stderr)
			require.Contains(t, r.stderr, tc.says)
			require.Empty(t, r.stdout)
		})
	}
}
