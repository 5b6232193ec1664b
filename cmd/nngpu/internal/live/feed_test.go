package live

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/memory"
)

// fed is what the feed makes of a picture that lies in an image pool.
func fed(t *testing.T, c *driver.Client, m *image.RGBA, in *picture.Input, o *nn.Operand) (view []float32, input []byte) {
	t.Helper()
	w, h := m.Rect.Dx(), m.Rect.Dy()
	model, err := feedModel(w, h, in, o)
	require.NoError(t, err)
	p, err := c.PrepareModel(t.Context(), model)
	require.NoError(t, err)
	pool, err := memory.NewHardwareBuffer("test", memory.Descriptor{Width: uint32(w), Height: uint32(h), Layers: 1, Stride: uint32(w), Format: memory.FormatRGBA8})
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, pool.(*memory.Image).WriteTexels(m.Pix))
	out := p.NewOutputs()
	r := &nn.Request{}
	r.Inputs = []nn.RequestArgument{argument(r, pool, 0)}
	r.Outputs = []nn.RequestArgument{host(r, out[feedView]), host(r, out[feedInput])}
	_, err = p.Execute(t.Context(), r)
	require.NoError(t, err)
	view, err = nn.Values[float32](out[feedView])
	require.NoError(t, err)
	return view, out[feedInput]
}

// blocks is a picture of random colours, each of them block by block pixels large.
func blocks(w, h, block int) *image.RGBA {
	rng := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	m := image.NewRGBA(image.Rect(0, 0, w*block, h*block))
	for y := range h {
		for x := range w {
			c := [4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), 255}
			for i := range block * block {
				copy(m.Pix[m.PixOffset(x*block+i%block, y*block+i/block):], c[:])
			}
		}
	}
	return m
}

// TestFeed: the device makes of a picture what package picture makes of it on the host, where nothing has to be guessed
// between pixels: at the network's size, and at three times that.
func TestFeed(t *testing.T) {
	half := picture.Normalisation{Mean: []float64{120, 110, 100}, Std: []float64{60, 50, 40}, Exact: true}
	grey := picture.Normalisation{Mean: []float64{127.5}, Std: []float64{127.5}}
	devices.EachClient(t, func(t *testing.T, c *driver.Client) {
		for _, tc := range []struct {
			o    nn.Operand
			norm picture.Normalisation
		}{
			{nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 11, 13, 3}}, half},
			{nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 28, 28, 1}}, grey},
			{nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 3, 11, 13}}, half},
			{nn.Operand{Type: nn.TensorFloat16, Dims: nn.Dims{1, 11, 13, 3}}, picture.Normalisation{}},
			{nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 1. / 128, ZeroPoint: 128, Dims: nn.Dims{1, 17, 7, 3}}, picture.Normalisation{}},
			{nn.Operand{Type: nn.TensorQuant8AsymmSigned, Scale: 0.02, ZeroPoint: 5, Dims: nn.Dims{1, 17, 7, 3}}, half},
			{nn.Operand{Type: nn.TensorQuant8AsymmSigned, Scale: 1. / 255, ZeroPoint: -128, Dims: nn.Dims{1, 28, 28, 1}}, picture.Normalisation{}},
		} {
			for _, block := range []int{1, 3} {
				t.Run(fmt.Sprint(tc.o.Type, tc.o.Dims, block), func(t *testing.T) {
					in, err := picture.NewInput(&tc.o, tc.norm)
					require.NoError(t, err)
					m := blocks(in.Width, in.Height, block)
					view, got := fed(t, c, m, in, &tc.o)
					small := blocks(in.Width, in.Height, 1)
					want, err := tc.o.DecodeFloats(in.Bytes(small))
					require.NoError(t, err)
					values, err := tc.o.DecodeFloats(got)
					require.NoError(t, err)
					// A step of an 8-bit type, since colours lie between two steps; half a colour of grey, which the host rounds.
					scale, _ := in.Affine(0)
					near := 1e-3 + 0.51*math.Abs(scale)*float64(3-in.Channels)/2 + 1.01*float64(tc.o.Scale)
					if tc.o.Type == nn.TensorFloat16 {
						near += 0.13 // a unit in the last place of 255
					}
					require.Len(t, values, len(want))
					for i := range want {
						require.InDelta(t, float64(want[i]), float64(values[i]), near, "element %d", i)
					}
					// The view shows the colours of the corners.
					for k, v := range m.Pix[:4] {
						require.InDelta(t, float64(v)/255, float64(view[k]), 1e-3)
					}
					require.Len(t, view, canvas.Side*canvas.Side*4)
				})
			}
		}
	})
}
