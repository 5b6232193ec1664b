package gpu

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/memory"
)

// absModel is y = |x| of floats.
func absModel(dims nn.Dims) *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, dims, 0, 0)
	y := b.Temp(nn.TensorFloat32, dims, 0, 0)
	b.Op(nn.OpAbs, []uint32{x}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// texelsAndPool makes an image in a memfd, which a device reads where it is, or in a file, which is read in pieces.
func texelsAndPool(t *testing.T, d memory.Descriptor, inFile bool) ([]byte, *memory.Image) {
	t.Helper()
	size, err := d.Bytes()
	require.NoError(t, err)
	var pool memory.Pool
	if inFile {
		f, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, f.Truncate(size))
		pool, err = memory.Open(memory.Handle{Kind: memory.HardwareBuffer, Buffer: d, Files: []*os.File{f}})
		require.NoError(t, err)
	} else if pool, err = memory.NewHardwareBuffer("nngpu-test", d); err != nil {
		require.NoError(t, err)
	}
	image := pool.(*memory.Image)
	layout := image.Layout()
	data := imageData(layout, &nn.Operand{}, rand.New(rand.NewPCG(3, 4)))
	row := int(layout.Stride * layout.TexelBytes)
	var texels []byte
	for y := range int(layout.Layers * layout.Height) {
		texels = append(texels, data[y*row:][:layout.Width*layout.TexelBytes]...)
	}
	require.NoError(t, image.WriteTexels(texels))
	return data, image
}

// TestM27ImagePools runs a model on hardware buffers of every format. The second execution on the same one records,
// imports and allocates nothing, and closing the model gives all memory back.
func TestM27ImagePools(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			dev := driver.NewDevice(shared{b}, driver.WithCache(driver.CacheOptions{Off: true}))
			defer func() { require.NoError(t, dev.Close()) }()
			client, err := dev.NewClient("test")
			require.NoError(t, err)
			for _, format := range []memory.Format{memory.FormatRGBA8, memory.FormatRGBX8, memory.FormatRGB8, memory.FormatRGBA16F, memory.FormatR8} {
				for _, inFile := range []bool{false, true} {
					d := memory.Descriptor{Width: 7, Height: 5, Layers: 2, Stride: 9, Format: format}
					data, image := texelsAndPool(t, d, inFile)
					layout := image.Layout()
					o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{2, 5, 7, min(3, layout.Channels)}}
					want := expected(layout, o, data)
					for i := 3; i < len(want); i += 4 {
						want[i] &= 0x7f // the sign
					}
					pm, err := client.PrepareModel(t.Context(), absModel(o.Dims))
					require.NoError(t, err)
					out := pm.NewOutputs()[0]
					r := &nn.Request{
						Inputs:  []nn.RequestArgument{{}},
						Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: uint32(len(out))}}},
						Pools:   []nn.Memory{image, nn.HostMemory(out)},
					}
					var before Counters
					for run := range 3 {
						clear(out)
						before = b.Counters()
						res, err := pm.Execute(t.Context(), r)
						require.NoError(t, err)
						requireTensor(t, o.Type, want, out)
						require.GreaterOrEqual(t, res.Traffic.Converted, (layout.Bytes()+3)/4*4, "%v", format)
						if run > 0 {
							require.Equal(t, before, b.Counters(), "%v, file %v", format, inFile)
						}
					}
					require.NoError(t, pm.Close())
					require.NoError(t, image.Close())
					require.Zero(t, client.Memory())
					used, _, _ := b.device.Memory()
					require.Zero(t, used)
				}
			}
		})
	}
}

// TestM27ImagesInDeviceMemory: texels that another execution, or another API, left in memory of the device are read
// there: nobody copies them.
func TestM27ImagesInDeviceMemory(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			dev := driver.NewDevice(shared{b}, driver.WithCache(driver.CacheOptions{Off: true}))
			defer func() { require.NoError(t, dev.Close()) }()
			client, err := dev.NewClient("test")
			require.NoError(t, err)

			var mb nn.Builder
			x := mb.Input(nn.TensorQuant8Asymm, nn.Dims{1, 5, 8, 4}, 1, 0)
			y := mb.Temp(nn.TensorQuant8Asymm, nn.Dims{1, 5, 8, 4}, 1, 0)
			mb.Op(nn.OpRelu, []uint32{x}, []uint32{y})
			mb.Output(y)
			maker, err := client.PrepareModel(t.Context(), nntest.Build(&mb))
			require.NoError(t, err)
			buffer, err := client.Allocate(driver.BufferDesc{Exportable: true}, []driver.BufferRole{{Model: maker, Probability: 1}}, nil)
			require.NoError(t, err)
			texels := make(nn.HostMemory, 5*8*4)
			for i := range texels {
				texels[i] = byte(7*i + 1)
			}
			require.NoError(t, buffer.CopyFrom(t.Context(), texels, nil))

			h, err := buffer.Export()
			require.NoError(t, err)
			h.Kind, h.Size = memory.HardwareBuffer, 0
			h.Buffer.Width, h.Buffer.Height, h.Buffer.Layers, h.Buffer.Stride, h.Buffer.Format = 7, 5, 1, 8, memory.FormatRGBA8
			image, err := memory.Open(h)
			require.NoError(t, err)
			h.Close()
			o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 5, 7, 3}}
			pm, err := client.PrepareModel(t.Context(), absModel(o.Dims))
			require.NoError(t, err)
			out := pm.NewOutputs()[0]
			r := &nn.Request{
				Inputs:  []nn.RequestArgument{{}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: uint32(len(out))}}},
				Pools:   []nn.Memory{image, nn.HostMemory(out)},
			}
			for range 2 {
				clear(out)
				res, err := pm.Execute(t.Context(), r)
				require.NoError(t, err)
				requireTensor(t, o.Type, expected(image.(nn.Image).Layout(), o, texels), out)
				require.LessOrEqual(t, res.Traffic.Copied, int64(2*len(out)))
			}
			require.NoError(t, image.Close())
		})
	}
}

// shared is a backend that its user does not close.
type shared struct{ *Backend }

func (shared) Close() error { return nil }

// TestImagesWhileTheyChange: a client that writes its image meanwhile gets what it deserves, and nothing else happens.
func TestImagesWhileTheyChange(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openImages(t, selector, Options{})
			dev := driver.NewDevice(shared{b}, driver.WithCache(driver.CacheOptions{Off: true}))
			defer func() { require.NoError(t, dev.Close()) }()
			client, err := dev.NewClient("test")
			require.NoError(t, err)
			const size = 64
			_, image := texelsAndPool(t, memory.Descriptor{Width: size, Height: size, Layers: 1, Stride: size, Format: memory.FormatRGB8}, false)
			defer image.Close()
			pm, err := client.PrepareModel(t.Context(), absModel(nn.Dims{1, size, size, 3}))
			require.NoError(t, err)
			done := make(chan struct{})
			var group sync.WaitGroup
			group.Go(func() {
				texels := make([]byte, image.DenseBytes())
				for value := byte(0); ; value++ {
					select {
					case <-done:
						return
					default:
					}
					for i := range texels {
						texels[i] = value
					}
					if image.WriteTexels(texels) != nil {
						return
					}
				}
			})
			out := pm.NewOutputs()[0]
			r := &nn.Request{
				Inputs:  []nn.RequestArgument{{}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: uint32(len(out))}}},
				Pools:   []nn.Memory{image, nn.HostMemory(out)},
			}
			for range 50 {
				_, err := pm.Execute(t.Context(), r)
				require.NoError(t, err)
				for i := 3; i < len(out); i += 4 {
					require.LessOrEqual(t, out[i], byte(0x3f), "at most 1")
				}
			}
			close(done)
			group.Wait()
		})
	}
}
