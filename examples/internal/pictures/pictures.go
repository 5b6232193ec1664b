// Package pictures is what the examples have in common: networks that classify pictures, and pictures for them.
package pictures

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format
	"slices"

	"golang.org/x/image/draw"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Network classifies pictures. It has been trained on 8-bit colours as they are, so that nothing is normalised: a stored
// value of its input is a colour from 0 to 255, less 128 where values are signed.
type Network struct {
	Model         *nn.Model
	Width, Height int      // of the pictures that it looks at
	Channels      int      // 1 for grey, 3 for red, green and blue
	Labels        []string // of the classes, as far as they have names

	input, output *nn.Operand
}

// Load reads a model file, of a format that the program links.
func Load(path string) (*Network, error) {
	file, err := importer.Open(path)
	if err != nil {
		return nil, err
	}
	n, err := New(file.Model, file.Labels())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// New looks at whether a model has a picture as its only input and scores as its only output, both in 8 bits.
func New(m *nn.Model, labels []string) (*Network, error) {
	g := &m.Main
	if len(g.Inputs) != 1 || len(g.Outputs) != 1 {
		return nil, fmt.Errorf("%d inputs and %d outputs; a classifier of pictures has one of each", len(g.Inputs), len(g.Outputs))
	}
	in, out := &g.Operands[g.Inputs[0]], &g.Operands[g.Outputs[0]]
	if !in.Type.IsQuant8() || len(in.Dims) != 4 || in.Dims[0] != 1 || in.Dims[3] != 1 && in.Dims[3] != 3 {
		return nil, fmt.Errorf("the input is %v%v, no picture of 8-bit colours", in.Type, []uint32(in.Dims))
	}
	if !out.Type.IsQuant8() {
		return nil, fmt.Errorf("the output is %v, no 8-bit scores", out.Type)
	}
	return &Network{
		Model: m, Height: int(in.Dims[1]), Width: int(in.Dims[2]), Channels: int(in.Dims[3]), Labels: labels, input: in, output: out,
	}, nil
}

// MaxSide bounds the pictures that Decode reads, in pixels. The largest take about 80 MB while they are decoded and scaled.
const MaxSide = 2048

// ErrTooLarge is the cause where a side of a picture is longer than MaxSide.
var ErrTooLarge = errors.New("the picture is too large")

// Decode reads a PNG or JPEG file. Its errors are image.ErrFormat for files of other kinds, ErrTooLarge, and what is wrong
// with the file.
func Decode(data []byte) (image.Image, error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data)) // a few bytes may promise any number of pixels
	if err != nil {
		return nil, err
	}
	if format != "png" && format != "jpeg" { // which another package may have registered
		return nil, image.ErrFormat
	}
	if c.Width > MaxSide || c.Height > MaxSide {
		return nil, fmt.Errorf("%dx%d pixels: %w", c.Width, c.Height, ErrTooLarge)
	}
	p, _, err := image.Decode(bytes.NewReader(data))
	return p, err
}

// Texels is a picture in the size that the network looks at, row by row: a byte for each pixel where it looks at grey ones,
// else four, for red, green, blue and nothing.
func (n *Network) Texels(p image.Image) []byte {
	size := image.Rect(0, 0, n.Width, n.Height)
	if n.Channels == 1 {
		grey := image.NewGray(size)
		fit(grey, p)
		return grey.Pix
	}
	colours := image.NewRGBA(size)
	fit(colours, p)
	return colours.Pix
}

// fit scales p to the size of dst, on white, as viewers show what is transparent.
func fit(dst draw.Image, p image.Image) {
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	draw.BiLinear.Scale(dst, dst.Bounds(), p, p.Bounds(), draw.Over, nil)
}

// Input is what the network's input holds for a picture: Channels bytes for each pixel.
func (n *Network) Input(p image.Image) []byte {
	texels := n.Texels(p)
	input := texels
	if n.Channels == 3 {
		input = texels[:0]
		for t := range slices.Chunk(texels, 4) {
			input = append(input, t[:3]...)
		}
	}
	if n.input.Type == nn.TensorQuant8AsymmSigned {
		for i := range input {
			input[i] ^= 0x80 // less 128
		}
	}
	return input
}

// Best is the class with the highest score in the network's output, and the score. The error is that of an output of the
// wrong size.
func (n *Network) Best(output []byte) (label string, score float32, err error) {
	scores, err := n.output.DecodeFloats(output)
	if err != nil {
		return "", 0, err
	}
	best := 0
	for i, s := range scores {
		if s > scores[best] {
			best = i
		}
	}
	if best < len(n.Labels) {
		return n.Labels[best], scores[best], nil
	}
	return fmt.Sprint("class ", best), scores[best], nil
}
