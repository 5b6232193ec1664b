package command

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// tuning is the JSON of nngpu tune.
type tuning struct {
	Device  string  `json:"device"`
	Cache   string  `json:"cache"`
	Tuning  float64 `json:"tuning_ms"`
	Before  float64 `json:"before_ms"`
	After   float64 `json:"after_ms"`
	Choices []struct {
		Operation, Kernel, Why string
	} `json:"choices"`
}

// TestTune: a network is tuned once, and everything that prepares it afterwards takes what came out.
func TestTune(t *testing.T) {
	net := example(t, "digits_f32.tflite")
	eachDevice(t, func(t *testing.T, device string) {
		flags, _, _ := cacheFlags(t)
		flags = append(flags, "--device", device)
		tune := func() (r tuning) {
			out := ok(t, append([]string{"tune", net, "--budget", "100ms", "--json"}, flags...)...)
			require.NoError(t, json.Unmarshal([]byte(out.stdout), &r))
			return r
		}
		first := tune()
		require.Equal(t, "miss", first.Cache)
		require.NotEmpty(t, first.Device)
		require.Positive(t, first.Before)
		require.Positive(t, first.After)
		require.Positive(t, first.Tuning)
		require.NotNil(t, first.Choices)
		again := tune()
		require.Equal(t, "hit", again.Cache)
		require.Equal(t, first.Choices, again.Choices)
		require.Contains(t, ok(t, append([]string{"bench", net, "--runs", "1", "-v"}, flags...)...).stderr, "cache: hit")
	})
	require.Equal(t, usage, nngpu(t, "tune").code)
	require.Equal(t, usage, nngpu(t, "tune", net, "--budget", "0s").code)
	require.Equal(t, usage, nngpu(t, "tune", "absent.tflite").code)
}
