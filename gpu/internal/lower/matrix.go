package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// matrixPeak is how many times unitProducts a compute unit multiplies of half floats by cooperative matrices: of the 2,048 in
// a cycle of an H100, products of one subgroup reach 63 % (arXiv 2501.12084). Of bytes it is twice as many.
const matrixPeak = 10

// matrixGrid is the work of c by cooperative matrices. A step of a workgroup brings 64 bytes of each row; the narrower the
// tile, the more of the time goes into that, as of the tiles that are known from others.
func (c *conv) matrixGrid(f *plan.Facts, k family.Gemm) gpuGrid {
	step := 64 / matrixElem(k)
	local := f.Workgroup(shaders.Of(k).Info(), 0)
	g := gpuGrid{
		groups: c.rows(k) * c.tiles(k), invocations: int(local[0] * local[1] * local[2]), steps: (c.Taps*c.In + step - 1) / step,
		peak: matrixPeak * map[int]float64{32: 0.25, 64: 0.4, 128: 0.5}[k.M],
	}
	if k.Elem == family.Q8 {
		g.peak *= 2
	}
	g.products = float64(k.M * k.N * g.steps * step)
	return g
}

// matrixSpeed scores products by cooperative matrices, which compute as one what else is dozens of instructions: on GPUs
// that list the shape. Software that lists one does it slower than anything else. Floats of 32 bits are rounded to 16 on the
// way, which a model has to permit. relaxed: it does.
func matrixSpeed(f *plan.Facts, c *conv, k family.Gemm, relaxed bool) (speed float64, why string) {
	rows, tiles := c.rows(k), c.tiles(k)
	switch {
	case f.Quick || c.grouped || !c.constant() || k.Elem == family.F32 && !relaxed:
		return 0, ""
	case max(rows, tiles) > plan.MaxGroups || c.MatrixBytes(matrixElem(k), k.N) > f.MaxStorageRange:
		return 0, ""
	}
	if speed = 1e-3; f.Class == plan.ClassGPU {
		g := c.matrixGrid(f, k)
		speed = c.gpuSpeed(f, g.cycles(units(f)))
	}
	m := k.Matrix
	speed *= 1 + float64(m.M*m.N*m.K)*1e-6 // of several shapes the largest
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
