package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// matrixSpeed scores products by cooperative matrices, which compute as one what else is dozens of instructions: on GPUs
// that list the shape. Software that lists one does it slower than anything else. Floats of 32 bits are rounded to 16 on the way, which a
// model has to permit. relaxed: it does.
func matrixSpeed(f *plan.Facts, c *conv, k family.Gemm, relaxed bool) (speed float64, why string) {
	const (
		units   = 16  // how much faster than a tile in registers, where all of the matrices is used
		enough  = 128 // workgroups that keep a GPU busy
		another = 32  // the narrowest tile
	)
	rows, tiles := c.rows(k), c.tiles(k)
	switch {
	case f.Quick || c.grouped || !c.constant() || k.Elem == family.F32 && !relaxed:
		return 0, ""
	case max(rows, tiles) > plan.MaxGroups || c.MatrixBytes(matrixElem(k), k.N) > f.MaxStorageRange:
		return 0, ""
	}
	// A wider tile brings its operands less often, but leaves idle what a grid of few of them does not reach.
	speed = map[int]float64{32: 0.5, 64: 0.8, 128: 1}[k.M]
	narrow := float64((c.pixels+another-1)/another) * float64((c.Out+another-1)/another)
	speed *= min(1, float64(rows*tiles)/min(narrow, enough))
	speed *= float64(c.pixels*c.Out) / float64(rows*k.M*tiles*k.N)
	m := k.Matrix
	if f.Class != plan.ClassGPU {
		speed *= 1e-3
	}
	speed *= units * (1 + float64(m.M*m.N*m.K)*1e-6) // of several shapes the largest
	return speed, fmt.Sprintf("tile %dx%d by matrices %v", k.M, k.N, m)
}

// matrixElem is the size of an element of the filter.
func matrixElem(k family.Gemm) int {
	if k.Elem == family.Q8 {
		return 1
	}
	return 2
}

// lowerMatrixFloat appends the product k of c.
func lowerMatrixFloat(b *emit.Builder, c *conv, k family.Gemm) {
	dispatchMatrix(b, c, k, floatBias(b, c, c.tiles(k)*k.N), "HalfRows", 0, func() []byte { return c.HalfRows(k.N) },
		pack.Bounds(c.Y, activation(c.node)))
}

// lowerMatrixQ8 appends the product k of q, which c is.
func lowerMatrixQ8(b *emit.Builder, c *conv, k family.Gemm, q *pack.Quantized) {
	s := q.Signed()
	bias, _ := s.FoldZeroPoints()
	push := emit.Push{s.Flip}.Ints(s.WZero, s.Rounding, int(c.Y.Zero)).Words(pack.Bounds(c.Y, activation(c.node))...)
	if c.window() {
		push = push.Ints(int(uint8(s.XZero)) * 0x01010101)
	}
	dispatchMatrix(b, c, k, b.WeightsU32(c.Channels(c.OutQuads(), true, bias)), "SignedRows", s.WZero, func() []byte { return s.SignedRows(k.N) }, push)
}

// dispatchMatrix appends the product k of c. rows packs the filter, how names that; channels is what the kernel adds to
// sums, push what it takes behind sizes.
func dispatchMatrix(b *emit.Builder, c *conv, k family.Gemm, channels emit.Value, how string, zero int, rows func() []byte, push emit.Push) {
	elem := matrixElem(k)
	filter := b.Packed(c.W.Const, c.Recipe(how, zero, k.N), c.MatrixBytes(elem, k.N), rows)
	if c.window() {
		push = push.Divisors(c.InQuads(), c.kW).Ints(c.Taps, c.inH, c.inW, c.outH, c.outW, c.strideH, c.strideW, c.dilH, c.dilW, c.padTop, c.padLeft)
	}
	b.DispatchGroups(shaders.Of(k), [3]uint32{uint32(c.rows(k)), uint32(c.tiles(k)), 1},
		emit.Ints(c.pixels, c.InQuads(), c.OutQuads(), c.MatrixSteps(elem)).Words(push...), emit.Cost{FLOP: c.flop()},
		b.In(c.node.In[0]), b.Read(filter, plan.FormatNone), b.Read(channels, plan.FormatNone), b.Out(c.node.Out[0]))
}

// unpacked is the variant without cooperative matrices that computes what k does, as far as k tells.
func unpacked(f *plan.Facts, k family.Gemm) family.Gemm {
	k.Matrix = family.Matrix{}
	if k.Elem == family.Q8 {
		speed, _ := productSpeed(f, true)
		k.Dot = speed > 1 && !f.BuffersOnly
		k.ZeroPoint = k.ZeroPoint && k.Dot
	}
	if !f.BuffersOnly && (k.Elem == family.F32 || k.Dot) {
		k.Access = family.Texels
	}
	return k
}
