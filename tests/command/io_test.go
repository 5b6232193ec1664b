package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBenchIO: buffers of the driver stay on the device, so that a run moves nothing.
func TestBenchIO(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		for _, io := range []string{"host", "pool", "device"} {
			for _, model := range []string{"digits_f32.tflite", "digits_s8.tflite"} {
				v := object(t, ok(t, "bench", example(t, model), "--io", io, "--runs", "5", "--device", device, "--json").stdout)
				require.Equal(t, io, v["io"])
				require.Contains(t, v, "bytes_copied_per_run")
				require.Contains(t, v, "bytes_converted_per_run")
				switch io {
				case "host":
					require.Positive(t, v["bytes_copied_per_run"], "%s: nothing lies in the device's memory", model)
				case "device":
					require.Zero(t, v["bytes_copied_per_run"], model)
					require.Zero(t, v["bytes_converted_per_run"], model)
				}
			}
		}
	})
}

func TestBenchIOWithConcurrency(t *testing.T) {
	device := anyDevice(t)
	for _, io := range []string{"pool", "device"} {
		ok(t, "bench", example(t, "digits_s8.tflite"), "--io", io, "--runs", "20", "--concurrency", "3", "--device", device)
	}
	text := ok(t, "bench", example(t, "digits_s8.tflite"), "--runs", "2", "--device", device).stdout
	require.Regexp(t, `(?m)^  io +host; .* copied and .* converted a run$`, text)
	require.Regexp(t, `(?m)^  predicted +\d+\.\d{3} ms`, text)
}

func TestBadBenchIO(t *testing.T) {
	f := newFiles(t)
	for _, tc := range []bad{
		{name: "no such place", args: []string{"bench", f.model, "--io", "disk"}, says: []string{"disk", "host, pool or device"}},
		{name: "startup", args: []string{"bench", f.model, "--startup", "--io", "pool"}, says: []string{"--startup", "--io"}},
		{name: "against", args: []string{"bench", f.model, "--against", f.model, "--io", "pool"}, says: []string{"--against", "--io"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.code = usage
			tc.check(t)
		})
	}
}
