package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format

	_ "golang.org/x/image/bmp" // registers the format
	"golang.org/x/image/draw"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

const (
	// maxPixels bounds the pictures that are decoded.
	maxPixels = 1 << 26
	// maxPictureBytes bounds their files: BMP takes four bytes for a pixel, behind a header.
	maxPictureBytes = 4*maxPixels + 1<<16
	// maxInput bounds the pictures that inputs ask for.
	maxInput = 1 << 24
	// maxSide is from where on a side of a picture is first shortened to it, unless the input is longer still.
	maxSide = 1 << 14
	// maxDecodedBytes bounds what a picture takes in memory while it is decoded. Of most kinds maxPixels take less;
	// progressive JPEG files may have half as many.
	maxDecodedBytes = 1 << 29
)

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
			return fmt.Errorf("%d numbers to normalise %s; give one, or one for each", len(list), count(channels, "channel"))
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
	if h*w > maxInput {
		return nil, image.Point{}, fmt.Errorf("the input has more than %d pixels; give a .npy or .bin file", maxInput)
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
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a picture: %w", err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("%dx%d pixels; at most %d are read", config.Width, config.Height, maxPixels)
	}
	if n := config.Width * config.Height * decodedBytes(format, config.ColorModel, data); n > maxDecodedBytes {
		return nil, fmt.Errorf("%dx%d pixels take %s to decode; at most %s are used", config.Width, config.Height, bytesText(int64(n)), bytesText(maxDecodedBytes))
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
	// The kernel keeps w times the picture's height, of 32 bytes each, and the weights of all columns and rows. What
	// is longer than any photograph is shortened before.
	size := src.Bounds().Size()
	near := image.Pt(min(size.X, max(maxSide, w)), min(size.Y, max(min(maxSide, maxInput/w), h)))
	if near != size {
		src = scale(src, near, draw.ApproxBiLinear)
	}
	return scale(src, image.Pt(w, h), draw.CatmullRom)
}

// scale puts src, as large as size, on white, as viewers show what is transparent.
func scale(src image.Image, size image.Point, scaler draw.Scaler) *image.RGBA {
	dst := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	if src.Bounds().Size() == size {
		draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Over)
	} else {
		scaler.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Over, nil)
	}
	return dst
}

// decodedBytes is what the decoder of a format takes for each pixel of a picture, at most.
func decodedBytes(format string, model color.Model, data []byte) int {
	switch format {
	case "jpeg":
		planes := map[color.Model]int{color.GrayModel: 1, color.CMYKModel: 4}[model]
		if planes == 0 {
			planes = 3
		}
		n := planes
		if progressive(data) {
			n += 4 * planes // the coefficients
		}
		if model != color.YCbCrModel {
			n += 4 // another picture, which is made of the planes
		}
		return n
	case "png":
		n := 4
		if data[24] == 16 { // bits of a colour; from the PNG specification, "IHDR Image header"
			n = 8
		}
		if data[28] != 0 { // interlaced: parts of the picture beside it
			n *= 2
		}
		return n
	}
	return 4
}

// progressive reports whether a JPEG file keeps all its coefficients until its end. The header is known to be whole.
// Segments are those of ITU-T T.81, B.1.1: 0xff, a marker, a length that counts itself.
func progressive(data []byte) bool {
	for at := 2; at+4 <= len(data); {
		switch marker := data[at+1]; {
		case data[at] != 0xff || marker == 0xff || marker == 0 || marker >= 0xd0 && marker <= 0xd7:
			at++ // padding
		case marker == 0xc2: // SOF2
			return true
		case marker == 0xc0 || marker == 0xc1: // SOF0 and SOF1; what follows is no header
			return false
		default:
			at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		}
	}
	return false
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
	if !o.Type.IsFloat() && !o.Type.IsQuant8() {
		return nil, fmt.Errorf("an input of type %v takes no picture", o.Type)
	}
	real := make([]float32, 256)
	for v := range real {
		real[v] = float32(norm.apply(float64(v), channel))
	}
	colours := *o
	colours.Dims = nn.Dims{256}
	data, err := colours.EncodeFloats(real)
	if err != nil {
		return nil, err
	}
	if plain, near := plainColours(o.Type, data); o.Type.IsQuant8() && (norm.empty() || near && !norm.given) {
		data = plain
	}
	return &colourTable{size: o.Type.Bytes(), data: data}, nil
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

// fileNormalisation is what the model file says about input i; nothing where it says nothing.
func fileNormalisation(net *importer.Network, i int) normalisation {
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
