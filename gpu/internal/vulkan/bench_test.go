package vulkan_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// BenchmarkTinyRun is one dispatch and one copy of 4 floats, in one submission: what an execution costs
// beside its kernels.
func BenchmarkTinyRun(b *testing.B) {
	b.Setenv("NNGPU_VALIDATION", "0")
	for _, selector := range vktest.Selectors() {
		b.Run(selector, func(b *testing.B) { tinyRun(b, selector, false) })
		b.Run(selector+", traced", func(b *testing.B) { tinyRun(b, selector, true) })
	}
}

func tinyRun(b *testing.B, selector string, traced bool) {
	d := vktest.Open(b, selector, vulkan.Options{})
	x := newExecutable(b, d, absPlan(4, 1), vulkan.ExecutableOptions{})
	in, out := [][]byte{floats(4, 1)}, [][]byte{make([]byte, 16)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		begin := ctx
		if traced {
			begin = &backend.TraceContext{Context: ctx, Trace: &backend.Trace{}}
		}
		e, err := x.BeginRun(begin, in, out)
		require.NoError(b, err)
		f, err := e.Submit(0, 1)
		require.NoError(b, err)
		require.NoError(b, f.Wait(ctx))
		require.NoError(b, e.Finish())
		e.Release()
	}
}

// BenchmarkOpen is the time until a device can be used.
func BenchmarkOpen(b *testing.B) {
	b.Setenv("NNGPU_VALIDATION", "0")
	for _, selector := range append(vktest.Selectors(), "") {
		b.Run("selector="+selector, func(b *testing.B) {
			if os.Getenv("NNGPU_DEVICE") != "" && selector == "" {
				b.Skip("one device only")
			}
			for b.Loop() {
				d, err := vulkan.Open(selector, vulkan.Options{})
				if err != nil {
					b.Skip(err)
				}
				require.NoError(b, d.Close())
			}
		})
	}
}
