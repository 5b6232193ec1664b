package gpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/memory"
)

// BenchmarkImage converts an image in imported memory, of a network's input size and of a camera's.
func BenchmarkImage(b *testing.B) {
	for _, selector := range vktest.Selectors() {
		dev, err := Open(selector, Options{})
		if err != nil {
			b.Skip(err)
		}
		defer dev.Close()
		for _, name := range []string{"rgba8", "rgb8", "rgba16"} {
			for _, typ := range imageTypes[:3] {
				for _, size := range [][2]uint32{{224, 224}, {1920, 1080}} {
					d := imageFormats[name]
					d.Width, d.Height, d.Layers, d.Stride = size[0], size[1], 1, size[0]
					o := &nn.Operand{Type: typ, Dims: nn.Dims{1, size[1], size[0], 3}, Scale: 1.0 / 255}
					b.Run(fmt.Sprintf("%s/%s/%v/%d", selector, name, typ, size[0]), func(b *testing.B) { benchmarkImage(b, dev, d, o) })
				}
			}
		}
	}
}

func benchmarkImage(b *testing.B, dev *Backend, d nn.ImageLayout, o *nn.Operand) {
	x, err := dev.CompileImage(b.Context(), d, o, backend.Options{})
	require.NoError(b, err)
	defer x.Close()
	m, err := dev.Allocate(o.Type, o.Dims, 0)
	require.NoError(b, err)
	defer m.Close()
	size, err := o.ByteSize()
	require.NoError(b, err)
	pool, err := memory.NewAshmem("nngpu-test", d.Bytes())
	require.NoError(b, err)
	defer pool.Close()
	pages, err := pool.Bytes()
	require.NoError(b, err)
	for i := range pages {
		pages[i] = byte(i)
	}
	imported, err := dev.Import(pages, true)
	require.NoError(b, err)
	defer imported.Close()
	for b.Loop() {
		e, err := x.Begin(b.Context(), []backend.Binding{{Memory: imported, Length: d.Bytes()}}, []backend.Binding{{Memory: m, Length: int64(size)}})
		require.NoError(b, err)
		f, err := e.Submit(0, e.Segments())
		require.NoError(b, err)
		require.NoError(b, f.Wait(b.Context()))
		require.NoError(b, e.Finish())
		e.Release()
	}
}
