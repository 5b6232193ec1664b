package command

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// TestProfileOfNetworks: the rows add up to the time of a run for every network that a device runs, alone and beside
// others who use every processor. With NNGPU_SOAK=1 all networks of the test data are tried, and on a machine with
// nothing else to do the sum is what bench says, within 5 %, by the medians of three measurements in turn.
func TestProfileOfNetworks(t *testing.T) {
	dir, args := nntest.Shared(t, "models"), []string{"--runs", "10"}
	var paths []string
	for _, name := range []string{"hello_world_f32", "micro_speech_s8", "mobilenet_v1_025_224_f32"} {
		paths = append(paths, filepath.Join(dir, name, "model.tflite"))
	}
	if soak() {
		var err error
		paths, err = filepath.Glob(filepath.Join(dir, "*", "model.tflite"))
		require.NoError(t, err)
		args = nil
	}
	eachDevice(t, func(t *testing.T, device string) {
		for _, path := range paths {
			t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
				if r := nngpu(t, "inspect", path, "--device", device); r.code != right {
					t.Logf("not run by this device: %s%s", r.stdout, r.stderr)
					return
				}
				check := func() profiled {
					p := profileJSON(t, append([]string{path, "--device", device}, args...)...)
					var sum float64
					for _, r := range p.Rows {
						sum += r.MS
					}
					require.InEpsilon(t, p.Wall, sum, addsUp)
					require.InEpsilon(t, p.Sum, sum, addsUp)
					return p
				}
				busy(t, func() { check() })
				sums := []float64{check().Sum}
				if !soak() {
					return
				}
				var benched []float64
				for range 3 {
					var b struct {
						Latency struct{ Median float64 } `json:"latency_ms"`
					}
					require.NoError(t, json.Unmarshal([]byte(ok(t, "bench", path, "--device", device, "--json").stdout), &b))
					benched = append(benched, b.Latency.Median)
					sums = append(sums, check().Sum)
				}
				slices.Sort(sums)
				slices.Sort(benched)
				t.Logf("profile %.4f ms, bench %.4f", sums, benched)
				require.InEpsilon(t, benched[1], (sums[1]+sums[2])/2, 0.05)
			})
		}
	})
}

// busy calls f while two others use all the processor time that they get.
func busy(t *testing.T, f func()) {
	t.Helper()
	var stop atomic.Bool
	done := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { done <- struct{}{} }()
			for !stop.Load() {
			}
		}()
	}
	defer func() {
		stop.Store(true)
		<-done
		<-done
	}()
	f()
}
