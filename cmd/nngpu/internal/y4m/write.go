package y4m

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// Writer writes a video of 4:2:0 samples in the ranges of television, which every player takes. Not safe for concurrent use.
type Writer struct {
	w             *bufio.Writer
	width, height int
	planar        []byte
}

// NewWriter writes the first line of a video of so many pictures a second. Width and height are even.
func NewWriter(w io.Writer, width, height int, rate float64) (*Writer, error) {
	if width <= 0 || height <= 0 || width%2 != 0 || height%2 != 0 {
		return nil, fmt.Errorf("a video of %dx%d pixels; both are even", width, height)
	}
	out := &Writer{bufio.NewWriterSize(w, 1<<16), width, height, make([]byte, width*height*3/2)}
	milli := int(math.Round(max(min(rate, maxRate), 1e-3) * 1000))
	_, err := fmt.Fprintf(out.w, "YUV4MPEG2 W%d H%d F%d:1000 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n", width, height, milli)
	if err == nil {
		err = out.w.Flush()
	}
	return out, err
}

// Write writes a picture: RGBA, row by row without gaps. It does not retain it. What was written is with the stream's reader
// when it returns.
func (w *Writer) Write(picture []byte) error {
	n := w.width * w.height
	luma, cb, cr := w.planar[:n], w.planar[n:n+n/4], w.planar[n+n/4:]
	for y := 0; y < w.height; y += 2 {
		for x := 0; x < w.width; x += 2 {
			var r, g, b int32
			for _, at := range [4]int{y*w.width + x, y*w.width + x + 1, (y+1)*w.width + x, (y+1)*w.width + x + 1} {
				p := picture[4*at:][:3]
				luma[at] = clamp(16*one + int32(p[0])*fixed(0.299/luma601) + int32(p[1])*fixed(0.587/luma601) + int32(p[2])*fixed(0.114/luma601))
				r, g, b = r+int32(p[0]), g+int32(p[1]), b+int32(p[2])
			}
			// Each factor is of BT.601, times 224/255, divided by four pixels.
			at := y/2*(w.width/2) + x/2
			cb[at] = clamp(128*one + (b*fixed(0.5/diff601)-r*fixed(0.168736/diff601)-g*fixed(0.331264/diff601))/4)
			cr[at] = clamp(128*one + (r*fixed(0.5/diff601)-g*fixed(0.418688/diff601)-b*fixed(0.081312/diff601))/4)
		}
	}
	if _, err := w.w.WriteString("FRAME\n"); err != nil {
		return err
	}
	if _, err := w.w.Write(w.planar); err != nil {
		return err
	}
	return w.w.Flush()
}
