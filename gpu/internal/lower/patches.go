package lower

import (
	"slices"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// patchElements bounds the window of a convolution of fewer than four channels, in elements: for each there is a record of
// 16 bytes.
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
// a quad would be multiplied by zeroes, or one of whole quads, which then needs no kernel with a window. The matrix is scratch,
// so large images are done in bands.
type patches struct {
	c     *conv
	quads bool
	rows  int   // of a dispatch of the product, whose bindings they fit into
	band  int   // rows that are made at once
	of    *conv // the product with all rows
}

// choosePatches returns c by patches if that is better than a window: on processors, where it has some work; of whole quads see
// worthCopying. Measured.
func choosePatches(f *plan.Facts, c *conv) (p *patches, ok bool) {
	if f.Class != plan.ClassCPU || c.flop() < patchWork {
		return nil, false
	}
	if p, ok = patchesOf(f, c); ok && p.quads && !worthCopying(f, c) {
		return nil, false
	}
	return p, ok
}

// worthCopying reports whether the windows of c, which has whole quads of channels, are worth it: on vectors of 4 lanes, if each
// quad that is copied is multiplied with many channels. It takes no longer then, and no product with a window needs to be compiled.
// Products of bytes take less time, so a tap must have few quads, too. Measured.
func worthCopying(f *plan.Facts, c *conv) bool {
	const many, manyOfBytes = 128, 8 // the second in times of the quads of a tap
	if elem(c.X.Type) == family.Q8 {
		return f.SubgroupSize < 8 && c.Out >= manyOfBytes*c.InQuads()
	}
	return f.SubgroupSize < 8 && c.Out >= many
}

// patchesOf returns c by patches; not ok if c is another kind of convolution.
func patchesOf(f *plan.Facts, c *conv) (p *patches, ok bool) {
	quads := c.In%4 == 0
	if !quads && (c.In > 4 || c.Taps*c.In > patchElements) || elem(c.X.Type) == family.F16 || !c.window() || c.grouped || c.transposed || !c.constant() {
		return nil, false
	}
	filter := c.Filter
	filter.Taps, filter.In = 1, c.Taps*c.In
	p = &patches{c: c, quads: quads, of: &conv{Filter: filter, node: c.node, pixels: c.pixels, kH: 1, kW: 1, strideH: 1, strideW: 1}}
	whole, step := min(f.MaxStorageRange/p.quadBytes(), scratchQuads), patchBytes/int(p.quadBytes())
	bound := whole
	if !f.BuffersOnly {
		bound = min(bound, f.MaxTexelElements)
	}
	steps := (c.pixels + step - 1) / step
	p.rows = min(int(bound)/filter.InQuads()/step, steps) * step
	p.band = min(int(whole)/filter.InQuads()/step, steps) * step
	return p, p.rows > 0
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
	v, y := b.Temp(int64(min(p.band, c.pixels)*in)*size), b.Tensor(c.node.Out[0])
	part := func(first, n int) emit.Value { return b.View(y, int64(first*out)*size, int64(n*out)*size) }
	k, ok := chooseProduct(b, p.of, e, flush, func(k family.Gemm) (x, z emit.Value, ok bool) {
		filter := p.of.filterBytes(k)
		rows := min(p.rows, c.pixels)
		return b.View(v, 0, int64(rows*in)*size), part(0, rows), filter/16 <= mostTexels(b.Facts, k) && blocksLeft(b, k, filter)
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
	taker := family.Patches{Elem: e, Quads: p.quads}
	var elements []emit.Binding
	if !p.quads {
		elements = append(elements, b.Read(b.WeightsU32(p.elements()), plan.FormatNone))
	}
	if !p.quads && c.In > 1 && b.Facts.SubgroupSize >= 8 && b.FitsTexels(b.Tensor(c.node.In[0]), quadTexels(e)) {
		taker.Access = family.Texels
	}
	x := emit.ReadBy(taker.Access, b.In(c.node.In[0]), quadTexels(e))
	for first := 0; first < c.pixels; first += p.band {
		n := min(p.band, c.pixels-first)
		rows := b.View(v, 0, int64(n*in)*size)
		run := min(max(n*in/enoughPatches, 1), mostPatches)
		count := (n + run - 1) / run * in
		sizes := emit.Ints(count, in, n, run, first, c.inH, c.inW, c.outH, c.outW, c.strideH, c.strideW, c.padTop, c.padLeft)
		if p.quads {
			sizes = sizes.Ints(zero*0x01010101, c.InQuads(), c.kW, c.dilH, c.dilW)
		} else {
			sizes = sizes.Ints(zero)
		}
		b.Quads(shaders.Of(taker), count, sizes, emit.Cost{}, slices.Concat([]emit.Binding{x}, elements, []emit.Binding{b.Write(rows, plan.FormatNone)})...)
		for at := 0; at < n; at += p.rows {
			m := min(p.rows, n-at)
			read, write := b.Reach(k.Access, b.View(v, int64(at*in)*size, int64(m*in)*size), part(first+at, m), quadTexels(k.Elem))
			tall := rowTiles(k, m)
			last[0] = uint32(tall)
			dispatchRows(b, k, tall, [2]int{0, tiles},
				emit.Ints(m, in, out).Words(push.operands...).Words(push.end...).Words(last...),
				emit.Cost{FLOP: c.flop() * float64(m) / float64(c.pixels)},
				productBindings{x: read, filter: emit.Binding{Value: weights}, channels: b.Read(channels, plan.FormatNone), y: write})
		}
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
