// Package picture makes pictures into inputs of networks, and reads the results of classifiers.
//
// A picture is hostile until proven otherwise: its header tells its size, and what decoding takes, before it is
// decoded. Transparent parts become white, as viewers show them.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format
	"io"

	_ "golang.org/x/image/bmp" // registers the format
)

const (
	// MaxPixels bounds the pictures that are decoded.
	MaxPixels = 1 << 26
	// MaxFileBytes bounds their files: BMP takes four bytes for a pixel, behind a header.
	MaxFileBytes = 4*MaxPixels + 1<<16
	// maxDecodedBytes bounds what a picture takes in memory while it is decoded. Of most kinds MaxPixels take less;
	// progressive JPEG files may have half as many.
	maxDecodedBytes = 1 << 29
)

// ErrTooLarge is the cause where a picture is larger than the limits.
var ErrTooLarge = errors.New("the picture is too large")

// tooLarge is an ErrTooLarge that says by what.
type tooLarge string

func (e tooLarge) Error() string        { return string(e) }
func (e tooLarge) Is(target error) bool { return target == ErrTooLarge }

func tooLargef(format string, args ...any) error { return tooLarge(fmt.Sprintf(format, args...)) }

// Limits bound the pictures that are decoded beyond what this package bounds.
type Limits struct {
	Side int // of both sides, in pixels; 0 for no bound but MaxPixels
}

// Decode decodes a PNG, JPEG or BMP file. Its errors are image.ErrFormat for files of other kinds, ErrTooLarge, and what is
// wrong with the file.
func Decode(file []byte, l Limits) (image.Image, error) {
	return Read(bytes.NewReader(file), int64(len(file)), l)
}

// Read is Decode of a file of size bytes, which is read to its end only if it is a picture. It does not retain r.
func Read(r io.ReaderAt, size int64, l Limits) (image.Image, error) {
	if size > MaxFileBytes {
		return nil, tooLargef("%.1f MB; pictures have at most %.1f MB", float64(size)/1e6, float64(MaxFileBytes)/1e6)
	}
	c, format, err := image.DecodeConfig(io.NewSectionReader(r, 0, size))
	if err == nil && format != "png" && format != "jpeg" && format != "bmp" { // another package has registered it
		err = image.ErrFormat
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a picture: %w", err)
	case c.Width <= 0 || c.Height <= 0:
		return nil, fmt.Errorf("%dx%d pixels", c.Width, c.Height)
	case c.Width > MaxPixels/c.Height:
		return nil, tooLargef("%dx%d pixels; at most %d are read", c.Width, c.Height, MaxPixels)
	case l.Side > 0 && max(c.Width, c.Height) > l.Side:
		return nil, tooLargef("%dx%d pixels; at most %dx%d are read", c.Width, c.Height, l.Side, l.Side)
	}
	file := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), file); err != nil {
		return nil, err
	}
	if n := c.Width * c.Height * decodedBytes(format, c.ColorModel, file); n > maxDecodedBytes {
		return nil, tooLargef("%dx%d pixels take %.1f MB to decode; at most %.1f MB are used", c.Width, c.Height, float64(n)/1e6, float64(maxDecodedBytes)/1e6)
	}
	p, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("damaged picture: %w", err)
	}
	return p, nil
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
