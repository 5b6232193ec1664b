package pack

import (
	"encoding/binary"

	"github.com/nngpu/nngpu/driver/nn"
)

// MatrixStep is the number of bytes of one sum that shaders/conv/gemm_matrix.comp takes in a step.
const MatrixStep = 64

// MatrixSteps is the number of steps of a sum over all taps and channels, of elements of elem bytes.
func (f *Filter) MatrixSteps(elem int) int {
	return (f.Taps*f.InQuads()*4*elem + MatrixStep - 1) / MatrixStep
}

// MatrixBytes is the size of the rows of all tiles of n channels.
func (f *Filter) MatrixBytes(elem, n int) int64 {
	return int64((f.Out+n-1)/n) * int64(f.MatrixSteps(elem)) * int64(n) * MatrixStep
}

// matrixRows fills dst with elements of elem bytes as [tile of n channels][step][channel][MatrixStep bytes], the quads of a
// sum tap by tap. put writes element i of f.W, and pad the padding of a quad; the rest is zeroes.
func (f *Filter) matrixRows(dst []byte, elem, n int, put func(to []byte, i int), pad func(to []byte)) {
	steps, quads := f.MatrixSteps(elem), MatrixStep/4/elem
	tile := make([]byte, steps*n*MatrixStep)
	for first := 0; first < f.Out; first += n {
		clear(tile)
		for o := first; o < min(first+n, f.Out); o++ {
			for t := range f.Taps {
				for k := range f.InQuads() * 4 {
					g := t*f.InQuads() + k/4
					at := (g/quads*n+o-first)*MatrixStep + (g%quads*4+k%4)*elem
					if k < f.In {
						put(tile[at:], (o*f.Taps+t)*f.In+k)
					} else {
						pad(tile[at:])
					}
				}
			}
		}
		dst = dst[copy(dst, tile):]
	}
}

// HalfRows fills dst with the filter, of any float type, as gemm_matrix.comp reads it in tiles of n channels.
func (f *Filter) HalfRows(dst []byte, n int) {
	w := Floats(f.W)
	f.matrixRows(dst, 2, n, func(to []byte, i int) { binary.LittleEndian.PutUint16(to, uint16(nn.HalfOf(w[i]))) }, func([]byte) {})
}

// SignedRows is the same for 8 bits. Padding lanes hold the zero point.
func (q *Quantized) SignedRows(dst []byte, n int) {
	q.matrixRows(dst, 1, n, func(to []byte, i int) { to[0] = byte(q.w[i]) }, func(to []byte) { to[0] = byte(int8(q.WZero)) })
}

// Signed is q for the input as signed numbers, which take a flip of other bits.
func (q *Quantized) Signed() *Quantized {
	s := *q
	s.Flip ^= 0x80808080
	s.XZero -= 128
	return &s
}
