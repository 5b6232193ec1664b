package qos

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

// TestProfiledCostsLittle: the rows of an execution add up to what it took. With NNGPU_SOAK=1 one that is profiled takes
// at most 3 % longer than one that is not, of those that take turns, and the rows are within 5 % of what the latter takes;
// else the machine has other work, and medians of the same thing differ by more than that.
func TestProfiledCostsLittle(t *testing.T) {
	networks := []string{"hello_world_f32", "mobilenet_v1_025_224_f32"}
	bound, agree, long := 2.0, 0.5, time.Second
	if soak() && !nntest.Raced {
		networks = append(networks, "micro_speech_s8", "lstm_mnist_f32", "face_landmark_f16w", "mobilenet_v2_224_s8", "mobilenet_v2_224_u8",
			"deeplabv3_257_f32")
		bound, agree, long = 1.03, 0.05, 8*time.Second
	}
	for _, name := range nntest.Devices() {
		for _, network := range networks {
			t.Run(name+"/"+network, func(t *testing.T) {
				x := openNetwork(t, name, network, gpu.Options{})
				run := func(opts ...driver.ExecuteOption) (*driver.Result, float64) {
					start := time.Now()
					res, err := x.prepared.Execute(t.Context(), x.request, opts...)
					took := micros(time.Since(start))
					require.NoError(t, err)
					return res, took
				}
				for range 30 { // until what is kept from run to run is there
					run()
					run(driver.WithProfile())
				}
				var plain, again, profiled, extra, sums, parts []float64
				for begin := time.Now(); time.Since(begin) < long || len(plain) < 15; {
					_, a := run()
					res, b := run(driver.WithProfile())
					_, c := run()
					plain, profiled, again = append(plain, a), append(profiled, b), append(again, c)
					extra = append(extra, b-(a+c)/2)
					var sum time.Duration
					for _, row := range res.Profile().Rows {
						sum += row.Time
					}
					sums, parts = append(sums, micros(sum)), append(parts, micros(sum)/b)
					run() // the first after a profile was worked out finds its memory cold
				}
				n := len(plain)
				before, after := median(plain), median(again)
				one := median(slices.Concat(plain, again))
				t.Logf("%d runs: %.1f µs before and %.1f after, profiled %.1f (%+.1f %%; %+.2f µs in pairs), rows %.1f", n, before, after,
					median(profiled), 100*(median(profiled)/one-1), median(extra), median(sums))
				require.InDelta(t, 1, median(parts), 0.05)
				require.LessOrEqual(t, 1+median(extra)/one, bound)
				require.InEpsilon(t, one, median(sums), agree)
			})
		}
	}
}
