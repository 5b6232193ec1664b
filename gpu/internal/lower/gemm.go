package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// chooseGemm returns the matrix product for c, which is of the type of x. flush: floats are not exact. Not ok: no
// kernel can bind a tile of the filter.
func chooseGemm(b *emit.Builder, c *conv, flush bool) (k family.Gemm, ok bool) {
	x, y := b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0])
	flush = flush || b.Facts.Quick && c.X.Type.IsQuant8() // one kernel for all sums, where kernels are to be few
	return emit.Choose(b, gemmLocal(b.Facts), func(k family.Gemm) (float64, string) {
		zero := c.W.Type.IsQuant8() // by type, not by value: a network whose filters have many zero points needs one kernel then
		matrix := k.Matrix != (family.Matrix{})
		exact := k.Dot || matrix
		if k.Elem != elem(c.X.Type) || k.Window != c.window() || k.ZeroPoint != (exact && zero) || k.Flush != (flush && !exact) {
			return 0, ""
		}
		if k.Columns && c.inPlace == 0 {
			return 0, ""
		}
		if c.grouped && (c.multiplier%k.N != 0 || k.Quad) {
			return 0, "" // a tile belongs to one group, and the tiles of a quad may belong to several
		}
		if matrix {
			return matrixSpeed(b.Facts, c, k, b.Graph.Relaxed)
		}
		if k.Shared {
			return sharedSpeed(b.Facts, c, k)
		}
		if int64(c.tileTexels(k)) > c.slabTexels(b.Facts, k) || k.Blocks && !c.fitsBlocks(b, k) {
			return 0, ""
		}
		speed, why := tileSpeed(b.Facts, c, k)
		speed *= c.accessSpeed(b, k, x, y) * registerShare(b.Facts, c, k)
		if k.Elem == family.Q8 {
			products, what := productSpeed(b.Facts, k.Dot)
			speed, why = speed*products, why+"; "+what
		}
		if k.Flush {
			why += "; floats are not exact"
		}
		if k.Rows {
			speed, why = speed*c.rowsInPlace(b), why+"; the filter where it lies"
		}
		if k.Columns {
			speed, why = speed*c.inPlace, why+"; the filter where it lies"
		}
		return speed, why
	})
}

// rowsInPlace is about how many times as fast products are that read the filter channel by channel, where it lies, as those
// that pack it first; packing pays for many rows. 0 where no kernel can read it so. Measured.
func (c *conv) rowsInPlace(b *emit.Builder) float64 {
	const fewRows = 256
	if c.W.Const != nil || c.turned || c.several || c.Out%4 != 0 || c.Out < 16 || !b.FitsTexels(b.Tensor(c.node.In[1]), plan.FormatRGBA32F) {
		return 0
	}
	if b.Facts.Class != plan.ClassCPU || b.Facts.Quick || c.pixels > fewRows {
		return 0.5
	}
	return 1.2
}

// filterFormat is the format of the texels of a packed filter.
func filterFormat(k family.Gemm) plan.Format {
	if k.Elem == family.Q8 {
		return plan.FormatRGBA32U
	}
	return plan.FormatRGBA32F
}

// lanes is the number of invocations that so many tiles of output channels take.
func lanes(k family.Gemm, tiles int) int {
	if k.Quad {
		return (tiles + 3) / 4 * 4
	}
	return tiles
}

// mostTexels is the number of texels of the packed filter that the device can bind for k.
func mostTexels(f *plan.Facts, k family.Gemm) int64 {
	if k.Blocks {
		return f.MaxBlocks * blockBytes(k) / 16
	}
	return f.MaxTexelElements
}

// tiles is the number of tiles of the output channels, rows that of the pixels.
func (c *conv) tiles(k family.Gemm) int { return (c.Out + k.N - 1) / k.N }
func (c *conv) rows(k family.Gemm) int  { return rowTiles(k, c.pixels) }

// rowTiles is the number of tiles, of workgroups where these share the channels, that so many pixels take.
func rowTiles(k family.Gemm, pixels int) int {
	tall := k.M
	if k.Blocks {
		tall *= blocksLocal
	}
	return (pixels + tall - 1) / tall
}

// tileTexels is the number of texels (or quads) of the packed filter in a tile of k.
func (c *conv) tileTexels(k family.Gemm) int {
	quads := c.InQuads()
	if k.Blocks {
		quads = c.BlockTerms(blockTerms(k)) / 4
	}
	words := c.Taps * quads * k.N // a word or 4 floats hold 4 of the 4*kq*n products of a tap
	switch {
	case k.Elem == family.Q8:
		return words / 4
	case k.Shared && k.Elem == family.F16:
		return words / 2
	}
	return words
}

// filterBytes is the size of the filter as k reads it.
func (c *conv) filterBytes(k family.Gemm) int64 { return int64(c.tiles(k)*c.tileTexels(k)) * 16 }

// slabTexels is the number of texels of the packed filter that one binding of k holds.
func (c *conv) slabTexels(f *plan.Facts, k family.Gemm) int64 {
	if c.constant() || k.Blocks {
		return mostTexels(f, k)
	}
	return min(f.MaxTexelElements, f.MaxStorageRange/16) // a kernel writes what it reads
}

// tileSpeed scores register tiles. A single row has no other pixels to share weights with, and the tile of one row
// compiles fastest; elsewhere the widest tile that the registers of the device hold is best. Measured: 8x16 where a
// subgroup has 8 lanes or more, 8x8 on 4. It takes twice as long to compile, so a window of little work (a network's
// first layer) does without it.
func tileSpeed(f *plan.Facts, c *conv, k family.Gemm) (speed float64, why string) {
	const littleWork = 50e6 // floating-point operations
	narrow := ""            // why a narrow tile is enough
	switch {
	case c.pixels < 4:
		narrow = "fewer than 4 rows"
	case f.Quick:
		narrow = "a quick compilation"
	case f.SubgroupSize < 8:
		narrow = "subgroups of fewer than 8 lanes"
	case c.Out <= 8:
		narrow = "at most 8 output channels"
	case k.Elem == family.F16:
		narrow = "floats of 16 bits"
	case c.window() && c.flop() < littleWork:
		narrow = "a window with little work"
	}
	switch {
	case k.Blocks:
		speed, narrow = blocksSpeed(f, c, k)
	case k.M == 1 && (c.pixels < 4 || f.Quick):
		speed = 2
	case k.M == 1:
		speed = 0.3
	case k.N == 16 && narrow == "":
		speed, narrow = 1.2, "subgroups of 8 lanes or more"
	case k.N == 16:
		speed = 0.8
	case k.Quad:
		speed, narrow = quadSpeed(f, c, k)
	default:
		speed = 1
	}
	switch {
	case narrow != "":
	case f.Class == plan.ClassGPU:
		narrow = "fills the device best"
	default:
		narrow = "a wider one of the filter exceeds a texel buffer"
	}
	return speed, fmt.Sprintf("tile %dx%d: %s", k.M, k.N, narrow)
}

// hasQuads reports whether tiles whose pixels are shared by four invocations are fast: on processors whose subgroups
// are one quad, where reading is expensive and quads are consecutive invocations.
func hasQuads(f *plan.Facts) bool {
	return f.Class == plan.ClassCPU && f.SubgroupSize == 4 && f.SubgroupOps&family.SubgroupQuad != 0
}

// quadSpeed scores tiles whose pixels are shared by four invocations, if these are whole tiles and channels whole
// quads; otherwise the rest is wasted, more of it than by narrow tiles. Measured.
func quadSpeed(f *plan.Facts, c *conv, k family.Gemm) (speed float64, why string) {
	if !hasQuads(f) {
		return 0, ""
	}
	tiles, narrow := c.tiles(k), c.rows(family.Gemm{M: 8})*8
	filled := float64(tiles) / float64(lanes(k, tiles)) * float64(narrow) / float64(c.rows(k)*k.M)
	return 1.6 * filled, "four invocations share what they read"
}

// productSpeed scores 8-bit products: packed dot products are fast if the device says so, and on CPUs whose vectors are
// 8 lanes wide or more; on narrower ones sums of floats are three times faster.
func productSpeed(f *plan.Facts, dot bool) (speed float64, why string) {
	switch {
	case !dot:
		return 1, "float sums: packed dot products are slow or absent"
	case f.IntegerDotFast || f.Class == plan.ClassCPU && f.IntegerDot && f.SubgroupSize >= 8:
		return 2, "packed dot products are fast"
	}
	return 0.2, "packed dot products, which are slow"
}

// Quick is the kernel that plan.Facts.Quick would put in place of that of s: such kernels are fewer, and compile fast.
// Not ok for one that has no such counterpart.
func Quick(f *plan.Facts, s *plan.Step) (quick plan.Pipeline, ok bool) {
	p := s.Pipeline()
	switch k := p.Kernel.Key().(type) {
	case family.Winograd: // all kernels are one product then, with a filter that is packed where it must be
		if k.Op == family.WinogradFilter {
			return plan.Pipeline{Kernel: shaders.Of(family.Pack{Elem: k.Elem, Access: packAccess(f, k.Elem, s.Bindings[0].Size)}), Local: p.Local}, true
		}
		window := family.Gemm{Elem: k.Elem, Window: true, M: 1, N: 8, Access: k.Access}
		return plan.Pipeline{Kernel: shaders.Of(window), Local: plan.Flat(gemmLocal(f))}, k.Op == family.WinogradInput
	case family.Gemm:
		if k.Shared || k.Matrix != (family.Matrix{}) {
			k = unpacked(f, k)
		}
		k.Shared, k.Split, k.Rows, k.Quad, k.Blocks, k.M, k.N = false, false, false, false, false, 1, 8
		k.Flush = k.Elem == family.Q8 && !k.Dot
		return plan.Pipeline{Kernel: shaders.Of(k), Local: plan.Flat(gemmLocal(f))}, true
	case family.GemmSum: // sums are in one part then
		return p, false
	case family.Depthwise:
		if k.Rows > 0 || k.Walk {
			k.Access = quickAccess(f, k, s.Bindings[0].Size, s.Bindings[3].Size)
		}
		k.Width, k.Stride, k.Across, k.Rows, k.Walk = 0, 0, 0, 0, false
		p.Kernel = shaders.Of(k)
	case family.Softmax:
		k.Team = family.Alone
		return plan.Pipeline{Kernel: shaders.Of(k), Local: plan.Flat(emit.QuadLocal)}, true
	case family.Sum:
		k.Team = family.Alone
		return plan.Pipeline{Kernel: shaders.Of(k), Local: plan.Flat(emit.QuadLocal)}, true
	}
	return p, true
}

// quickAccess is how the kernel of any window would reach tensors of x and y bytes that k, of rows, reads and writes;
// see emit.Builder.AccessSpeed.
func quickAccess(f *plan.Facts, k family.Depthwise, x, y int64) family.Access {
	format := quadTexels(k.Elem)
	fits := func(size int64) bool { return !f.BuffersOnly && size/format.TexelBytes() <= f.MaxTexelElements }
	switch {
	case !fits(x) || !emit.TexelsPay(f, format):
		return family.Buffers
	case k.Elem == family.F32 && f.TexelStores && f.StorageTexelRGBA32F && fits(y):
		return family.TexelStores
	}
	return family.Texels
}

// Variants describes for people which kernels are chosen on a device.
func Variants(f *plan.Facts) string {
	wide := &conv{Filter: pack.Filter{Out: 1 << 10}, pixels: 1 << 20, kH: 1, kW: 1, strideH: 1, strideW: 1}
	tile, best := "8x8", 1.0
	if speed, _ := tileSpeed(f, wide, family.Gemm{M: 8, N: 16}); speed > best {
		tile, best = "8x16", speed
	}
	products := "8-bit products as float sums"
	if speed, _ := productSpeed(f, true); speed > 1 {
		products = "8-bit products by integer dot"
	}
	return fmt.Sprintf("matrix tiles %s, %s", tile, products)
}
