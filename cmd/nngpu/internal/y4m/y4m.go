// Package y4m reads and writes YUV4MPEG2, the uncompressed video that ffmpeg, mjpegtools and camera programs pipe to each
// other: a line that describes the video, then for each picture a line and its planes.
//
// A stream is hostile until proven otherwise: its first line tells the size of its pictures, and bounds everything that
// is made. The format is that of mjpegtools' yuv4mpeg(5).
package y4m

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	// MaxPixels bounds the pictures that are read.
	MaxPixels = 1 << 24
	// maxLine bounds the lines between pictures.
	maxLine = 4096
	// maxRate bounds the pictures a second.
	maxRate = 1000
)

// ErrTruncated is the cause where a stream ends within a picture or within a line.
var ErrTruncated = errors.New("the video ends in the middle of a picture")

// Header describes a video.
type Header struct {
	Width, Height int
	// Rate is in pictures a second, 0 where the stream does not say.
	Rate float64
	// Full: samples use all of 0 to 255 instead of the ranges of television.
	Full bool

	planes  planes
	chromaW int // of a plane of colour differences
	chromaH int
}

// planes is how colour differences are stored.
type planes struct {
	mono    bool
	shrinkX int // pixels for each sample
	shrinkY int
}

// layouts are the values of tag C that are read. The names of 4:2:0 differ in where samples lie, by half a pixel.
var layouts = map[string]planes{
	"420": {shrinkX: 2, shrinkY: 2}, "420jpeg": {shrinkX: 2, shrinkY: 2}, "420mpeg2": {shrinkX: 2, shrinkY: 2},
	"420paldv": {shrinkX: 2, shrinkY: 2}, "422": {shrinkX: 2, shrinkY: 1}, "444": {shrinkX: 1, shrinkY: 1},
	"mono": {mono: true, shrinkX: 1, shrinkY: 1},
}

// Reader reads the pictures of a stream. Not safe for concurrent use.
type Reader struct {
	Header
	r      *bufio.Reader
	planar []byte // a picture as it is stored
	any    bool   // a picture was read
}

// NewReader reads the first line of a stream. It reads ahead of what it was asked for.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{r: bufio.NewReaderSize(r, 1<<16)}
	line, err := in.line()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the video is empty")
	case err != nil:
		return nil, err
	}
	if in.Header, err = parse(line); err != nil {
		return nil, err
	}
	n := in.Width * in.Height
	if !in.planes.mono {
		n += 2 * in.chromaW * in.chromaH
	}
	in.planar = make([]byte, n)
	return in, nil
}

// line reads up to a line's end, which is left out. io.EOF where the stream ends before its first byte.
func (r *Reader) line() (string, error) {
	var line []byte
	for {
		c, err := r.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", fmt.Errorf("%w: it has no line's end behind %q", ErrTruncated, start(line))
		case err != nil:
			return "", err
		case c == '\n':
			return string(line), nil
		case len(line) == maxLine:
			return "", fmt.Errorf("no YUV4MPEG2 video: a line of over %d bytes that begins with %q", maxLine, start(line))
		}
		line = append(line, c)
	}
}

func start(line []byte) []byte { return line[:min(len(line), 16)] }

// parse reads the first line.
func parse(line string) (h Header, err error) {
	words := strings.Split(line, " ")
	if words[0] != "YUV4MPEG2" {
		return h, fmt.Errorf("no YUV4MPEG2 video: it begins with %q", start([]byte(line)))
	}
	layout := "420"
	for _, w := range words[1:] {
		if w == "" {
			continue
		}
		switch value := w[1:]; w[0] {
		case 'W':
			h.Width, err = side(value)
		case 'H':
			h.Height, err = side(value)
		case 'F':
			h.Rate, err = rate(value)
		case 'C':
			layout = value
		case 'X':
			h.Full = h.Full || value == "COLORRANGE=FULL"
		}
		if err != nil {
			return h, fmt.Errorf("tag %q: %w", w, err)
		}
	}
	if h.Width == 0 || h.Height == 0 {
		return h, errors.New("the video does not say how large its pictures are")
	}
	if h.Width > MaxPixels/h.Height {
		return h, fmt.Errorf("pictures of %dx%d pixels; at most %d are read", h.Width, h.Height, MaxPixels)
	}
	var known bool
	if h.planes, known = layouts[layout]; !known {
		return h, fmt.Errorf("samples stored as %q; 420, 422, 444 and mono of 8 bits are read (ffmpeg: -pix_fmt yuv420p)", layout)
	}
	h.chromaW, h.chromaH = shrunk(h.Width, h.planes.shrinkX), shrunk(h.Height, h.planes.shrinkY)
	return h, nil
}

func shrunk(n, by int) int { return (n + by - 1) / by }

func side(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	switch {
	case err != nil || n == 0:
		return 0, errors.New("not a number of pixels")
	case n > MaxPixels:
		return 0, fmt.Errorf("at most %d pixels are read", MaxPixels)
	}
	return int(n), nil
}

// rate reads A:B; 0:0 says nothing.
func rate(text string) (float64, error) {
	a, b, cut := strings.Cut(text, ":")
	n, err := strconv.ParseUint(a, 10, 31)
	m, err2 := strconv.ParseUint(b, 10, 31)
	switch {
	case !cut || err != nil || err2 != nil || (n == 0) != (m == 0):
		return 0, errors.New("not a ratio of pictures to seconds")
	case n == 0:
		return 0, nil
	}
	if r := float64(n) / float64(m); r <= maxRate && r >= 1e-3 {
		return r, nil
	}
	return 0, fmt.Errorf("not within 0.001 and %d pictures a second", maxRate)
}

// Next reads a picture as RGBA, row by row without gaps, into dst, which has Width * Height * 4 bytes. It is io.EOF after the
// last, and ErrTruncated where the stream ends in a picture or without one.
func (r *Reader) Next(dst []byte) error {
	line, err := r.line()
	switch {
	case errors.Is(err, io.EOF) && !r.any:
		return fmt.Errorf("%w: before the first", ErrTruncated)
	case err != nil:
		return err
	}
	if tag, _, _ := strings.Cut(line, " "); tag != "FRAME" {
		return fmt.Errorf("no picture where one begins, but %q", start([]byte(line)))
	}
	if n, err := io.ReadFull(r.r, r.planar); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %d of its %d bytes are there", ErrTruncated, n, len(r.planar))
		}
		return err
	}
	r.any = true
	r.convert(dst)
	return nil
}

// convert makes RGBA of the planes.
func (r *Reader) convert(dst []byte) {
	w, n := r.Width, r.Width*r.Height
	luma, cb, cr := r.planar[:n], r.planar[n:], r.planar[n:]
	if !r.planes.mono {
		cb, cr = r.planar[n:n+r.chromaW*r.chromaH], r.planar[n+r.chromaW*r.chromaH:]
	}
	for y := range r.Height {
		row, chroma := dst[y*w*4:][:w*4], y/r.planes.shrinkY*r.chromaW
		for x := range w {
			u, v := uint8(128), uint8(128)
			if !r.planes.mono {
				at := chroma + x/r.planes.shrinkX
				u, v = cb[at], cr[at]
			}
			p := row[4*x:][:4]
			p[0], p[1], p[2] = rgb(luma[y*w+x], u, v, r.Full)
			p[3] = 255
		}
	}
}

// The colours of ITU-R BT.601, by 16-bit fixed-point numbers. In the ranges of television luma is 16 to 235, and differences
// are 16 to 240 around 128.
const (
	one     = 1 << 16
	half    = one / 2
	redV    = 1.402
	greenU  = 0.344136
	greenV  = 0.714136
	blueU   = 1.772
	luma601 = 255. / 219
	diff601 = 255. / 224
)

func rgb(y, u, v uint8, full bool) (r, g, b uint8) {
	l, cb, cr := int32(y)*one, int32(u)-128, int32(v)-128
	if full {
		return clamp(l + fixed(redV)*cr), clamp(l - fixed(greenU)*cb - fixed(greenV)*cr), clamp(l + fixed(blueU)*cb)
	}
	l = (int32(y) - 16) * fixed(luma601)
	return clamp(l + fixed(redV*diff601)*cr), clamp(l - fixed(greenU*diff601)*cb - fixed(greenV*diff601)*cr), clamp(l + fixed(blueU*diff601)*cb)
}

func fixed(f float64) int32 { return int32(math.Round(f * one)) }

func clamp(v int32) uint8 { return uint8(max(0, min(255, (v+half)>>16))) }
