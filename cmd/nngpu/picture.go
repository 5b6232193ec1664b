package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format
	"math"

	_ "golang.org/x/image/bmp" // registers the format
	"golang.org/x/image/draw"

	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
)

// maxPixels bounds the pictures that are decoded, and those that inputs ask for.
const maxPixels = 1 << 26

// normalisation maps a colour value v of 0..255 to (v - mean) / std, by channel or one for all.
type normalisation struct {
	mean, std []float64
	given     bool // by the user, not by the model
}

func (n normalisation) empty() bool { return len(n.mean) == 0 && len(n.std) == 0 }

// fits reports lists that are neither one number nor one for each channel.
func (n normalisation) fits(channels int) error {
	for _, list := range [][]float64{n.mean, n.std} {
		if len(list) > 1 && len(list) != channels {
			return fmt.Errorf("%d numbers to normalise %d channels; give one, or one for each", len(list), channels)
		}
	}
	return nil
}

func (n normalisation) apply(v float64, channel int) float64 {
	at := func(list []float64, def float64) float64 {
		switch {
		case len(list) == 0:
			return def
		case channel < len(list):
			return list[channel]
		}
		return list[0]
	}
	return (v - at(n.mean, 0)) / at(n.std, 1)
}

// picture decodes a picture, resizes it to the image input o ([1, H, W, 1 or 3]) and normalises it. It also
// returns the picture's own size.
func picture(data []byte, o *nn.Operand, norm normalisation) ([]byte, image.Point, error) {
	if len(o.Dims) != 4 || o.Dims[0] != 1 || (o.Dims[3] != 1 && o.Dims[3] != 3) {
		return nil, image.Point{}, fmt.Errorf("a picture fits inputs of [1 height width 1 or 3] only; give a .npy or .bin file")
	}
	h, w, c := int(o.Dims[1]), int(o.Dims[2]), int(o.Dims[3])
	if h*w > maxPixels {
		return nil, image.Point{}, fmt.Errorf("the input has more than %d pixels; give a .npy or .bin file", maxPixels)
	}
	if err := norm.fits(c); err != nil {
		return nil, image.Point{}, err
	}
	var tables [3]*colourTable
	for k := range c {
		var err error
		if tables[k], err = newColourTable(o, norm, k); err != nil {
			return nil, image.Point{}, err
		}
	}
	src, err := decodePicture(data)
	if err != nil {
		return nil, image.Point{}, err
	}
	pixels := resize(src, w, h)
	out := make([]byte, 0, byteSize(o))
	for i := 0; i < len(pixels.Pix); i += 4 {
		p := pixels.Pix[i:][:3]
		if c == 1 {
			// ITU-R BT.601 luma.
			gray := 0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2])
			out = tables[0].append(out, uint8(gray+0.5))
			continue
		}
		for k := range 3 {
			out = tables[k].append(out, p[k])
		}
	}
	return out, src.Bounds().Size(), nil
}

func decodePicture(data []byte) (image.Image, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a picture: %w", err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("%dx%d pixels; at most %d are read", config.Width, config.Height, maxPixels)
	}
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("damaged picture: %w", err)
	}
	return src, nil
}

// resize scales a picture to w x h whatever its proportions. The kernel widens when it shrinks a picture, so
// that every pixel counts.
func resize(src image.Image, w, h int) *image.RGBA {
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	// White behind what is transparent, as viewers show it.
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	if src.Bounds().Size() == dst.Bounds().Size() {
		draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Over, nil)
	}
	return dst
}

// colourTable holds the elements that the colours 0..255 of one channel become.
type colourTable struct {
	size int
	data []byte // 256 elements
}

func (t *colourTable) append(out []byte, colour uint8) []byte {
	return append(out, t.data[int(colour)*t.size:][:t.size]...)
}

// newColourTable computes the elements of an input's type. 8-bit inputs get the quantised normalised value;
// without normalisation an unsigned one takes the colour itself, as the publishers of such networks mean it,
// and a signed one the colour less 128.
func newColourTable(o *nn.Operand, norm normalisation, channel int) (*colourTable, error) {
	t := &colourTable{size: o.Type.Bytes()}
	switch o.Type {
	case nn.TensorFloat32:
		for v := range 256 {
			t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(float32(norm.apply(float64(v), channel))))
		}
		return t, nil
	case nn.TensorQuant8Asymm:
		t.data = quantisedColours(o, norm, channel, 0)
		return t, nil
	case nn.TensorQuant8AsymmSigned:
		t.data = quantisedColours(o, norm, channel, -128)
		return t, nil
	}
	return nil, fmt.Errorf("an input of type %v takes no picture", o.Type)
}

// quantisedColours are 256 elements of 8 bits; lowest is the type's smallest value. Where the model's own
// normalisation and its quantisation undo each other up to one step, the colours are taken as they are: the
// parameters are rounded, and the network was trained on the colours.
func quantisedColours(o *nn.Operand, norm normalisation, channel, lowest int) []byte {
	plain, quantised := make([]byte, 256), make([]byte, 256)
	near := true
	for v := range 256 {
		plain[v] = byte(v + lowest)
		real := norm.apply(float64(v), channel) / float64(o.Scale)
		q := min(max(math.Round(real)+float64(o.ZeroPoint), float64(lowest)), float64(lowest+255))
		quantised[v] = byte(int(q))
		near = near && math.Abs(q-float64(v+lowest)) <= 1
	}
	if norm.empty() || near && !norm.given {
		return plain
	}
	return quantised
}

// fileNormalisation is what the model file says about input i; nothing where it says nothing.
func fileNormalisation(net *tflite.Network, i int) normalisation {
	var n normalisation
	if i >= len(net.Metadata.Inputs) {
		return n
	}
	for _, v := range net.Metadata.Inputs[i].Mean {
		n.mean = append(n.mean, float64(v))
	}
	for _, v := range net.Metadata.Inputs[i].Std {
		n.std = append(n.std, float64(v))
	}
	return n
}
