package picture

import (
	"errors"
	"fmt"
	"image"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Normalisation maps a colour v of 0 to 255 to (v - Mean) / Std. Either list has one number, one for each channel, or none:
// 0 and 1.
type Normalisation struct {
	Mean, Std []float64
	// Exact applies these numbers wherever there are any. Without it an 8-bit input whose quantisation undoes them, to
	// within a step of rounding, takes the colours as they are: the network was trained on those.
	Exact bool
}

// Symmetric maps colours to -1 to 1, as most float networks want that state no normalisation.
var Symmetric = Normalisation{Mean: []float64{127.5}, Std: []float64{127.5}}

// Empty reports whether n says nothing.
func (n Normalisation) Empty() bool { return len(n.Mean) == 0 && len(n.Std) == 0 }

// Stated is what a model file says about its input i, empty where it says nothing.
func Stated(net *importer.Network, i int) Normalisation {
	var n Normalisation
	if i < len(net.Metadata.Inputs) {
		n.Mean, n.Std = wide(net.Metadata.Inputs[i].Mean), wide(net.Metadata.Inputs[i].Std)
	}
	return n
}

func wide(list []float32) (out []float64) {
	for _, v := range list {
		out = append(out, float64(v))
	}
	return out
}

// fits reports lists that are neither one number nor one for each channel.
func (n Normalisation) fits(channels int) error {
	for _, list := range [][]float64{n.Mean, n.Std} {
		if len(list) > 1 && len(list) != channels {
			s := "s"
			if channels == 1 {
				s = ""
			}
			return fmt.Errorf("%d numbers to normalise %d channel%s; give one, or one for each", len(list), channels, s)
		}
	}
	return nil
}

func (n Normalisation) apply(v float64, channel int) float64 {
	at := func(list []float64, def float64) float64 {
		switch {
		case len(list) == 0:
			return def
		case channel < len(list):
			return list[channel]
		}
		return list[0]
	}
	return (v - at(n.Mean, 0)) / at(n.Std, 1)
}

// ErrNoPicture is the cause where an input is not of the shape of a picture, or of a larger one than is made.
var ErrNoPicture = errors.New("the input takes no picture")

// noPicture is an ErrNoPicture that says why.
type noPicture string

func (e noPicture) Error() string        { return string(e) }
func (e noPicture) Is(target error) bool { return target == ErrNoPicture }

// Input makes values of an input of a network. It is safe for concurrent use.
type Input struct {
	Width, Height int // of the pictures that the network looks at
	Channels      int // 1 for grey, 3 for red, green and blue

	planar bool // a plane for each channel (NCHW) instead of all channels of a pixel together
	tables []colourTable
}

// NewInput is for an input of dimensions [1 height width channels] or [1 channels height width], with 1 or 3 channels, of
// floats or 8-bit numbers. It does not retain o.
//
// An 8-bit input takes the quantised normalised colours. Without normalisation an unsigned one takes the colours as they are,
// as the publishers of such networks mean it, and a signed one the colours less 128.
//
// Errors: ErrNoPicture, and normalisations that do not fit the channels.
func NewInput(o *nn.Operand, n Normalisation) (*Input, error) {
	d := o.Dims
	in := &Input{}
	switch channels := func(c uint32) bool { return c == 1 || c == 3 }; {
	case len(d) == 4 && d[0] == 1 && channels(d[3]):
		in.Height, in.Width, in.Channels = int(d[1]), int(d[2]), int(d[3])
	case len(d) == 4 && d[0] == 1 && channels(d[1]):
		in.Channels, in.Height, in.Width, in.planar = int(d[1]), int(d[2]), int(d[3]), true
	default:
		return nil, noPicture("a picture fits inputs of [1 height width 1 or 3] or [1 1 or 3 height width] only")
	}
	if in.Height*in.Width > maxInput {
		return nil, noPicture(fmt.Sprintf("the input has more than %d pixels", maxInput))
	}
	if err := n.fits(in.Channels); err != nil {
		return nil, err
	}
	for k := range in.Channels {
		t, err := newColourTable(o, n, k)
		if err != nil {
			return nil, err
		}
		in.tables = append(in.tables, t)
	}
	return in, nil
}

// Bytes is the value of the input for a picture, which is resized and normalised: dense elements, as PreparedModel.Run and
// RunNamed take them.
func (in *Input) Bytes(p image.Image) []byte {
	pixels, step := in.Texels(p), 4
	if in.Channels == 1 {
		step = 1
	}
	size := in.tables[0].size
	n := len(pixels) / step
	out := make([]byte, n*in.Channels*size)
	next, nextChannel := in.Channels*size, size // from one pixel and one channel to the next
	if in.planar {
		next, nextChannel = size, n*size
	}
	for i := range n {
		for k := range in.Channels {
			in.tables[k].put(out[i*next+k*nextChannel:], pixels[i*step+k])
		}
	}
	return out
}

// Texels is a picture of the size that the network looks at, row by row, as image pools hold it: a byte for each pixel where
// the network looks at grey ones, else four, for red, green, blue and nothing.
func (in *Input) Texels(p image.Image) []byte {
	pixels := Resize(p, in.Width, in.Height).Pix
	if in.Channels == 3 {
		return pixels
	}
	grey := make([]byte, len(pixels)/4)
	for i := range grey {
		p := pixels[4*i:][:3]
		// ITU-R BT.601 luma.
		grey[i] = uint8(0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2]) + 0.5)
	}
	return grey
}

// Affine says what a colour v of 0 to 255 of a channel becomes: the real number v*scale + shift, which is then stored
// in the type of the input. With these a program that has pictures on a device can compute there what Bytes gives.
func (in *Input) Affine(channel int) (scale, shift float64) {
	t := in.tables[channel]
	return t.scale, t.shift
}

// Planar reports whether the input has a plane for each channel, one behind the other.
func (in *Input) Planar() bool { return in.planar }

// colourTable holds the elements that the colours 0..255 of one channel become.
type colourTable struct {
	size         int
	data         []byte // 256 elements
	scale, shift float64
}

func (t *colourTable) put(out []byte, colour uint8) {
	copy(out, t.data[int(colour)*t.size:][:t.size])
}

func newColourTable(o *nn.Operand, n Normalisation, channel int) (colourTable, error) {
	if !o.Type.IsFloat() && !o.Type.IsQuant8() {
		return colourTable{}, fmt.Errorf("an input of type %v takes no picture", o.Type)
	}
	real := make([]float32, 256)
	for v := range real {
		real[v] = float32(n.apply(float64(v), channel))
	}
	colours := *o
	colours.Dims = nn.Dims{256}
	data, err := colours.EncodeFloats(real)
	if err != nil {
		return colourTable{}, err
	}
	t := colourTable{size: o.Type.Bytes(), data: data, shift: n.apply(0, channel)}
	t.scale = n.apply(1, channel) - t.shift
	if plain, near := plainColours(o.Type, data); o.Type.IsQuant8() && (n.Empty() || near && !n.Exact) {
		first := 0.
		if o.Type == nn.TensorQuant8AsymmSigned {
			first = -128
		}
		t.data, t.scale, t.shift = plain, float64(o.Scale), (first-float64(o.ZeroPoint))*float64(o.Scale)
	}
	return t, nil
}

// plainColours are the colours as elements of an 8-bit type, and whether the quantised ones are the same up to one step.
// Where the model's own normalisation and its quantisation undo each other like that, the colours are taken as they are:
// the parameters are rounded, and the network was trained on the colours.
func plainColours(t nn.OperandType, quantised []byte) (plain []byte, near bool) {
	flip := byte(0)
	if t == nn.TensorQuant8AsymmSigned {
		flip = 128
	}
	plain, near = make([]byte, 256), true
	for v := range plain {
		plain[v] = byte(v) ^ flip
		d := int(quantised[v]^flip) - v
		near = near && -1 <= d && d <= 1
	}
	return plain, near
}
