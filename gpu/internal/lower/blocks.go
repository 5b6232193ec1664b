package lower

import (
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Products whose filter is an array of storage buffers (conv/gemm_blocks.comp): for devices to which the only cheap load is one
// whose place all invocations of a subgroup know.

// blocksLocal is the size of the workgroups of products whose filters are blocks: they share the channels of a tile. Measured.
const blocksLocal = 4

// blockBytes is the size of the blocks of k.
func blockBytes(k family.Gemm) int64 { return int64(shaders.Of(k).Info().Needs.BlockBytes) }

// blockTerms is the number of terms that a block of k has of each channel of a tile; 0 where there are no blocks.
func blockTerms(k family.Gemm) int { return int(blockBytes(k)) / (4 * k.N) }

// fitsBlocks reports whether the filter is there when it is packed, and the plan may have it as blocks of k.
func (c *conv) fitsBlocks(b *emit.Builder, k family.Gemm) bool {
	return c.packs() && !c.several && blocksLeft(b, k, c.filterBytes(k))
}

// blocksLeft reports whether the plan may have so many bytes more in blocks, if k has blocks.
func blocksLeft(b *emit.Builder, k family.Gemm, bytes int64) bool {
	return !k.Blocks || bytes/blockBytes(k) <= b.BlocksLeft()
}

// blocksSpeed scores products whose filter is an array of storage buffers, on processors: the rows and channels by which tiles
// exceed the result are wasted. Measured on SwiftShader, the one that has them with subgroups of four.
func blocksSpeed(f *plan.Facts, c *conv, k family.Gemm) (speed float64, why string) {
	if f.Class != plan.ClassCPU || f.Quick {
		return 0, ""
	}
	filled := float64(c.Out) / float64(c.tiles(k)*k.N) * float64(c.pixels) / float64(c.rows(k)*k.M*blocksLocal)
	return 2.6 * filled, "weights in blocks, which a workgroup reads as one"
}

// accessSpeed is emit.Builder.AccessSpeed; where the filter is blocks, rows that are more than a texel buffer holds are read in
// bands.
func (c *conv) accessSpeed(b *emit.Builder, k family.Gemm, x, y emit.Value) float64 {
	const bands = 0.95
	format := quadTexels(k.Elem)
	if k.Blocks && k.Access == family.Texels && !c.window() && !b.Facts.BuffersOnly && !b.FitsTexels(x, format) && c.band(b.Facts, k) > 0 {
		return bands * b.AccessSpeed(k.Access, b.View(x, 0, format.TexelBytes()), y, format)
	}
	return b.AccessSpeed(k.Access, x, y, format)
}

// band is the number of rows that a product k without a window reads in one dispatch: all, or as many as a texel buffer holds,
// in whole tiles and so that the next ones begin where the device can bind them. 0: not even one tile.
func (c *conv) band(f *plan.Facts, k family.Gemm) int {
	if k.Access == family.Buffers || int64(c.pixels*c.InQuads()) <= f.MaxTexelElements {
		return c.pixels
	}
	const step = plan.Align / 16 // so many rows begin at a multiple of plan.Align
	return int(f.MaxTexelElements) / c.InQuads() / step * step
}

// dispatchBlocks is dispatchTiles for filters that are blocks.
func dispatchBlocks(b *emit.Builder, c *conv, k family.Gemm, slab func(run [2]int) emit.Value, channels emit.Value, p gemmPush) {
	x, y := b.Reach(k.Access, b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0]), quadTexels(k.Elem))
	at := productBindings{channels: b.Read(channels, plan.FormatNone), x: x, y: y}
	at.y.Apart = b.Apart()
	tiles, band := [2]int{0, c.tiles(k)}, c.pixels
	at.filter.Value = slab(tiles)
	if !k.Window {
		band = c.band(b.Facts, k)
	}
	for first := 0; first < c.pixels; first += band {
		n := min(band, c.pixels-first)
		rows := rowTiles(k, n)
		push := c.push(p.end)
		if !k.Window {
			push = push.Words(productPush(rows, 0, first*c.OutQuads(), 0)...)
		}
		if n < c.pixels {
			quad := quadTexels(k.Elem).TexelBytes()
			at.x.Offset, at.x.Size = int64(first*c.InQuads())*quad, int64(n*c.InQuads())*quad
		}
		dispatchRows(b, k, rows, tiles, emit.Ints(n, c.InQuads(), c.OutQuads()).Words(push...),
			emit.Cost{FLOP: c.flop() * float64(n) / float64(c.pixels)}, at)
	}
}
