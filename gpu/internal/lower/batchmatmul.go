package lower

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// BATCH_MATMUL of matrices that are worth a dispatch each, in the form that package compile gives it: [batch, m, k] by
// [batch, k, n] or, swapped, [batch, n, k], and a bias, which is 0. The right matrices become tiles in one dispatch, from where
// they are; then each product is a FULLY_CONNECTED.

func init() {
	register(rule{check: checkBatchMatmul, lower: lowerBatchMatmul, divide: divideBatchMatmul, scratch: scratchBatchMatmul}, nn.OpBatchMatmul)
}

// products are those of a BATCH_MATMUL, which differ by where their matrices lie.
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
	if err := checkConv(f, p.graph, p.node); err != nil {
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

// scratchBatchMatmul bounds the tiles of all right matrices, and what is known of their channels.
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
	left := apart(b, n.In[0], p.batch, pack.LayoutOf(p.X))
	right := matrices{b.Tensor(n.In[1]), p.batch, p.columns}
	out := parts{b.Tensor(n.Out[0]), pack.LayoutOf(p.Y).Bytes(), pack.LayoutOf(p.Y).Bytes()}
	together := out.together(p.batch)
	if !together {
		out.pitch = plan.AlignUp(out.pitch)
		out.in = b.Temp(int64(p.batch) * out.pitch)
	}
	on := func(i int, do func()) { b.On(p.graph, []emit.Value{left.part(b, i), {}, {}, out.part(b, i)}, do) }
	var product func(i int)
	on(0, func() { product = p.prepare(b, right) })
	for i := range p.batch {
		on(i, func() { product(i) })
	}
	if !together {
		spread(b, b.Out(n.Out[0]), b.Read(out.in, plan.FormatNone), p.batch, out.size, out.pitch, out.size, b.Layout(n.Out[0]).Elem)
	}
}

// prepare makes of the right matrices what the products read, and returns what appends product i.
func (p *products) prepare(b *emit.Builder, right matrices) func(i int) {
	q, flush := (*pack.Quantized)(nil), false
	if p.X.Type.IsQuant8() {
		q, flush = pack.Quantize(&p.Filter), !p.exact()
	}
	k, _ := chooseGemm(b, p.conv, flush) // checkBatchMatmul has seen that there is one
	perSlab := p.tiles(k)
	if !k.Shared {
		perSlab = min(perSlab, int(p.slabTexels(b.Facts))/p.tileTexels(k))
	}
	tiles := packMatrices(b, p.conv, k, right, [2]int{0, p.tiles(k)}, perSlab)
	var push gemmPush
	var channels parts
	if q == nil {
		push.end = pack.Bounds(p.Y, activation(p.node))
		channels.in = floatBias(b, p.conv, p.tiles(k)*k.N)
	} else {
		push = p.push8(q)
		channels = matrixChannels(b, p.conv, q, k.Dot || k.Flush, right)
	}
	slabs := (p.tiles(k) + perSlab - 1) / perSlab
	return func(i int) {
		known := channels.in
		if q != nil {
			known = channels.part(b, i)
		}
		slab := func(run [2]int) emit.Value { return tiles.part(b, i*slabs+run[0]/perSlab) }
		dispatchTiles(b, p.conv, k, slab, known, push)
	}
}

// parts are pieces of size bytes in a value, pitch bytes apart.
type parts struct {
	in          emit.Value
	size, pitch int64
}

// together reports whether each of so many can be bound.
func (p *parts) together(count int) bool { return count == 1 || p.pitch%plan.Align == 0 }

func (p *parts) part(b *emit.Builder, i int) emit.Value {
	return b.View(p.in, int64(i)*p.pitch, p.size)
}

// apart returns so many parts of tensor id, of layout l each, as they are or, where they cannot be bound there, copied.
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

// spread copies count parts of size bytes, which lie so many bytes apart on both sides, of elements of elem bytes.
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

// rowsOfOne is the number of rows of the matrix that y is, 0 where there are several.
func rowsOfOne(y *ir.Tensor) int {
	if y.Shape[0] > 1 {
		return 0
	}
	return y.Shape[1]
}
