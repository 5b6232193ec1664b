package pack

import (
	"encoding/binary"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// Filter is a convolution or a matrix product as far as its constants go: W is [Out, taps, In], and [taps, Out] if it
// is depthwise.
type Filter struct {
	X, W, Bias, Y *ir.Tensor
	Taps          int // positions of the window
	In, Out       int // channels
	Depthwise     bool
}

// InQuads is the number of quads that the input's channels take.
func (f *Filter) InQuads() int { return (f.In + 3) / 4 }

// OutQuads is the number of quads that the output's channels take.
func (f *Filter) OutQuads() int { return (f.Out + 3) / 4 }

// Floats decodes a constant of a float type.
func Floats(t *ir.Tensor) []float32 {
	out := make([]float32, t.Elements())
	if t.Type == nn.TensorFloat16 {
		for i := range out {
			out[i] = nn.Half(binary.LittleEndian.Uint16(t.Const[2*i:])).Float32()
		}
		return out
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Const[4*i:]))
	}
	return out
}

// Tiles returns f with only the filters of tiles run[0] to run[1] of n channels. Precondition: f is not depthwise.
func (f *Filter) Tiles(n int, run [2]int) *Filter {
	part, w := *f, *f.W
	first, last := run[0]*n, min(run[1]*n, f.Out)
	size := len(f.W.Const) / f.Out
	w.Const = f.W.Const[first*size : last*size]
	w.Shape = append([]int{last - first}, f.W.Shape[1:]...)
	part.W, part.Out = &w, last-first
	return &part
}

// Recipe covers what FloatTiles and WordTiles depend on for all of f in tiles of n channels; zero is the zero point of
// a filter of 8 bits.
func (f *Filter) Recipe(how string, zero, n int) Recipe {
	return Recipe{how, [6]int{int(f.W.Type), zero, f.Taps, f.In, f.Out, n}}
}

// FloatTiles lays tiles first to last of w, the elements of f.W, out as [tile][tap][k, padded to 4][n], zeroes in the
// padding.
func (f *Filter) FloatTiles(w []float32, n, first, last int) []float32 {
	return layTiles(f, w, n, first, last)
}

// HalfTiles is FloatTiles of f.W, of 16-bit floats, as kernels read them.
func (f *Filter) HalfTiles(n, first, last int) []byte {
	w := make([]uint16, len(f.W.Const)/2)
	for i := range w {
		w[i] = binary.LittleEndian.Uint16(f.W.Const[2*i:])
	}
	tiles := layTiles(f, w, n, first, last)
	data := make([]byte, 2*len(tiles))
	for i, v := range tiles {
		binary.LittleEndian.PutUint16(data[2*i:], v)
	}
	return data
}

func layTiles[T float32 | uint16](f *Filter, w []T, n, first, last int) []T {
	k4 := f.InQuads() * 4
	out := make([]T, (last-first)*f.Taps*k4*n)
	for o := first * n; o < min(last*n, f.Out); o++ {
		tile, lane := o/n-first, o%n
		for t := range f.Taps {
			row := w[(o*f.Taps+t)*f.In:][:f.In]
			to := out[(tile*f.Taps+t)*k4*n+lane:]
			for k, v := range row {
				to[k*n] = v
			}
		}
	}
	return out
}

// BlockTerms is the number of terms of a sum of one tap in blocks of `of` terms: f.In rounded up to whole blocks.
func (f *Filter) BlockTerms(of int) int { return (f.In + of - 1) / of * of }

// BlockTiles lays tiles first to last of w, the elements of f.W, out as [tile][tap][quad of k][n][k in the quad], zeroes in the
// padding: k is padded to whole blocks of `of` terms.
func (f *Filter) BlockTiles(w []float32, of, n, first, last int) []float32 {
	terms := f.BlockTerms(of)
	out := make([]float32, (last-first)*f.Taps*terms*n)
	for o := first * n; o < min(last*n, f.Out); o++ {
		tile, lane := o/n-first, o%n
		for t := range f.Taps {
			row := w[(o*f.Taps+t)*f.In:][:f.In]
			to := out[(tile*f.Taps+t)*terms*n+4*lane:]
			for k, v := range row {
				to[k&^3*n+k&3] = v
			}
		}
	}
	return out
}

// PadRows copies rows of n floats into rows padded to a multiple of 4 with zeroes.
func PadRows(v []float32, rows, n int) []float32 {
	pitch := (n + 3) / 4 * 4
	out := make([]float32, rows*pitch)
	for r := range rows {
		copy(out[r*pitch:], v[r*n:(r+1)*n])
	}
	return out
}
