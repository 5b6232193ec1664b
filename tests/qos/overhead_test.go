package qos

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// BenchmarkOverhead is what the driver adds to a synchronous execution of a tiny network on an idle device: the
// medians of the execution through the driver, of the same submission to the backend, and of the pairs' difference, in
// microseconds.
func BenchmarkOverhead(b *testing.B) {
	for _, name := range []string{"lavapipe", "swiftshader"} {
		b.Run(name, func(b *testing.B) { overhead(b, name) })
	}
}

func overhead(b *testing.B, name string) {
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
	var through, direct, more []float64
	for b.Loop() {
		t0 := time.Now()
		_, err := p.Run(ctx, inputs, outputs)
		t1 := time.Now()
		require.NoError(b, err)
		require.NoError(b, submit(ctx, exe, inputs, outputs))
		t2 := time.Now()
		x, y := micros(t1.Sub(t0)), micros(t2.Sub(t1))
		through, direct, more = append(through, x), append(direct, y), append(more, x-y)
	}
	b.ReportMetric(median(through), "driver-µs")
	b.ReportMetric(median(direct), "backend-µs")
	b.ReportMetric(median(more), "overhead-µs")
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
