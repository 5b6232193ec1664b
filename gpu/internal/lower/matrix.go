package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// matrixPeaks are how many times unitProducts a compute unit reaches with half floats in cooperative matrices, by the
// width of the tile: an H200 with one or two workgroups on each unit, as the layers of networks are. Where there are more,
// operands bound it, of which a narrow tile takes more (72 TFLOP/s by 32x32, 131 by 64x64, 260 by 128x128). With bytes it
// is twice as many.
var matrixPeaks = map[int]float64{32: 1.1, 64: 1.6, 128: 2.8}

// matrixGrid is the work of c by cooperative matrices, with sums cut into so many parts. A step of a workgroup brings
// 64 bytes of each row.
func (c *conv) matrixGrid(f *plan.Facts, k family.Gemm, parts int) gpuGrid {
	elem := matrixElem(k)
	local := f.Workgroup(shaders.Of(k).Info(), 0)
	g := gpuGrid{
		groups: c.rows(k) * c.tiles(k) * parts, invocations: int(local[0] * local[1] * local[2]),
		steps: (c.MatrixSteps(elem) + parts - 1) / parts, peak: matrixPeaks[k.M],
	}
	if k.Elem == family.Q8 {
		g.peak *= 2
	}
	g.products = float64(k.M * k.N * g.steps * pack.MatrixStep / elem)
	return g
}

// matrixParts is the number of parts into which the sums of c are best cut for k, 1 for whole ones, and the cycles that
// it takes then.
func (c *conv) matrixParts(f *plan.Facts, k family.Gemm) (parts int, cycles float64) {
	whole := c.matrixGrid(f, k, 1)
	cycles = whole.cycles(units(f))
	grid := func(parts int) gpuGrid { return c.matrixGrid(f, k, parts) }
	if n, cut := c.cut(f, c.MatrixSteps(matrixElem(k)), grid); cut < cycles {
		return n, cut
	}
	return 1, cycles
}

// matrixSpeed scores products by cooperative matrices, which compute in one what otherwise takes dozens of
// instructions: on GPUs that list the shape. Software that lists one is slower with it than with anything else. Floats
// of 32 bits are rounded to 16 on the way, which a model has to permit. relaxed: it does.
func matrixSpeed(f *plan.Facts, c *conv, k family.Gemm, relaxed bool) (speed float64, why string) {
	rows, tiles := c.rows(k), c.tiles(k)
	switch {
	case f.Quick || !c.constant() && !c.wholeCells() || k.Elem == family.F32 && !relaxed:
		return 0, ""
	case max(rows, tiles) > plan.MaxGroups || c.constant() && c.MatrixBytes(matrixElem(k), k.N) > f.MaxStorageRange:
		return 0, ""
	}
	why = fmt.Sprintf("tile %dx%d by matrices %v", k.M, k.N, k.Matrix)
	parts, cycles := c.matrixParts(f, k)
	if parts > 1 {
		why = fmt.Sprintf("%s, sums in %d parts", why, parts)
	}
	if speed = 1e-3; f.Class == plan.ClassGPU {
		speed = c.gpuSpeed(f, cycles)
	}
	return speed * largest(k.Matrix), why
}

// largest prefers the largest of several shapes that are equally fast.
func largest(m family.Matrix) float64 { return 1 + float64(m.M*m.N*m.K)*1e-6 }

// matrixElem is the size of an element of the filter.
func matrixElem(k family.Gemm) int {
	if k.Elem == family.Q8 {
		return 1
	}
	return 2
}

// wholeCells reports whether a filter that is known only at run time can be bound as it is: its rows, of floats of 16
// bits, are whole cells of 16 bytes.
func (c *conv) wholeCells() bool {
	return !c.X.Type.IsQuant8() && !c.turned && !c.several && c.Taps*c.InQuads()%2 == 0
}

// lowerMatrixFloat appends the product k of c.
func lowerMatrixFloat(b *emit.Builder, c *conv, k family.Gemm) {
	channels, p := floatBias(b, c, c.tiles(k)*k.N), gemmPush{end: c.end(k)}
	if !c.constant() {
		dispatchMatrix(b, c, k, halfFilter(b, c.node.In[1]), c.Taps*c.InQuads()/2, channels, p)
		return
	}
	w := b.Packed(c.W.Const, c.Recipe("HalfRows", 0, k.N), c.MatrixBytes(2, k.N), func(dst []byte) { c.HalfRows(dst, k.N) })
	dispatchMatrix(b, c, k, w, 0, channels, p)
}

// halfFilter returns the filter id, which is known only at run time, in floats of 16 bits.
func halfFilter(b *emit.Builder, id ir.ID) emit.Value {
	w, l := b.Tensor(id), b.Layout(id)
	if b.Graph.T(id).Type == nn.TensorFloat16 {
		return w
	}
	kernel := shaders.Of(family.Cast{From: family.F32, To: family.F16})
	return b.Once(packing{of: w, kernel: kernel}, func() emit.Value {
		half := b.Temp(l.Bytes() / 2)
		push := emit.Ints(l.TotalQuads(), l.Quads, l.C)
		b.Quads(kernel, l.TotalQuads(), push, emit.Cost{}, b.Read(w, plan.FormatNone), b.Write(half, plan.FormatNone))
		return half
	})
}

// lowerMatrixQ8 appends the product k of c, whose constants q has.
func lowerMatrixQ8(b *emit.Builder, c *conv, k family.Gemm, q *pack.Quantized) {
	s := q.Signed()
	bias, _ := s.FoldZeroPoints()
	records, addend := c.records(b.Graph, k, c.OutQuads(), bias)
	p := c.push8(k, s, addend)
	if c.window() {
		p.outside = emit.Ints(int(uint8(s.XZero)) * 0x01010101)
	}
	rows := func(dst []byte) { s.SignedRows(dst, k.N) }
	w := b.Packed(c.W.Const, c.Recipe("SignedRows", s.WZero, k.N), c.MatrixBytes(1, k.N), rows)
	dispatchMatrix(b, c, k, w, 0, b.WeightsU32(records), p)
}

// dispatchMatrix appends the product k of c. w is the filter, in rows of so many cells, or packed in tiles if cells is 0;
// channels is what the kernel adds to sums.
func dispatchMatrix(b *emit.Builder, c *conv, k family.Gemm, w emit.Value, cells int, channels emit.Value, p gemmPush) {
	partSteps, rows := 0, c.tiles(k)*k.N
	if cells > 0 {
		rows = c.Out
	}
	y, added := c.result(b, k, channels)
	to, last := y, b.Read(channels, plan.FormatNone)
	parts, _ := c.matrixParts(b.Facts, k)
	if parts > 1 {
		partSteps = (c.MatrixSteps(matrixElem(k)) + parts - 1) / parts
		to = b.Write(c.sums(b, parts), plan.FormatNone)
	}
	push := emit.Ints(c.pixels, c.OutQuads(), partSteps, cells, rows).Words(p.operands...).Words(p.end...)
	if c.window() {
		push = push.Words(p.outside...).Ints(pack.LayoutOf(c.X).Quads, c.groupQuads()).Divisors(c.InQuads(), c.kW)
		push = push.Ints(c.Taps, c.inH, c.inW, c.outH, c.outW, c.strideH, c.strideW, c.dilH, c.dilW, c.padTop, c.padLeft)
	} else {
		push = push.Ints(c.InQuads(), 0, 0, 0)
	}
	b.DispatchGroups(shaders.Of(k), [3]uint32{uint32(c.rows(k)), uint32(c.tiles(k)), uint32(parts)}, push, emit.Cost{FLOP: c.flop()},
		append([]emit.Binding{b.In(c.node.In[0]), b.Read(w, plan.FormatNone), last, to}, added...)...)
	if parts > 1 {
		addSums(b, c, k.Elem, parts, to.Value, last, p.end, y, added)
	}
}

// unpacked is the variant without cooperative matrices that computes the same as k, as far as k tells.
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
