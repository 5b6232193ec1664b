package picture

import (
	"fmt"
	"image"
	"image/color"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// halves is a picture of any size that takes no memory: black, but white below and right of its centre.
type halves image.Point

func (h halves) Bounds() image.Rectangle { return image.Rectangle{Max: image.Point(h)} }
func (h halves) ColorModel() color.Model { return color.RGBA64Model }
func (h halves) At(x, y int) color.Color { return h.RGBA64At(x, y) }

func (h halves) RGBA64At(x, y int) color.RGBA64 {
	if 2*x+1 >= h.X && 2*y+1 >= h.Y {
		return color.RGBA64{0xffff, 0xffff, 0xffff, 0xffff}
	}
	return color.RGBA64{A: 0xffff}
}

// TestResizeOfStrips: what is kept in memory is bounded, whatever the picture.
func TestResizeOfStrips(t *testing.T) {
	for _, tc := range []struct {
		size halves
		side int // of the input
	}{
		{halves{1, 4_000_000}, 224}, {halves{4_000_000, 1}, 224}, {halves{2, MaxPixels / 2}, 16}, {halves{MaxPixels / 2, 2}, 16},
		{halves{3, 5_000_000}, 4096}, {halves{8000, 8000}, 300},
	} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := Resize(tc.size, tc.side, tc.side)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(800<<20), "bytes")
			first, last := 0, tc.side-1
			require.EqualValues(t, 255, got.RGBAAt(last, last).G)
			if tc.size.X > 1 {
				require.EqualValues(t, 0, got.RGBAAt(first, last).G)
			}
			if tc.size.Y > 1 {
				require.EqualValues(t, 0, got.RGBAAt(last, first).G)
			}
		})
	}
}
