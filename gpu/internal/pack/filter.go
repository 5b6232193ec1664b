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

// FloatTiles fills dst with tiles first to last of the filter as [tile][tap][k, padded to 4][n] floats, zeroes in the padding.
func (f *Filter) FloatTiles(dst []byte, n, first, last int) {
	layTiles(f, dst, f.InQuads()*4, n, first, last, f.floats, inRows, putFloats)
}

// HalfTiles is FloatTiles of a filter of 16-bit floats, as they are.
func (f *Filter) HalfTiles(dst []byte, n, first, last int) {
	halves := func(row []uint16, at int) {
		for i := range row {
			row[i] = binary.LittleEndian.Uint16(f.W.Const[2*(at+i):])
		}
	}
	layTiles(f, dst, f.InQuads()*4, n, first, last, halves, inRows, putHalves)
}

// BlockTerms is the number of terms of a sum of one tap in blocks of `of` terms: f.In rounded up to whole blocks.
func (f *Filter) BlockTerms(of int) int { return (f.In + of - 1) / of * of }

// BlockTiles fills dst with tiles first to last of the filter as [tile][tap][quad of k][n][k in the quad] floats, zeroes in the
// padding: k is padded to whole blocks of `of` terms.
func (f *Filter) BlockTiles(dst []byte, of, n, first, last int) {
	layTiles(f, dst, f.BlockTerms(of), n, first, last, f.floats, inQuads, putFloats)
}

// laidTerms is the number of terms that layTiles lays out at a time, those of all channels of a tile: they stay in the cache,
// and what is written to dst, perhaps memory of a device, are long runs.
const laidTerms = 128

// layTiles fills dst with tiles first to last of f, each with `terms` terms a tap for each of n channels. read sets row to
// elements of the filter, lay puts them into a block as one of n channels, put writes a block and returns what lies behind.
func layTiles[T float32 | uint16](f *Filter, dst []byte, terms, n, first, last int,
	read func(row []T, at int), lay func(block, row []T, lane, n int), put func(dst []byte, block []T) []byte,
) {
	row, block := make([]T, laidTerms), make([]T, laidTerms*n)
	for tile := first; tile < last; tile++ {
		for t := range f.Taps {
			for k := 0; k < terms; k += laidTerms {
				clear(block)
				there := row[:max(min(laidTerms, f.In-k), 0)]
				for o := tile * n; o < min((tile+1)*n, f.Out); o++ {
					read(there, (o*f.Taps+t)*f.In+k)
					lay(block, there, o%n, n)
				}
				dst = put(dst, block[:min(laidTerms, terms-k)*n])
			}
		}
	}
}

// inRows puts row into a block [k][n].
func inRows[T float32 | uint16](block, row []T, lane, n int) {
	for k, v := range row {
		block[k*n+lane] = v
	}
}

// inQuads puts row into a block [quad of k][n][k in the quad].
func inQuads(block, row []float32, lane, n int) {
	for k, v := range row {
		block[k&^3*n+4*lane+k&3] = v
	}
}

// floats sets row to the elements of the filter from at on.
func (f *Filter) floats(row []float32, at int) {
	if f.W.Type == nn.TensorFloat16 {
		for i := range row {
			row[i] = nn.Half(binary.LittleEndian.Uint16(f.W.Const[2*(at+i):])).Float32()
		}
		return
	}
	for i := range row {
		row[i] = math.Float32frombits(binary.LittleEndian.Uint32(f.W.Const[4*(at+i):]))
	}
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
