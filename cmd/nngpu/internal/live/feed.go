package live

import (
	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/picture"
)

// Outputs of the feed.
const (
	feedView  = iota // what the canvas shows
	feedInput        // what the network takes
)

// feedModel turns a picture of w by h texels in RGBA, read as numbers of 0 to 1, into what the canvas shows and into
// the network's input o, as in describes it: resized, normalised, in its type.
func feedModel(w, h int, in *picture.Input, o *nn.Operand) (*nn.Model, error) {
	b := &layers.Builder{}
	x := b.Input(nn.TensorFloat32, nn.Dims{1, uint32(h), uint32(w), 4}, 0, 0)
	view := shrunk(b, x, w, h, canvas.Side, canvas.Side)
	b.Output(b.ResizeBilinear(view, layers.Resize{Height: canvas.Side, Width: canvas.Side, HalfPixel: true}))

	y := x
	if in.Width != w || in.Height != h {
		y = b.ResizeBilinear(shrunk(b, x, w, h, in.Width, in.Height), layers.Resize{Height: in.Height, Width: in.Width, HalfPixel: true})
	}
	// A convolution of 1x1 takes the channels and normalises them.
	filter, bias := make([]float32, 4*in.Channels), make([]float32, in.Channels)
	for k := range in.Channels {
		scale, shift := in.Affine(k)
		bias[k] = float32(shift)
		if in.Channels == 1 {
			for c, part := range [3]float64{0.299, 0.587, 0.114} { // ITU-R BT.601 luma
				filter[c] = float32(255 * scale * part)
			}
		} else {
			filter[4*k+k] = float32(255 * scale)
		}
	}
	n := uint32(in.Channels)
	y = b.Conv2D(y, b.Floats(nn.Dims{n, 1, 1, 4}, filter...), b.Floats(nn.Dims{n}, bias...), layers.Conv{Padding: nn.PaddingValid})
	if in.Planar() {
		y = b.Transpose(y, 0, 3, 1, 2)
	}
	switch {
	case o.Type.IsQuant8():
		y = b.Quantize(y, o.Type, layers.Quant{Scale: o.Scale, Zero: o.ZeroPoint})
	case o.Type == nn.TensorFloat16:
		y = b.Cast(y, o.Type)
	}
	b.Output(y)
	return b.Build()
}

// shrunk reduces x, of w by h pixels, by averages of squares, as long as it stays as large as is wanted, so that no
// pixel is passed over when it is then resized.
func shrunk(b *layers.Builder, x uint32, w, h, wantW, wantH int) uint32 {
	if k := min(w/wantW, h/wantH); k > 1 {
		return b.AveragePool2D(x, layers.Pool{Padding: nn.PaddingValid, Window: [2]int{k, k}})
	}
	return x
}
