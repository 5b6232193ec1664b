package models

import (
	"bytes"
	"context"
	"encoding/binary"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/memory"
)

// TestM27NetworksOnImages: a network that is given a picture as a hardware buffer of texels computes, to the bit,
// what it computes of the dense tensor.
func TestM27NetworksOnImages(t *testing.T) {
	models, pictures := nntest.Shared(t, "models"), nntest.Shared(t, "images")
	const size = 224
	rgb := picture(t, filepath.Join(pictures, "cat.png"), size)
	labels, err := os.ReadFile(filepath.Join(pictures, "imagenet_labels.txt"))
	require.NoError(t, err)
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, name := range []string{"mobilenet_v1_025_224_f32", "mobilenet_v2_224_u8", "mobilenet_v2_224_s8"} {
			t.Run(name, func(t *testing.T) {
				p := prepare(t, d, filepath.Join(models, name, "model.tflite"))
				input := p.net.Model.Main.Operands[p.net.Model.Main.Inputs[0]]
				require.Equal(t, nn.Dims{1, size, size, 3}, input.Dims)
				dense := asTensor(rgb, input.Type)
				want := p.model.NewOutputs()
				_, err := p.model.Run(context.Background(), [][]byte{dense}, want)
				require.NoError(t, err)
				if name == "mobilenet_v2_224_u8" {
					require.Contains(t, string(bytes.Split(labels, []byte("\n"))[most(want[0])]), "cat")
				}
				for _, format := range []memory.Format{memory.FormatRGBA8, memory.FormatRGBX8, memory.FormatRGB8} {
					pool := imagePool(t, rgb, size, format)
					for range 2 {
						require.Equal(t, want, runOn(t, p, pool, int64(len(dense))), "%v", format)
					}
				}
			})
		}
	})
}

// runOn runs p on an image and expects that nobody but the device touched it.
func runOn(t *testing.T, p prepared, pool nn.Memory, denseBytes int64) [][]byte {
	t.Helper()
	out := p.model.NewOutputs()
	r := &nn.Request{Inputs: []nn.RequestArgument{{}}, Pools: []nn.Memory{pool}}
	outBytes := int64(0)
	for i := range out {
		r.Pools = append(r.Pools, nn.HostMemory(out[i]))
		r.Outputs = append(r.Outputs, nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(i + 1), Length: uint32(len(out[i]))}})
		outBytes += int64(len(out[i]))
	}
	res, err := p.model.Execute(context.Background(), r)
	require.NoError(t, err)
	require.LessOrEqual(t, res.Traffic.Copied, 2*outBytes, "the image is read where it is")
	require.Positive(t, res.Traffic.Converted)
	return out
}

// imagePool is a hardware buffer of the given format with the picture; its rows are longer, and what is no channel
// of the picture is no 0.
func imagePool(t *testing.T, rgb []byte, size uint32, format memory.Format) nn.Memory {
	t.Helper()
	pool, err := memory.NewHardwareBuffer("nngpu-test", memory.Descriptor{
		Width: size, Height: size, Layers: 1, Format: format, Stride: size + 3,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	image := pool.(*memory.Image)
	var texels []byte
	for i := 0; i < len(rgb); i += 3 {
		texels = append(texels, rgb[i:i+3]...)
		if format != memory.FormatRGB8 {
			texels = append(texels, byte(i)|1)
		}
	}
	require.NoError(t, image.WriteTexels(texels))
	return image
}

// picture is a file's picture in rows of 3 bytes a pixel, size pixels square, by the nearest pixel.
func picture(t *testing.T, path string, size int) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	b := img.Bounds()
	var rgb []byte
	for y := range size {
		for x := range size {
			red, green, blue, _ := img.At(b.Min.X+x*b.Dx()/size, b.Min.Y+y*b.Dy()/size).RGBA()
			rgb = append(rgb, byte(red>>8), byte(green>>8), byte(blue>>8))
		}
	}
	return rgb
}

// asTensor is what nn.Image says of bytes.
func asTensor(rgb []byte, typ nn.OperandType) []byte {
	var out []byte
	for _, x := range rgb {
		switch typ {
		case nn.TensorFloat32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)/255))
		case nn.TensorQuant8AsymmSigned:
			out = append(out, x^0x80)
		default:
			out = append(out, x)
		}
	}
	return out
}

// most is the index of the largest byte.
func most(b []byte) int {
	best := 0
	for i := range b {
		if b[i] > b[best] {
			best = i
		}
	}
	return best
}
