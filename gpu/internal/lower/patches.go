package lower

import (
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// patchElements bounds the window of a convolution by patches, in elements: for each there is a record of 16 bytes.
const patchElements = 1024

// patchWork is the work, in floating-point operations, below which another dispatch does not pay.
const patchWork = 1e6

// patchBytes divides the bytes that each quad of channels of a band has, so that bands begin where the device can bind them.
const patchBytes = 256

// An invocation of conv/patches.comp makes up to mostPatches rows, fewer where less than enoughPatches invocations were left.
const (
	mostPatches   = 16
	enoughPatches = 1024
)

// patches is a convolution whose windows become the rows of a matrix: one of fewer than four channels, which padded to
// a quad would be multiplied by zeroes. The matrix is scratch, so large images are done in bands.
type patches struct {
	c    *conv
	rows int   // of a band
	of   *conv // the product with all rows
}

// choosePatches returns c by patches if that is faster than a window: on processors, by measurement, whenever it has
// some work.
func choosePatches(f *plan.Facts, c *conv) (p *patches, ok bool) {
	if f.Class != plan.ClassCPU || c.flop() < patchWork {
		return nil, false
	}
	return patchesOf(f, c)
}

// patchesOf returns c by patches; not ok if c is another kind of convolution.
func patchesOf(f *plan.Facts, c *conv) (p *patches, ok bool) {
	if e := elem(c.X.Type); e != family.F32 && e != family.Q8 || c.In >= 4 || !c.window() || c.grouped || c.transposed ||
		!c.constant() || c.Taps*c.In > patchElements {
		return nil, false
	}
	filter := c.Filter
	filter.Taps, filter.In = 1, c.Taps*c.In
	p = &patches{c: c, of: &conv{Filter: filter, node: c.node, pixels: c.pixels, kH: 1, kW: 1, strideH: 1, strideW: 1}}
	most, rows := min(f.MaxStorageRange/p.quadBytes(), scratchQuads), patchBytes/int(p.quadBytes())
	if !f.BuffersOnly {
		most = min(most, f.MaxTexelElements)
	}
	p.rows = min(max(1, int(most)/filter.InQuads()/rows), (c.pixels+rows-1)/rows) * rows
	return p, true
}

// quadBytes is the size of four elements.
func (p *patches) quadBytes() int64 { return int64(4 * p.c.X.Type.Bytes()) }

// lowerPatches appends the steps of p; not ok, with nothing appended, if no product can do it.
func lowerPatches(b *emit.Builder, p *patches) (ok bool) {
	c, in, out, size := p.c, p.of.InQuads(), p.of.OutQuads(), p.quadBytes()
	e := elem(c.X.Type)
	var q *pack.Quantized
	var bias []int
	flush := false
	if e == family.Q8 {
		q = pack.Quantize(&p.of.Filter)
		var bound []int
		bias, bound = q.FoldZeroPoints()
		flush = b.Facts.Quick || !q.FitsFloats(bound)
	}
	v, y := b.Temp(int64(min(p.rows, c.pixels)*in)*size), b.Tensor(c.node.Out[0])
	part := func(first, n int) emit.Value { return b.View(y, int64(first*out)*size, int64(n*out)*size) }
	k, ok := chooseProduct(b, p.of, e, flush, func(k family.Gemm) (x, z emit.Value, ok bool) {
		filter := p.of.filterBytes(k)
		return v, part(0, min(p.rows, c.pixels)), filter/16 <= mostTexels(b.Facts, k) && blocksLeft(b, k, filter)
	})
	if !ok {
		return false
	}
	tiles := p.of.tiles(k)
	var slab func(run [2]int) emit.Value
	var channels emit.Value
	var push gemmPush
	last := productPush(0, 0, 0, 0)
	zero := 0
	if e == family.Q8 {
		slab = slabQ8(b, p.of, k, q)
		channels, push = channelsQ8(b, p.of, k, q, bias)
		last, zero = last.Ints(0), q.XZero^int(q.Flip&0xff)
	} else {
		slab, channels, push = slabFloat(b, p.of, k), floatBias(b, c, tiles*k.N), gemmPush{end: pack.Bounds(c.Y, activation(c.node))}
	}
	weights := slab([2]int{0, tiles})
	elements := b.WeightsU32(p.elements())
	taker := family.Patches{Elem: e}
	if c.In > 1 && b.Facts.SubgroupSize >= 8 && b.FitsTexels(b.Tensor(c.node.In[0]), quadTexels(e)) {
		taker.Access = family.Texels
	}
	x := emit.ReadBy(taker.Access, b.In(c.node.In[0]), quadTexels(e))
	for first := 0; first < c.pixels; first += p.rows {
		n := min(p.rows, c.pixels-first)
		rows := b.View(v, 0, int64(n*in)*size)
		run := min(max(n*in/enoughPatches, 1), mostPatches)
		count := (n + run - 1) / run * in
		b.Quads(shaders.Of(taker), count,
			emit.Ints(count, in, n, run, first, c.inH, c.inW, c.outH, c.outW, c.strideH, c.strideW, c.padTop, c.padLeft, zero),
			emit.Cost{}, x, b.Read(elements, plan.FormatNone), b.Write(rows, plan.FormatNone))
		read, write := b.Reach(k.Access, rows, part(first, n), quadTexels(k.Elem))
		tall := rowTiles(k, n)
		last[0] = uint32(tall)
		dispatchRows(b, k, tall, [2]int{0, tiles},
			emit.Ints(n, in, out).Words(push.operands...).Words(push.end...).Words(last...),
			emit.Cost{FLOP: c.flop() * float64(n) / float64(c.pixels)},
			productBindings{x: read, filter: emit.Binding{Value: weights}, channels: b.Read(channels, plan.FormatNone), y: write})
	}
	return true
}

// elements has the records that conv/patches.comp reads.
func (p *patches) elements() []uint32 {
	const outside = -maxReach // of every image, from wherever the window begins
	c := p.c
	var list emit.Push
	for e := range p.of.InQuads() * 4 {
		if e >= p.of.In {
			list = list.Ints(outside, 0, 0, 0)
			continue
		}
		tap, channel := e/c.In, e%c.In
		y, x := tap/c.kW*c.dilH, tap%c.kW*c.dilW
		if c.X.Type.IsQuant8() {
			channel = 1 << (8 * (3 - channel))
		}
		list = list.Ints(y, x, y*c.inW+x, channel)
	}
	return list
}
