package driver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// BenchmarkExecute is what an execution of a tiny model costs the host, with a backend that only records: over host
// memory, once and again and again, with and without a profile, in a burst over memory that is used in place, and over
// buffers.
func BenchmarkExecute(b *testing.B) {
	d := driver.NewDevice(&null.Backend{}, driver.WithCache(driver.CacheOptions{Off: true}))
	defer d.Close()
	c, err := d.NewClient("bench")
	require.NoError(b, err)
	ctx := context.Background()
	pm, err := c.PrepareModel(ctx, addModel())
	require.NoError(b, err)
	both := append(roleOf(pm, 0), roleOf(pm, 1)...)
	x, err := c.Allocate(driver.BufferDesc{}, both, nil)
	require.NoError(b, err)
	y, err := c.Allocate(driver.BufferDesc{}, nil, roleOf(pm, 0))
	require.NoError(b, err)
	require.NoError(b, x.CopyFrom(ctx, make(nn.HostMemory, 6), nil))
	burst, pinned := pm.Burst(), addRequest()
	pinned.Pools[0] = newPinned(make([]byte, 24))
	host, buffers := addRequest(), bufferRequest(x, x, y)
	again, err := pm.NewExecution(host)
	require.NoError(b, err)
	for _, bench := range []struct {
		name string
		run  func() error
	}{
		{"host memory", func() error { _, err := pm.Execute(ctx, host); return err }},
		{"host memory, profiled", func() error { _, err := pm.Execute(ctx, host, driver.WithProfile()); return err }},
		{"reusable", func() error { _, err := again.Run(ctx); return err }},
		{"reusable, profiled", func() error { _, err := again.Run(ctx, driver.WithProfile()); return err }},
		{"burst", func() error { _, err := burst.Execute(ctx, pinned, []int32{0}); return err }},
		{"buffers", func() error { _, err := pm.Execute(ctx, buffers); return err }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
