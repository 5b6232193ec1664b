package qos

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// BenchmarkOverhead is what the driver adds to a synchronous execution of a tiny network on an idle device: the
// medians of the execution through the driver, of the same submission to the backend, and of the pairs' difference, in
// microseconds.
func BenchmarkOverhead(b *testing.B) {
	for _, name := range []string{"lavapipe", "swiftshader"} {
		b.Run(name, func(b *testing.B) {
			through, direct, more := overhead(b, name, b.Loop)
			b.ReportMetric(through, "driver-µs")
			b.ReportMetric(direct, "backend-µs")
			b.ReportMetric(more, "overhead-µs")
		})
	}
}

// TestOverhead holds what BenchmarkOverhead measures to 30 µs with NNGPU_SOAK=1, else to what a busy machine allows.
func TestOverhead(t *testing.T) {
	runs, bound := 500, 1000.0
	if soak() && !raced {
		runs, bound = 5000, 30
	}
	for _, name := range devices.Names() {
		t.Run(name, func(t *testing.T) {
			left := runs
			through, direct, more := overhead(t, name, func() bool { left--; return left >= 0 })
			t.Logf("%.1f µs through the driver, %.1f µs to the backend, %.1f µs more", through, direct, more)
			require.LessOrEqual(t, more, bound, "µs")
		})
	}
}

// overhead measures as long as next says so.
func overhead(b testing.TB, name string, next func() bool) (through, direct, more float64) {
	back, err := gpu.Open(name, gpu.Options{})
	if err != nil {
		if devices.Required(name) {
			b.Fatal(err)
		}
		b.Skipf("device %s: %v", name, err)
	}
	d := driver.NewDevice(back, driver.WithCache(driver.CacheOptions{Off: true}))
	defer d.Close()
	c, err := d.NewClient("bench")
	require.NoError(b, err)
	ctx := context.Background()
	m := loadModel(b, "hello_world_f32")
	p, err := c.PrepareModel(ctx, m)
	require.NoError(b, err)
	exe, err := back.Compile(ctx, m, backend.Options{})
	require.NoError(b, err)
	defer exe.Close()
	inputs, outputs := buffers(p, m)
	var withDriver, without, pairs []float64
	for next() {
		t0 := time.Now()
		_, err := p.Run(ctx, inputs, outputs)
		t1 := time.Now()
		require.NoError(b, err)
		require.NoError(b, submit(ctx, exe, inputs, outputs))
		t2 := time.Now()
		x, y := micros(t1.Sub(t0)), micros(t2.Sub(t1))
		withDriver, without, pairs = append(withDriver, x), append(without, y), append(pairs, x-y)
	}
	return median(withDriver), median(without), median(pairs)
}

// TestPastDeadlineIsRefusedAtOnce, in every form of execution, also while the device is busy: in less than 100 µs, where
// the machine has nothing else to do. That nothing is done for it is tested in package driver.
func TestPastDeadlineIsRefusedAtOnce(t *testing.T) {
	bound := 20 * time.Millisecond
	if soak() && !raced {
		bound = 100 * time.Microsecond
	}
	for _, name := range devices.Names() {
		t.Run(name, func(t *testing.T) {
			c := newContest(t, name, driver.SchedulingOptions{})
			stop := c.saturate(t)
			defer stop()
			inputs, outputs := buffers(c.heavy, c.model)
			r := &nn.Request{}
			for i, list := range [][][]byte{inputs, outputs} {
				for _, data := range list {
					a := nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools)), Length: uint32(len(data))}}
					r.Pools = append(r.Pools, nn.HostMemory(data))
					if i == 0 {
						r.Inputs = append(r.Inputs, a)
					} else {
						r.Outputs = append(r.Outputs, a)
					}
				}
			}
			past := driver.WithDeadline(time.Now())
			burst, slots := c.heavy.Burst(), make([]int32, len(r.Pools))
			for form, run := range map[string]func() error{
				"sync":   func() error { _, err := c.heavy.Execute(t.Context(), r, past); return err },
				"async":  func() error { _, err := c.heavy.ExecuteAsync(t.Context(), r, past).Wait(); return err },
				"fenced": func() error { _, err := c.heavy.ExecuteFenced(t.Context(), r, nil, past); return err },
				"burst":  func() error { _, err := burst.Execute(t.Context(), r, slots, past); return err },
			} {
				var list []time.Duration
				for range 500 {
					start := time.Now()
					err := run()
					list = append(list, time.Since(start))
					require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(err), "%v", err)
				}
				slices.Sort(list)
				t.Logf("%s: %v", form, summary(list))
				require.Less(t, quantile(list, 0.5), bound, form)
			}
		})
	}
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// submit executes without the driver.
func submit(ctx context.Context, exe backend.Executable, inputs, outputs [][]byte) error {
	x, err := exe.Begin(ctx, backend.Hosts(inputs), backend.Hosts(outputs))
	if err != nil {
		return err
	}
	defer x.Release()
	f, err := x.Submit(0, x.Segments())
	if err != nil {
		return err
	}
	if err := f.Wait(ctx); err != nil {
		return err
	}
	return x.Finish()
}
