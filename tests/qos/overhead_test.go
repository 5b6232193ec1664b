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
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
)

// BenchmarkOverhead is what the driver adds to a synchronous execution of a tiny network on an idle device: the
// medians of the submission to the backend, and of how much longer a plain, a burst and a reusable execution took right
// after it, in microseconds.
func BenchmarkOverhead(b *testing.B) {
	for _, name := range []string{"lavapipe", "swiftshader"} {
		b.Run(name, func(b *testing.B) {
			x := overhead(b, name, b.Loop)
			b.ReportMetric(x.direct, "backend-µs")
			b.ReportMetric(x.plain, "plain-µs")
			b.ReportMetric(x.burst, "burst-µs")
			b.ReportMetric(x.reusable, "reusable-µs")
		})
	}
}

// TestOverhead holds what BenchmarkOverhead measures to 30 µs with NNGPU_SOAK=1, else to what a busy machine allows.
func TestOverhead(t *testing.T) {
	runs, bound := 500, 1000.0
	if soak() && !nntest.Raced {
		runs, bound = 5000, 30
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			left := runs
			x := overhead(t, name, func() bool { left--; return left >= 0 })
			t.Logf("%.1f µs to the backend; %.1f µs more through the driver, %.1f in a burst, %.1f with a reusable execution",
				x.direct, x.plain, x.burst, x.reusable)
			require.LessOrEqual(t, x.plain, bound, "µs")
		})
	}
}

// overheads are medians in microseconds: of a submission to the backend, and of how much longer executions took.
type overheads struct{ direct, plain, burst, reusable float64 }

// overhead measures as long as next says so.
func overhead(b testing.TB, name string, next func() bool) overheads {
	x := openTiny(b, name, gpu.Options{})
	ctx := context.Background()
	exe, err := x.back.Compile(ctx, x.model, backend.Options{})
	require.NoError(b, err)
	defer exe.Close()
	burst, slots := x.prepared.Burst(), make([]int32, len(x.request.Pools))
	for i := range slots {
		slots[i] = int32(i)
	}
	reusable, err := x.prepared.NewExecution(x.request)
	require.NoError(b, err)
	runs := [...]func() error{
		func() error { return submit(ctx, exe, x.inputs, x.outputs) },
		func() error { _, err := x.prepared.Execute(ctx, x.request); return err },
		func() error { _, err := burst.Execute(ctx, x.request, slots); return err },
		func() error { _, err := reusable.Run(ctx); return err },
	}
	var lists [len(runs)][]float64
	for next() {
		var took [len(runs)]float64
		for i, run := range runs {
			start := time.Now()
			require.NoError(b, run())
			took[i] = micros(time.Since(start))
		}
		for i := range lists {
			if i > 0 {
				took[i] -= took[0]
			}
			lists[i] = append(lists[i], took[i])
		}
	}
	return overheads{median(lists[0]), median(lists[1]), median(lists[2]), median(lists[3])}
}

// tiny is a network on a device, most often the smallest.
type tiny struct {
	back            backend.Backend
	client          *driver.Client
	model           *nn.Model
	prepared        *driver.PreparedModel
	request         *nn.Request // over inputs and outputs, in host memory
	inputs, outputs [][]byte
}

// openTiny prepares the smallest network, for the time of a test, on a device that is opened with o.
func openTiny(b testing.TB, name string, o gpu.Options) *tiny {
	return openNetwork(b, name, "hello_world_f32", o)
}

// openNetwork is openTiny of a network of the test data.
func openNetwork(b testing.TB, name, network string, o gpu.Options) *tiny {
	back, err := gpu.Open(name, o)
	if err != nil {
		if nntest.Required(name) {
			b.Fatal(err)
		}
		b.Skipf("device %s: %v", name, err)
	}
	d := driver.NewDevice(back, driver.WithCache(driver.CacheOptions{Off: true}))
	b.Cleanup(func() { require.NoError(b, d.Close()) })
	x := &tiny{back: back, model: loadModel(b, network), request: &nn.Request{}}
	x.client, err = d.NewClient("tiny")
	require.NoError(b, err)
	x.prepared, err = x.client.PrepareModel(context.Background(), x.model)
	require.NoError(b, err)
	x.inputs, x.outputs = buffers(x.prepared, x.model)
	x.request = wholeRequest(x.inputs, x.outputs)
	return x
}

// wholeRequest has a pool for each of inputs and outputs.
func wholeRequest(inputs, outputs [][]byte) *nn.Request {
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
	return r
}

// TestPastDeadlineIsRefusedAtOnce, in every form of execution, also while the device is busy: in less than 100 µs, where
// the machine has nothing else to do. That nothing is done for it is tested in package driver.
func TestPastDeadlineIsRefusedAtOnce(t *testing.T) {
	bound := 20 * time.Millisecond
	if soak() && !nntest.Raced {
		bound = 100 * time.Microsecond
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			c := newContest(t, name, driver.SchedulingOptions{})
			stop := c.saturate(t)
			defer stop()
			inputs, outputs := buffers(c.heavy, c.model)
			r := wholeRequest(inputs, outputs)
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
