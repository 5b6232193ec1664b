package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// winograd is a convolution of 3x3, stride 1, by F(m, 3) in both directions (shaders/include/winograd.glsl): one kernel
// brings the input to (m+2)^2 points, matrix products multiply it there with the filter, and another kernel makes
// results of the products. What lies between is scratch, so large images are done in bands of tiles.
type winograd struct {
	c              *conv
	groups         int // of channels
	m              int // a tile is m x m results
	points         int
	tilesX, tilesY int // of an image
	tiles          int // of all
	rows           int // tiles of a band, rounded up: the rows of a product
}

// winogradRows divides the rows of a product, so that those of a few points together begin where the device can bind them.
const winogradRows = 4

// scratchQuads is the most scratch that a band of an image may have between two kernels: 8 MiB, so that it stays in the
// caches of the processor.
const scratchQuads = 1 << 19

// winogradOf returns c by F(m, 3); not ok if c is another kind of convolution, or the device can bind no band of it.
func winogradOf(f *plan.Facts, c *conv, m int) (w *winograd, ok bool) {
	if c.kH != 3 || c.kW != 3 || c.strideH != 1 || c.strideW != 1 || c.dilH != 1 || c.dilW != 1 ||
		c.grouped && !c.tiled() || c.transposed {
		return nil, false
	}
	w = &winograd{c: c, groups: 1, m: m, points: (m + 2) * (m + 2), tilesX: (c.outW + m - 1) / m, tilesY: (c.outH + m - 1) / m}
	if c.grouped {
		w.groups = c.Out / c.multiplier
	}
	w.tiles = w.tilesX * w.tilesY * c.Y.Shape[0]
	most := min(f.MaxStorageRange/16, scratchQuads)
	if !f.BuffersOnly {
		most = min(most, f.MaxTexelElements)
	}
	row := w.points * max(w.inQuads(), c.OutQuads())
	whole := max(1, int(most)/row/winogradRows) // what a band can hold; as all, in units of winogradRows
	all := (w.tiles + winogradRows - 1) / winogradRows
	bands := (all + whole - 1) / whole
	w.rows = (all + bands - 1) / bands * winogradRows
	return w, int64(row*w.rows)*16 <= f.MaxStorageRange
}

// inQuads is the number of quads of a pixel of the input, of all groups.
func (w *winograd) inQuads() int { return w.groups * w.c.InQuads() }

// bands is the number of bands.
func (w *winograd) bands() int { return (w.tiles + w.rows - 1) / w.rows }

// product is the matrix product at a point of a group, as a convolution.
func (w *winograd) product() *conv {
	return &conv{
		Filter: pack.Filter{Taps: 1, In: w.c.In, Out: w.c.Out / w.groups}, pixels: w.rows, kH: 1, kW: 1, strideH: 1, strideW: 1,
	}
}

// filterBytes is the size of the filter at one point, of all groups, in tiles of k.
func (w *winograd) filterBytes(k family.Gemm) int64 {
	p := w.product()
	return int64(w.groups) * p.filterBytes(k)
}

// together is the number of points whose filters, in tiles of k, one dispatch can bind; 0: not even one.
func (w *winograd) together(f *plan.Facts, k family.Gemm) int {
	filter := int(w.filterBytes(k) / 16)
	n := min(w.points, int(mostTexels(f, k))/filter)
	if n == w.points {
		return n
	}
	for ; n > 0; n-- { // its bindings must begin where the device lets them
		if n*filter*16%plan.Align == 0 && n*w.rows*w.inQuads()*16%plan.Align == 0 && n*w.rows*w.c.OutQuads()*16%plan.Align == 0 {
			break
		}
	}
	return n
}

// Work in units of a product of two quads and its sum, in a tile of a matrix product. Measured.
const (
	edgeWork     = 1.3 // of a product in a window whose pixels may lie outside of the image
	dispatchWork = 2e5 // of another dispatch
	filterWork   = 1.0 // of bringing a quad of the filter to a point, in times of the work of reading it
)

// Below these the time saved is not worth two more kernels to compile: this many times as fast, with this many
// floating-point operations.
const (
	winogradGain = 1.4
	littleWork   = 20e6
)

// speed scores w against the matrix product with a window, which is 1.
func (w *winograd) speed(f *plan.Facts) float64 {
	c := w.c
	in, out, bands := float64(c.InQuads()), float64(c.OutQuads()), float64(w.bands())
	moved := 15.0 // work of bringing a quad into memory and out of it
	if f.SubgroupSize < 8 {
		moved = 5
	}
	step := 8 // products take as long as with rows rounded up to it
	if hasQuads(f) {
		step = 16
	}
	rows, points := bands*float64((w.rows+step-1)/step*step), float64(w.points)
	filter, dispatches := moved, 3*bands-1
	if !c.packs() {
		filter *= 1 + filterWork
		dispatches++
	}
	direct := (edgeWork*9*float64(c.pixels) + 9*filter) * 4 * in * out
	return direct / (points*(rows+filter)*4*in*out + points*rows*moved*(float64(w.inQuads())+out) + dispatches*dispatchWork)
}

// chooseWinograd returns the fastest way to compute c by Winograd's algorithm, nil if a window is faster. RATIONALE.md
// says why its rounding is good enough for float32. Nothing was measured on GPUs yet.
func chooseWinograd(f *plan.Facts, c *conv) (best *winograd) {
	if f.Class != plan.ClassCPU || f.Quick || c.flop() < littleWork {
		return nil
	}
	fastest := winogradGain
	for _, m := range [2]int{2, 4} {
		if w, ok := winogradOf(f, c, m); ok && w.speed(f) > fastest {
			best, fastest = w, w.speed(f)
		}
	}
	return best
}

// lowerWinograd appends the steps of w; not ok, with nothing appended, if no product can do it.
func lowerWinograd(b *emit.Builder, w *winograd) (ok bool) {
	c := w.c
	scratch := func(quads int) emit.Value { return b.Temp(int64(w.points*w.rows*quads) * 16) }
	v, m := scratch(w.inQuads()), scratch(c.OutQuads())
	product, ok := w.chooseProduct(b, v, m)
	if !ok {
		return false
	}
	why := fmt.Sprintf("Winograd F(%dx%d, 3x3): score %.2f", w.m, w.m, w.speed(b.Facts))
	for first := 0; first < w.tiles; first += w.rows {
		tiles := min(w.rows, w.tiles-first)
		b.Instead(why)
		w.input(b, v, first, tiles)
		b.Instead(why)
		w.multiply(b, product, v, m)
		b.Instead(why)
		w.output(b, m, first, tiles)
	}
	return true
}

// input appends the transform of so many tiles of x from the first on, and fills all rows of v.
func (w *winograd) input(b *emit.Builder, v emit.Value, first, tiles int) {
	c := w.c
	x, count := b.Tensor(c.node.In[0]), w.rows*w.inQuads()
	k := chooseTransform(b, family.Winograd{Op: family.WinogradInput, Elem: elem(c.X.Type), Tile: w.m}, x, v)
	push := emit.Ints(count, w.inQuads(), c.InQuads(), first, first+tiles-1, w.tilesX, w.tilesY, c.inH, c.inW, c.padTop, c.padLeft)
	read, write := b.Reach(k.Access, x, v, plan.FormatRGBA32F)
	b.Quads(shaders.Of(k), count, push, emit.Cost{}, read, write)
}

// output appends the transform of m to so many tiles of y from the first on.
func (w *winograd) output(b *emit.Builder, m emit.Value, first, tiles int) {
	c := w.c
	y, count := b.Tensor(c.node.Out[0]), tiles*c.OutQuads()
	k := chooseTransform(b, family.Winograd{Op: family.WinogradOutput, Elem: elem(c.Y.Type), Tile: w.m}, m, y)
	push := emit.Ints(count, c.OutQuads(), c.OutQuads()/w.groups, first, w.rows*c.OutQuads(), w.tilesX, w.tilesY, c.outH, c.outW).Words(pack.Bounds(c.Y, activation(c.node))...)
	read, write := b.Reach(k.Access, m, y, plan.FormatRGBA32F)
	b.Quads(shaders.Of(k), count, push, emit.Cost{}, read, b.Read(floatBias(b, c, c.OutQuads()*4), plan.FormatNone), write)
}

// chooseTransform returns the variant of want, whose access is open, for what it reads and writes.
func chooseTransform(b *emit.Builder, want family.Winograd, x, y emit.Value) family.Winograd {
	k, ok := emit.Choose(b, emit.QuadLocal, func(k family.Winograd) (float64, string) {
		want.Access = k.Access
		if k != want {
			return 0, ""
		}
		return b.AccessSpeed(k.Access, x, y, plan.FormatRGBA32F), ""
	})
	if !ok {
		panic("lower: no transform with storage buffers")
	}
	return k
}

// chooseProduct returns the matrix product of w, whose scratch is v and m.
func (w *winograd) chooseProduct(b *emit.Builder, v, m emit.Value) (k family.Gemm, ok bool) {
	p := w.product()
	return chooseProduct(b, p, family.F32, false, func(k family.Gemm) (x, y emit.Value, ok bool) {
		n := w.together(b.Facts, k)
		whole := w.groups == 1 || p.Out%k.N == 0 // a tile of the filter belongs to one group
		made := w.c.packs() || !k.Blocks && int64(w.points)*w.filterBytes(k) <= b.Facts.MaxStorageRange
		return w.part(b, v, w.inQuads(), 0, n), w.part(b, m, w.c.OutQuads(), 0, n), n > 0 && whole && made && blocksLeft(b, k, int64(w.points)*w.filterBytes(k))
	})
}

// chooseProduct returns the matrix product for c, of rows of type e in scratch; flush: of bytes, sums that floats do not hold.
// reach says which rows and results a dispatch of k binds, and whether the device can bind these and a filter in its tiles.
func chooseProduct(b *emit.Builder, c *conv, e family.Elem, flush bool, reach func(k family.Gemm) (x, y emit.Value, ok bool)) (k family.Gemm, ok bool) {
	return emit.Choose(b, gemmLocal(b.Facts), func(k family.Gemm) (float64, string) {
		if k.Elem != e || k.Window || k.Shared || k.Columns || k.Rows || k.Matrix != (family.Matrix{}) || k.Flush != (flush && !k.Dot) ||
			k.ZeroPoint != (k.Dot && c.W.Type.IsQuant8()) {
			return 0, ""
		}
		x, y, ok := reach(k)
		if !ok {
			return 0, ""
		}
		speed, why := tileSpeed(b.Facts, c, k)
		if e == family.Q8 {
			products, what := productSpeed(b.Facts, k.Dot)
			speed, why = speed*products, why+"; "+what
		}
		return speed * b.AccessSpeed(k.Access, x, y, quadTexels(k.Elem)), why
	})
}

// part is v or m, with rows of so many quads, at n points from the first on.
func (w *winograd) part(b *emit.Builder, v emit.Value, quads, first, n int) emit.Value {
	row := int64(w.rows*quads) * 16
	return b.View(v, int64(first)*row, int64(n)*row)
}

// filter returns the filter at all points, size bytes each, as k reads it.
func (w *winograd) filter(b *emit.Builder, k family.Gemm, size int64) emit.Value {
	c, n := w.c, k.N
	if c.packs() {
		how := "WinogradTiles"
		if k.Blocks {
			how = "WinogradBlocks"
		}
		return b.Packed(c.W.Const, c.Recipe(how, w.m, n), int64(w.points)*size, func(dst []byte) { c.WinogradTiles(dst, w.m, n, blockTerms(k)) })
	}
	in, kernel := b.Tensor(c.node.In[1]), shaders.Of(family.Winograd{Op: family.WinogradFilter, Elem: elem(c.X.Type), Tile: w.m})
	return b.Once(packing{in, kernel, [4]int{n, number(c.turned)}}, func() emit.Value {
		count, out := int(size/16), b.Temp(int64(w.points)*size)
		push := emit.Ints(count).Divisors(n/4, 4*c.InQuads()).Ints(c.Out, c.In, number(c.turned))
		b.Quads(kernel, count, push, emit.Cost{}, b.Read(in, plan.FormatNone), b.Write(out, plan.FormatNone))
		return out
	})
}

// multiply appends the products k of v to m.
func (w *winograd) multiply(b *emit.Builder, k family.Gemm, v, m emit.Value) {
	c, p := w.c, w.product()
	rows, tiles, next := p.rows(k), p.tiles(k), p.tiles(k)*p.tileTexels(k)
	if k.Blocks {
		next /= int(blockBytes(k) / 16)
	}
	filter := w.filterBytes(k)
	weights := w.filter(b, k, filter)
	bias := b.Read(b.WeightsF32(make([]float32, 4*p.OutQuads())), plan.FormatNone)
	per := w.together(b.Facts, k)
	for first := 0; first < w.points; first += per {
		n := min(per, w.points-first)
		push := emit.Ints(w.rows, p.InQuads(), p.OutQuads()).
			Floats(math.Inf(-1), math.Inf(1)).Words(productPush(rows, 0, 0, next)...)
		read, write := b.Reach(k.Access, w.part(b, v, w.inQuads(), first, n), w.part(b, m, c.OutQuads(), first, n), quadTexels(k.Elem))
		dispatchRows(b, k, n*w.groups*rows, [2]int{0, tiles}, push, emit.Cost{FLOP: 2 * float64(n*w.rows) * float64(c.In*c.Out)}, productBindings{
			x: read, filter: emit.Binding{Value: weights, Offset: int64(first) * filter, Size: int64(n) * filter}, channels: bias, y: write})
	}
}
