package pack

import "github.com/nngpu/nngpu/gpu/internal/ir"

// Layout is how a tensor lies in device memory: row-major with a row pitch. Rows are the positions of all dimensions
// but the innermost; a row holds C elements, padded to a multiple of 4. Four neighbouring elements are a quad, the unit
// that every kernel addresses. A quad is one 128-bit word of float32 or int32, two 32-bit words of float16, one 32-bit
// word of 8-bit elements.
//
// Padding lanes: float kernels write zero; those of quantised tensors hold anything.
type Layout struct {
	Dims  []int // never empty: a scalar is [1]
	Rows  int
	C     int
	Quads int // in a row
	Elem  int // bytes of one element
}

// LayoutOf returns the device layout of t.
func LayoutOf(t *ir.Tensor) Layout {
	dims := t.Shape
	if len(dims) == 0 {
		dims = []int{1}
	}
	last := len(dims) - 1
	return Layout{Dims: dims, Rows: ir.Product(dims[:last]), C: dims[last], Quads: (dims[last] + 3) / 4, Elem: t.Type.Bytes()}
}

// TotalQuads is the number of quads of the tensor.
func (l Layout) TotalQuads() int { return l.Rows * l.Quads }

// Bytes is the size in device memory.
func (l Layout) Bytes() int64 { return int64(l.TotalQuads()) * 4 * int64(l.Elem) }

// DenseBytes is the size of the tensor as clients see it.
func (l Layout) DenseBytes() int64 { return int64(l.Rows) * int64(l.C) * int64(l.Elem) }

// Dense reports whether the dense form is a prefix of the device form: no padding between elements.
func (l Layout) Dense() bool { return l.C%4 == 0 || l.Rows == 1 }

// Pad fills dst with the device form of dense bytes, zeroes in the padding.
func (l Layout) Pad(dst, dense []byte) {
	row, pitch := l.C*l.Elem, l.Quads*4*l.Elem
	if l.Dense() {
		row, pitch = len(dense), len(dst)
	}
	for len(dst) > 0 {
		clear(dst[copy(dst, dense[:row]):pitch])
		dst, dense = dst[pitch:], dense[row:]
	}
}
