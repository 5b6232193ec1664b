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

// patchRows divides the number of pixels of a band, so that it is whole tiles of the products, which begin where the
// device can bind them.
const patchRows = 16

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
	if elem(c.X.Type) != family.F32 || c.In >= 4 || !c.window() || c.grouped || c.transposed ||
		!c.constant() || c.Taps*c.In > patchElements {
		return nil, false
	}
	filter := c.Filter
	filter.Taps, filter.In = 1, c.Taps*c.In
	p = &patches{c: c, of: &conv{Filter: filter, pixels: c.pixels, kH: 1, kW: 1, strideH: 1, strideW: 1}}
	most := min(f.MaxStorageRange/16, scratchQuads)
	if !f.BuffersOnly {
		most = min(most, f.MaxTexelElements)
	}
	p.rows = min(max(1, int(most)/filter.InQuads()/patchRows), (c.pixels+patchRows-1)/patchRows) * patchRows
	return p, true
}

// lowerPatches appends the steps of p; not ok, with nothing appended, if no product can do it.
func lowerPatches(b *emit.Builder, p *patches) (ok bool) {
	c, in, out := p.c, p.of.InQuads(), p.of.OutQuads()
	v, y := b.Temp(int64(min(p.rows, c.pixels)*in)*16), b.Tensor(c.node.Out[0])
	part := func(first, n int) emit.Value { return b.View(y, int64(first*out)*16, int64(n*out)*16) }
	k, ok := chooseProduct(b, p.of, func(k family.Gemm) (x, z emit.Value, ok bool) {
		return v, part(0, min(p.rows, c.pixels)), int64(p.of.tiles(k)*p.of.tileTexels(k)) <= b.Facts.MaxTexelElements
	})
	if !ok {
		return false
	}
	tiles := p.of.tiles(k)
	weights := b.Packed(c.W.Const, p.of.Recipe("FloatTiles", 0, k.N), int64(tiles*p.of.tileTexels(k))*16, func() []byte {
		return pack.FloatBytes(p.of.FloatTiles(pack.Floats(c.W), k.N, 0, tiles))
	})
	elements, bias := b.WeightsU32(p.elements()), floatBias(b, c, tiles*k.N)
	for first := 0; first < c.pixels; first += p.rows {
		n := min(p.rows, c.pixels-first)
		rows := b.View(v, 0, int64(n*in)*16)
		b.Quads(shaders.ConvPatches, n*in, emit.Ints(n*in, in, first, 4, c.inH, c.inW, c.outH, c.outW, c.strideH, c.strideW, c.padTop, c.padLeft),
			emit.Cost{}, b.In(c.node.In[0]), b.Read(elements, plan.FormatNone), b.Write(rows, plan.FormatNone))
		read, write := b.Reach(k.Access, rows, part(first, n), gemmTexels(k))
		m := (n + k.M - 1) / k.M
		count := m * lanes(k, tiles)
		b.Dispatch(shaders.Of(k), gemmLocal(b.Facts), count,
			emit.Ints(count, tiles, 0, n, in, out).Words(pack.Bounds(c.Y, activation(c.node))...).Words(productPush(m, 0, 0, 0)...),
			emit.Cost{FLOP: c.flop() * float64(n) / float64(c.pixels)},
			read, b.Read(weights, plan.FormatRGBA32F), b.Read(bias, plan.FormatNone), write)
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
		tap := e / c.In
		y, x := tap/c.kW*c.dilH, tap%c.kW*c.dilW
		list = list.Ints(y, x, y*c.inW+x, e%c.In)
	}
	return list
}
