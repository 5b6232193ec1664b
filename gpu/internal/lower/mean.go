package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkMean, lower: lowerMean, divide: divideMean}, nn.OpMean)
}

// maxByteSum is the number of bytes whose sum fits an int32 whatever they are.
const maxByteSum = math.MaxInt32 / 256

func checkMean(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if hasRuntimeParam(n) {
		return checkMeanRuntime(f, g, n)
	}
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if err := checkSameType(in, out); err != nil {
		return err
	}
	last, axes := -1, n.Attrs.(ops.Mean).Axes
	for _, a := range axes {
		if a <= last || a >= len(in.Shape) {
			return fmt.Errorf("axes %v of a tensor of rank %d", axes, len(in.Shape))
		}
		last = a
	}
	count := reducedCount(in.Shape, axes)
	if out.Elements()*count != in.Elements() {
		return fmt.Errorf("the mean of %v over %v does not have shape %v", in.Shape, axes, out.Shape)
	}
	if in.Type.IsQuant8() && count > maxByteSum {
		return fmt.Errorf("the mean of %d bytes", count)
	}
	if err := checkNumbers(n.Op, in, out); err != nil {
		return err
	}
	// Between stages an element takes 4 bytes, and the first one halves their number at least.
	if need := int64(pack.LayoutOf(in).TotalQuads()) * 8; need > f.MaxStorageRange {
		return fmt.Errorf("partial sums of %d bytes are more than the %d that the device binds", need, f.MaxStorageRange)
	}
	return emit.CheckTensors(f, g, firstInputOnly(n))
}

func reducedCount(shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= shape[a]
	}
	return n
}

func lowerMean(b *emit.Builder, n *ir.Node) {
	if hasRuntimeParam(n) {
		lowerMeanRuntime(b, n)
		return
	}
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	axes := n.Attrs.(ops.Mean).Axes
	count := reducedCount(in.Shape, axes)
	if count == 1 && in.SameQuant(out) {
		reshapeTensor(b, n.Out[0], n.In[0])
		return
	}
	average(b, n.Out[0], n.In[0], axes, meanFinish(in, out, count))
}

// meanFinish turns the sum of count elements of in into an element of out.
func meanFinish(in, out *ir.Tensor, count int) finish {
	f := finish{factor: 1 / float64(count), bounds: pack.Bounds(out, nn.ActNone)}
	if in.Type.IsQuant8() {
		// From TensorFlow Lite's optimized_integer_ops::Mean: stored integers are summed, and the zero
		// points become one bias that is rounded by itself; scales are combined in float32.
		f.factor = float64(in.Scale / (float32(count) * out.Scale))
		f.zero = out.Zero - int32(math.Round(float64(float32(in.Zero)*in.Scale/out.Scale)))
	}
	return f
}

// finish is how a sum becomes an element of the output: times factor, plus zero (8-bit), clamped.
type finish struct {
	factor float64
	zero   int32
	bounds []uint32 // see pack.Bounds
}

// floats are the push constants of f for sums of floats.
func (f finish) floats() emit.Push { return emit.Push{emit.F32(f.factor)}.Words(f.bounds...) }

// bytes are those for sums of count bytes, off apart from unsigned ones.
func (f finish) bytes(off, count int) emit.Push {
	m := pack.MultiplierWords(f.factor)
	return emit.Ints(off, off*count).Words(m[:]...).Ints(int(f.zero)).Words(f.bounds...)
}

// partial is a tensor on its way through the stages of a reduction.
type partial struct {
	memory  emit.Binding
	elem    family.Elem // I32: sums of bytes
	offset  int         // of 8-bit elements, see pack.SignOffset
	dims    []int       // without the innermost
	reduced []bool
	row     int // elements of a row
	quads   int // of a row
}

// sumOf is the type of sums of elements of t.
func sumOf(t family.Elem) family.Elem {
	if t == family.Q8 || t == family.I32 {
		return family.I32
	}
	return family.F32
}

// average reduces the axes of in to out: first the outer dimensions, one group of neighbours after the
// other, then the innermost. Long sums are split in two stages, which keeps loops short, gives enough
// invocations and rounds less.
func average(b *emit.Builder, out, in ir.ID, axes []int, f finish) {
	t := b.Graph.T(in)
	l, to := b.Layout(in), b.Layout(out)
	reduced := make([]bool, len(l.Dims))
	for _, a := range axes {
		reduced[a] = true
	}
	last := len(l.Dims) - 1
	// One element a row and one in the output: nothing to do along the rows.
	rows := reduced[last] && !(l.C == 1 && to.C == 1)
	p := partial{
		memory: b.In(in), elem: elem(t.Type), offset: int(pack.SignOffset(t.Type)), row: l.C, quads: l.Quads,
	}
	for i, d := range l.Dims[:last] {
		if d == 1 {
			continue
		}
		if k := len(p.dims) - 1; k >= 0 && p.reduced[k] == reduced[i] {
			p.dims[k] *= d
			continue
		}
		p.dims, p.reduced = append(p.dims, d), append(p.reduced, reduced[i])
	}
	s := sums{b: b, f: f, bytes: reducedCount(t.Shape, axes), out: out, final: elem(b.Graph.T(out).Type)}
	for i := 0; i < len(p.dims); i++ {
		if !p.reduced[i] {
			continue
		}
		isLast := !rows
		for _, r := range p.reduced[i+1:] {
			isLast = isLast && !r
		}
		s.column(&p, i, isLast)
	}
	if rows {
		s.row(&p, to)
	} else if p.elem != s.final || p.memory.Value != b.Tensor(out) {
		// Only dimensions of size 1 went: a column of one element.
		p.dims, p.reduced = append(p.dims, 1), append(p.reduced, true)
		s.column(&p, len(p.dims)-1, true)
	}
}

// sums appends the stages of one reduction.
type sums struct {
	b     *emit.Builder
	f     finish
	bytes int // elements that are summed for one of the output
	out   ir.ID
	final family.Elem
}

// column reduces dimension i of p.
func (s *sums) column(p *partial, i int, final bool) {
	n := p.dims[i]
	outer, inner := ir.Product(p.dims[:i]), ir.Product(p.dims[i+1:])*p.quads
	if seg := segment(n, outer*inner); seg < n {
		s.columnStage(p, outer, n, inner, seg, 0xffffffff, false)
		n = (n + seg - 1) / seg
	}
	s.columnStage(p, outer, n, inner, n, 0xffffffff, final)
	p.dims[i] = 1
}

// segment is the number of elements that one invocation sums up of n for each of `columns` quads: all of
// them where that is quick and exact enough, else about the square root.
func segment(n, columns int) int {
	const short, long = 256, 1024
	if n <= short || (n <= long && columns >= short) {
		return n
	}
	return max(64, int(math.Ceil(math.Sqrt(float64(n)))))
}

func (s *sums) columnStage(p *partial, outer, n, inner, seg int, lastMask uint32, final bool) {
	segments := (n + seg - 1) / seg
	count := outer * segments * inner
	push := emit.Ints(count).Divisors(inner, segments).Ints(n, seg).Words(lastMask).Ints(p.quads, p.row)
	s.dispatch(p, true, push, count, outer*n*inner, final)
}

// row reduces the rows of p to the output.
func (s *sums) row(p *partial, to pack.Layout) {
	rows := ir.Product(p.dims)
	if seg := segment(p.quads, rows); seg < p.quads {
		// The quads of a row as a column; four sums remain for each segment.
		n := p.quads
		segments := (n + seg - 1) / seg
		mask := lastBytes(p.row)
		p.row, p.quads = 4, 1
		s.columnStage(p, rows, n, 1, seg, mask, false)
		p.row, p.quads = 4*segments, segments
	}
	count := to.TotalQuads()
	push := emit.Ints(count).Divisors(to.Quads).Ints(to.C, p.quads).Words(lastBytes(p.row))
	s.dispatch(p, false, push, count, rows*p.quads, true)
}

// lastBytes masks the bytes of the last quad of a row that hold elements.
func lastBytes(row int) uint32 {
	if used := row % 4; used != 0 {
		return 1<<(8*used) - 1
	}
	return 0xffffffff
}

// dispatch appends a stage that reads p and makes p its result, of count quads.
func (s *sums) dispatch(p *partial, column bool, push emit.Push, count, quads int, final bool) {
	to := sumOf(p.elem)
	var dst emit.Binding
	if final {
		to = s.final
		dst = s.b.Out(s.out)
	} else {
		dst = s.b.Write(s.b.Temp(int64(count)*16), plan.FormatNone)
	}
	switch {
	case to != family.F32 && to != family.F16:
		push = push.Words(s.f.bytes(p.offset, s.bytes)...)
	case final:
		push = push.Words(s.f.floats()...)
	default:
		push = push.Floats(1, math.Inf(-1), math.Inf(1))
	}
	s.b.Quads(shaders.Of(family.Sum{Column: column, From: p.elem, To: to}), count, push, emit.Cost{FLOP: 4 * float64(quads)}, p.memory, dst)
	p.memory = s.b.Read(dst.Value, plan.FormatNone)
	p.elem = to
}

// divideMean divides outside of the axes.
func divideMean(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at, axes := outer(x.Shape), n.Attrs.(ops.Mean).Axes
	if hasRuntimeParam(n) || at < 0 || slices.Contains(axes, at) {
		return nil
	}
	to := at
	if len(y.Shape) != len(x.Shape) {
		for _, a := range axes {
			if a < at {
				to--
			}
		}
	}
	if to >= len(y.Shape) || y.Shape[to] != x.Shape[at] || ir.Product(y.Shape[:to]) != 1 {
		return nil
	}
	return alike(n.Attrs, cut{x, at}, cut{y, to})
}
