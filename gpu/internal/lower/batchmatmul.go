package lower

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// BATCH_MATMUL of matrices that are worth a dispatch each, in the form that package compile gives it: [batch, m, k] by
// [batch, k, n] or, swapped, [batch, n, k], and a bias, which is 0. The right matrices become tiles in one dispatch, or
// are read where they lie; then one dispatch does as many products as can be bound, or each is a FULLY_CONNECTED if it
// goes through shared memory.

func init() {
	register(rule{check: checkBatchMatmul, lower: lowerBatchMatmul, divide: divideBatchMatmul, scratch: scratchBatchMatmul}, nn.OpBatchMatmul)
}

// products are those of a BATCH_MATMUL, which differ only in where their matrices lie.
type products struct {
	*conv             // of node, for the sizes of a product
	graph   *ir.Graph // the tensors of one product, with which node computes it
	batch   int
	columns bool
}

func productsOf(g *ir.Graph, n *ir.Node) *products {
	x, w, y := *g.T(n.In[0]), *g.T(n.In[1]), *g.T(n.Out[0])
	p := &products{batch: x.Shape[0], columns: !n.Attrs.(ops.BatchMatmul).Right}
	x.Shape, y.Shape = x.Shape[1:], y.Shape[1:]
	w.Shape, w.Const = []int{y.Shape[1], x.Shape[1]}, nil
	p.graph = &ir.Graph{}
	in := []ir.ID{p.graph.Add(x), p.graph.Add(w), p.graph.Add(*g.T(n.In[2]))}
	p.conv = convOf(p.graph, &ir.Node{Op: nn.OpFullyConnected, Attrs: ops.FullyConnected{}, In: in, Out: []ir.ID{p.graph.Add(y)}})
	p.several = true
	return p
}

func checkBatchMatmul(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if len(n.In) == 2 {
		return checkAtOnce(f, g, n)
	}
	a, x, w, y := n.Attrs.(ops.BatchMatmul), g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if len(n.In) != 3 || a.Left || len(x.Shape) != 3 || len(w.Shape) != 3 || len(y.Shape) != 3 || g.T(n.In[2]).Const == nil {
		return fmt.Errorf("matrices %v and %v in a form that no kernel takes", x.Shape, w.Shape)
	}
	p := productsOf(g, n)
	depth, units := w.Shape[1], w.Shape[2]
	if !p.columns {
		depth, units = units, depth
	}
	if x.Shape[0] != y.Shape[0] || w.Shape[0] != y.Shape[0] || x.Shape[1] != y.Shape[1] || depth != p.In || units != p.Out {
		return fmt.Errorf("%v by %v is not %v", x.Shape, w.Shape, y.Shape)
	}
	if err := cmp.Or(checkConv(f, p.graph, p.node), emit.CheckWork(float64(p.batch)*p.flop())); err != nil {
		return err
	}
	if texels := int64(p.tileTexels(family.Gemm{N: 8})); texels > min(f.MaxTexelElements, f.MaxStorageRange/16) {
		return errors.New(filterTooLarge)
	}
	if size := scratchBatchMatmul(g, n); size > f.MaxStorageRange {
		return fmt.Errorf("tiles of %d bytes are larger than the %d that the device binds", size, f.MaxStorageRange)
	}
	return emit.CheckTensors(f, g, n)
}

// scratchBatchMatmul bounds the tiles of all right matrices, and the records of their channels.
func scratchBatchMatmul(g *ir.Graph, n *ir.Node) int64 {
	const widest = 128 // output channels of a tile
	if len(n.In) == 2 {
		return 0
	}
	p := productsOf(g, n)
	columns := int64(p.Out+widest-1) / widest * widest
	if columns *= 2; p.Out <= widest { // the last slab is as large as the others
		columns = widest
	}
	return int64(p.batch) * max(columns*(int64(p.InQuads())*16+plan.Align/8), plan.AlignUp(pack.ChannelBytes*int64(p.OutQuads())))
}

func lowerBatchMatmul(b *emit.Builder, n *ir.Node) {
	if len(n.In) == 2 {
		lowerAtOnce(b, n)
		return
	}
	p := productsOf(b.Graph, n)
	p.conv.inPlace = p.speedInPlace(b.Facts)
	q, flush := (*pack.Quantized)(nil), false
	if p.X.Type.IsQuant8() {
		q, flush = pack.Quantize(&p.Filter), true
	}
	x, y := b.Tensor(n.In[0]), b.Tensor(n.Out[0])
	right := matrices{b.Tensor(n.In[1]), p.batch, p.columns}
	var k family.Gemm
	one := func(v emit.Value, t *ir.Tensor) emit.Value { // as much of a product's rows as is bound, wherever they begin
		size := pack.LayoutOf(t).Bytes()
		return b.View(v, 0, min(size+plan.Align, int64(p.batch)*size))
	}
	b.On(p.graph, []emit.Value{one(x, p.X), {}, {}, one(y, p.Y)}, func() {
		k, _ = chooseGemm(b, p.conv, flush) // checkBatchMatmul has seen that there is one
		if !k.Shared {
			p.together(b, k, q, x, y, right)
		}
	})
	if k.Shared {
		p.apart(b, n, k, q, right)
	}
}

// speedInPlace is about how much faster the products are in kernels that read the right matrices where they lie, as
// columns of floats: for few rows by the cost of packing them, if that is worth another kernel. 0 where no kernel can.
func (p *products) speedInPlace(f *plan.Facts) float64 {
	const fewRows, worth = 256, 1 << 18 // rows; elements of all matrices
	if !p.columns || p.X.Type != nn.TensorFloat32 || int64(p.In*p.OutQuads())+plan.Align/16 > f.MaxTexelElements {
		return 0
	}
	if f.Class != plan.ClassCPU || f.Quick || p.pixels > fewRows || p.batch*p.In*p.Out < worth {
		return 0.5
	}
	return 1.2
}

// together appends the products k, in each dispatch as many as the device can bind the operands of: each reads and
// writes its own rows in x and y.
func (p *products) together(b *emit.Builder, k family.Gemm, q *pack.Quantized, x, y emit.Value, right matrices) {
	in, out, tiles, rows := rowBytesOf(pack.LayoutOf(p.X)), rowBytesOf(pack.LayoutOf(p.Y)), p.tiles(k), p.rows(k)
	filters := p.filters(b, k, right)
	per := filters.per
	if k.Access != family.Buffers {
		per = min(per, in.most(b.Facts, quadTexels(k.Elem)))
	}
	if k.Access == family.TexelStores {
		per = min(per, out.most(b.Facts, quadTexels(k.Elem)))
	}
	known, push := p.known(b, k, q, right, 1)
	apart := b.Apart()
	for i := 0; i < p.batch; i += per {
		n := min(per, p.batch-i)
		xs, ys := in.part(b, x, i, n), out.part(b, y, i, n)
		read, write := b.Reach(k.Access, xs.value, ys.value, quadTexels(k.Elem))
		write.Apart = apart
		for at := 0; at < tiles; at += filters.perSlab {
			count := min(filters.perSlab, tiles-at)
			w := filters.of(b, i, n, at/filters.perSlab)
			last := productPush(rows, xs.first, ys.first, filters.distance)
			if q != nil {
				last = last.Ints(i * p.OutQuads())
			}
			if k.Columns {
				last = last.Ints(w.first, p.OutQuads(), p.In)
			}
			invocations := n * rows * lanes(k, count)
			sizes := emit.Ints(invocations, count, at*k.N/4, p.pixels, p.InQuads(), p.OutQuads())
			b.Dispatch(shaders.Of(k), gemmLocal(b.Facts), invocations,
				sizes.Words(push.operands...).Words(push.end...).Words(last...), emit.Cost{FLOP: p.flop() * float64(n*count) / float64(tiles)},
				read, b.Read(w.value, w.format), b.Read(known.in, plan.FormatNone), write)
		}
	}
}

// rightMatrices says how products find their filters.
type rightMatrices struct {
	per      int // filters that can be bound at once
	perSlab  int // tiles of a filter that can be bound at once
	distance int // texels from a filter to the next
	of       func(b *emit.Builder, first, n, slab int) placed
}

// placed is a value, the format in which a kernel reads it, and where in it the operand begins: the quad, or the texel.
type placed struct {
	value  emit.Value
	first  int
	format plan.Format
}

// filters are the right matrices as k reads them.
func (p *products) filters(b *emit.Builder, k family.Gemm, right matrices) rightMatrices {
	if k.Columns {
		rows := rowBytesOf(pack.Layout{Rows: p.In, Quads: p.OutQuads(), Elem: 4})
		of := func(b *emit.Builder, first, n, _ int) placed {
			w := rows.part(b, right.w, first, n)
			w.format = plan.FormatRGBA32F
			return w
		}
		return rightMatrices{rows.most(b.Facts, plan.FormatRGBA32F), p.tiles(k), p.In * p.OutQuads(), of}
	}
	format := filterFormat(k)
	most := int(p.slabTexels(b.Facts, k))
	perSlab := min(p.tiles(k), most/p.tileTexels(k))
	tiles := packMatrices(b, p.conv, k, right, [2]int{0, p.tiles(k)}, perSlab)
	slabs, per := (p.tiles(k)+perSlab-1)/perSlab, 1
	if slabs == 1 {
		per = max(1, most/int(tiles.pitch/16))
	}
	return rightMatrices{per, perSlab, int(tiles.pitch / 16), func(b *emit.Builder, first, n, slab int) placed {
		return placed{b.View(tiles.in, int64(first*slabs+slab)*tiles.pitch, int64(n-1)*tiles.pitch+tiles.size), 0, format}
	}}
}

// known is what the products k need of their channels, at multiples of align bytes, or the same for all if they are
// floats, and their push constants behind sizes.
func (p *products) known(
	b *emit.Builder, k family.Gemm, q *pack.Quantized, right matrices, align int64,
) (channels parts, push gemmPush) {
	if q == nil {
		bias := make([]float32, p.tiles(k)*k.N) // as checkBatchMatmul wants it
		return parts{in: b.WeightsF32(bias), size: int64(4 * len(bias))}, gemmPush{end: p.end(k)}
	}
	return matrixChannels(b, p.conv, q, right, align), p.push8(k, q, 0)
}

// rowBytes are the sizes of a quad and of the rows of one product in a tensor that has products one below the other.
type rowBytes struct{ quad, size int64 }

func rowBytesOf(l pack.Layout) rowBytes { return rowBytes{int64(4 * l.Elem), l.Bytes()} }

// most is the number of products whose rows a texel buffer of format f holds, wherever they begin.
func (r rowBytes) most(f *plan.Facts, of plan.Format) int {
	return max(1, int((f.MaxTexelElements*of.TexelBytes()-plan.Align)/r.size))
}

// part is where the rows of n products from product i on lie in v: a value that begins at a multiple of plan.Align.
func (r rowBytes) part(b *emit.Builder, v emit.Value, i, n int) placed {
	at := int64(i) * r.size
	from := at / plan.Align * plan.Align
	return placed{value: b.View(v, from, at-from+int64(n)*r.size), first: int((at - from) / r.quad)}
}

// apart appends the products k through shared memory, one by one.
func (p *products) apart(b *emit.Builder, n *ir.Node, k family.Gemm, q *pack.Quantized, right matrices) {
	left := apart(b, n.In[0], p.batch, pack.LayoutOf(p.X))
	out := parts{b.Tensor(n.Out[0]), pack.LayoutOf(p.Y).Bytes(), pack.LayoutOf(p.Y).Bytes()}
	together := out.together(p.batch)
	if !together {
		out.pitch = plan.AlignUp(out.pitch)
		out.in = b.Temp(int64(p.batch) * out.pitch)
	}
	var tiles, channels parts
	var push gemmPush
	for i := range p.batch {
		b.On(p.graph, []emit.Value{left.part(b, i), {}, {}, out.part(b, i)}, func() {
			if i == 0 {
				tiles = packMatrices(b, p.conv, k, right, [2]int{0, p.tiles(k)}, p.tiles(k))
				channels, push = p.known(b, k, q, right, plan.Align)
			}
			dispatchShared(b, p.conv, k, func([2]int) emit.Value { return tiles.part(b, i) }, channels.part(b, i), push)
		})
	}
	if !together {
		spread(b, b.Out(n.Out[0]), b.Read(out.in, plan.FormatNone), p.batch, out.size, out.pitch, out.size, b.Layout(n.Out[0]).Elem)
	}
}

// parts are pieces of size bytes in a value, pitch bytes apart.
type parts struct {
	in          emit.Value
	size, pitch int64
}

// together reports whether each of count parts can be bound.
func (p *parts) together(count int) bool { return count == 1 || p.pitch%plan.Align == 0 }

func (p *parts) part(b *emit.Builder, i int) emit.Value {
	return b.View(p.in, int64(i)*p.pitch, p.size)
}

// apart returns count parts of tensor id, each of layout l, as they are or, where they cannot be bound there, copied.
func apart(b *emit.Builder, id ir.ID, count int, l pack.Layout) parts {
	p := parts{b.Tensor(id), l.Bytes(), l.Bytes()}
	if p.together(count) {
		return p
	}
	p.pitch = plan.AlignUp(p.size)
	p.in = b.Temp(int64(count) * p.pitch)
	spread(b, b.Write(p.in, plan.FormatNone), b.In(id), count, p.size, p.size, p.pitch, l.Elem)
	return p
}

// spread copies count parts of size bytes, which lie from bytes apart in src and to bytes apart in dst, of elements of
// elem bytes.
func spread(b *emit.Builder, dst, src emit.Binding, count int, size, from, to int64, elem int) {
	quad := int64(4 * elem)
	b.CopyQuads(dst, src, emit.Strided{
		Dims: []int{count, int(size / quad)}, From: []int{int(from / quad), 1}, To: []int{int(to / quad), 1}, Elem: elem,
	})
}

// divideBatchMatmul divides between products and, where there is one, between rows.
func divideBatchMatmul(g *ir.Graph, n *ir.Node) []division {
	x, w, y := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	return []division{
		{y.Shape[0], func(from, to int) ([]extent, ops.Attrs) {
			return []extent{along(x, 0, from, to), along(w, 0, from, to), {whole: true}, along(y, 0, from, to)}, n.Attrs
		}},
		{rowsOfOne(y), func(from, to int) ([]extent, ops.Attrs) {
			return firstAndOut(n, along(x, 1, from, to), along(y, 1, from, to)), n.Attrs
		}},
	}
}

// rowsOfOne is the number of rows of y if it is one matrix, 0 if it is several.
func rowsOfOne(y *ir.Tensor) int {
	if y.Shape[0] > 1 {
		return 0
	}
	return y.Shape[1]
}
