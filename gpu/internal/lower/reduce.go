package lower

import (
	"cmp"
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

// folds has for each operation how reduce/fold.comp combines elements. For booleans, 0 and 1, any is the largest and
// all the smallest.
var folds = map[nn.OperationType]family.FoldOp{
	nn.OpReduceMax:  family.FoldMax,
	nn.OpReduceMin:  family.FoldMin,
	nn.OpReduceProd: family.FoldProd,
	nn.OpReduceAny:  family.FoldMax,
	nn.OpReduceAll:  family.FoldMin,
	nn.OpArgmax:     family.FoldPlace,
	nn.OpArgmin:     family.FoldPlace,
}

func init() {
	for op := range folds {
		register(rule{check: checkFold, lower: lowerFold, divide: divideReduced}, op)
	}
	register(rule{check: checkSum, lower: lowerSum, divide: divideReduced}, nn.OpReduceSum)
}

// reducedAxes are the axes that node n reduces.
func reducedAxes(n *ir.Node) []int {
	if a, ok := n.Attrs.(ops.Arg); ok {
		return []int{a.Axis}
	}
	return n.Attrs.(ops.Mean).Axes
}

func reducedCount(shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= shape[a]
	}
	return n
}

// checkReduced reports axes that in does not have, or that do not reduce it to the elements of out.
func checkReduced(in, out *ir.Tensor, axes []int) error {
	last := -1
	for _, a := range axes {
		if a <= last || a >= len(in.Shape) {
			return fmt.Errorf("axes %v of a tensor of rank %d", axes, len(in.Shape))
		}
		last = a
	}
	if out.Elements()*reducedCount(in.Shape, axes) != in.Elements() {
		return fmt.Errorf("%v reduced over %v does not have shape %v", in.Shape, axes, out.Shape)
	}
	return nil
}

// checkStages reports an input of a reduction whose partial results the device cannot bind. Between stages an element
// takes 4 bytes, and the first stage at least halves their number; a key with its place takes 8, after a stage that
// leaves less than a twentieth of them.
func checkStages(f *plan.Facts, in *ir.Tensor) error {
	if need := int64(pack.LayoutOf(in).TotalQuads()) * 8; need > f.MaxStorageRange {
		return fmt.Errorf("partial results of %d bytes are more than the %d that the device binds", need, f.MaxStorageRange)
	}
	return nil
}

func checkSum(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if !isFloatTensor(in.Type) && in.Type != nn.TensorInt32 { // for integers it is a part of matrix products
		return fmt.Errorf("%v of %v", n.Op, in.Type)
	}
	return cmp.Or(checkSameType(in, out), checkReduced(in, out, reducedAxes(n)), checkStages(f, in), emit.CheckTensors(f, g, n))
}

func lowerSum(b *emit.Builder, n *ir.Node) {
	out := b.Graph.T(n.Out[0])
	average(b, n.Out[0], n.In[0], reducedAxes(n), finish{factor: 1, bounds: pack.Bounds(out, nn.ActNone)})
}

func checkFold(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	var ok bool
	switch n.Op {
	case nn.OpArgmax, nn.OpArgmin:
		ok = elem(in.Type) != "" && out.Type == nn.TensorInt32
	case nn.OpReduceAny, nn.OpReduceAll:
		ok = in.Type == nn.TensorBool8 && out.Type == in.Type
	case nn.OpReduceProd:
		ok = isFloatTensor(in.Type) && out.Type == in.Type
	default:
		ok = (isFloatTensor(in.Type) || in.Type.IsQuant8()) && out.Type == in.Type && in.SameQuant(out)
	}
	if !ok {
		return fmt.Errorf("%v of %v to %v", n.Op, in.Type, out.Type)
	}
	return cmp.Or(checkReduced(in, out, reducedAxes(n)), checkStages(f, in), emit.CheckTensors(f, g, n))
}

func lowerFold(b *emit.Builder, n *ir.Node) {
	op, t := folds[n.Op], b.Graph.T(n.In[0]).Type
	top, flip := math.MaxUint8, 0
	if t == nn.TensorBool8 {
		top = 1
	}
	if n.Op == nn.OpArgmin {
		flip = -1
	}
	reduceAxes(b, n.Out[0], n.In[0], reducedAxes(n), stages{
		between: func(from family.Elem) family.Elem {
			switch op {
			case family.FoldPlace:
				return family.Keyed
			case family.FoldProd:
				return family.F32
			}
			return from
		},
		kernel: func(w work, from, to family.Elem) reader {
			k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Fold) (float64, string) {
				if k.Op != op || k.Column != w.column || k.From != from || k.To != to {
					return 0, ""
				}
				return w.speed(b, k.Wide, k.Access), ""
			})
			texels := plan.FormatRGBA32F
			if op == family.FoldPlace { // it compares bits
				texels = plan.FormatRGBA32U
			}
			return reader{shaders.Of(k), k.Wide, k.Access, texels}
		},
		push: func(p *partial, _ family.Elem, _ bool) emit.Push {
			return emit.Ints(int(pack.SignOffset(t)), top, flip, number(p.across))
		},
	})
}

// partial is a tensor on its way through the stages of a reduction.
type partial struct {
	memory  emit.Binding
	elem    family.Elem
	dims    []int // without the innermost
	reduced []bool
	row     int  // elements of a row
	quads   int  // of a row
	across  bool // the next stage reduces rows whose elements lie in quads
}

// stages are the dispatches of a reduction, by element types before and after each.
type stages struct {
	between func(from family.Elem) family.Elem // the type of partial results
	kernel  func(w work, from, to family.Elem) reader
	// team chooses the invocations that sum rows of floats; nil: a single one.
	team func(from, to family.Elem, w *rowWork) family.Sum
	// push has the push constants behind those of the dimensions. p is the input of the stage.
	push func(p *partial, to family.Elem, final bool) emit.Push
}

// work is the work of a stage as far as the choice of its kernel depends on it.
type work struct {
	column bool
	x      emit.Value
	groups bool // x has rows of whole groups of 16 bytes
	count  int  // invocations, of a wide kernel
}

// speed scores a kernel for w.
func (w *work) speed(b *emit.Builder, wide bool, a family.Access) float64 {
	switch {
	case !wide:
		return b.MoveSpeed(a, w.x, plan.FormatRGBA32F)
	case !w.groups:
		return 0
	}
	return b.WideSpeed(w.count, a, w.x)
}

// reader is a kernel, and how it reads x.
type reader struct {
	kernel shaders.Kernel
	wide   bool
	access family.Access
	texels plan.Format // of quads
}

// bind is x as the kernel reads it.
func (r *reader) bind(x emit.Binding) emit.Binding {
	if r.wide {
		return emit.ReadBy(r.access, x, plan.FormatRGBA32U)
	}
	return emit.ReadBy(r.access, x, r.texels)
}

// reduceAxes reduces the axes of in to out: first the outer dimensions, one group of neighbours after the other, then
// the innermost. Long ones are split into two stages, which keeps loops short, gives enough invocations and rounds
// less.
func reduceAxes(b *emit.Builder, out, in ir.ID, axes []int, by stages) {
	t := b.Graph.T(in)
	l, to := b.Layout(in), b.Layout(out)
	reduced := make([]bool, len(l.Dims))
	for _, a := range axes {
		reduced[a] = true
	}
	last := len(l.Dims) - 1
	// One element per row, and one in the output: nothing to do along the rows.
	rows := reduced[last] && !(l.C == 1 && to.C == 1)
	p := partial{
		memory: b.In(in), elem: comparedAs(t.Type), row: l.C, quads: l.Quads,
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
	s := reduction{stages: by, b: b, out: out, final: comparedAs(b.Graph.T(out).Type)}
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
		// Only dimensions of size 1 are dropped: a column of one element.
		p.dims, p.reduced = append(p.dims, 1), append(p.reduced, true)
		s.column(&p, len(p.dims)-1, true)
	}
}

// reduction appends the stages of one reduction.
type reduction struct {
	stages
	b     *emit.Builder
	out   ir.ID
	final family.Elem
}

// column reduces dimension i of p.
func (s *reduction) column(p *partial, i int, final bool) {
	n := p.dims[i]
	outer, inner := ir.Product(p.dims[:i]), ir.Product(p.dims[i+1:])*p.quads
	if seg := segment(n, outer*inner); seg < n {
		s.columnStage(p, outer, n, inner, seg, 0xffffffff, false)
		n = (n + seg - 1) / seg
	}
	s.columnStage(p, outer, n, inner, n, 0xffffffff, final)
	p.dims[i] = 1
}

// segment is the number of elements, out of n, that one invocation reduces for each of `columns` quads: all of them if
// that is fast and exact enough, else about the square root.
func segment(n, columns int) int {
	const short, long = 256, 1024
	if n <= short || (n <= long && columns >= short) {
		return n
	}
	return max(64, int(math.Ceil(math.Sqrt(float64(n)))))
}

func (s *reduction) columnStage(p *partial, outer, n, inner, seg int, lastMask uint32, final bool) {
	segments := (n + seg - 1) / seg
	count, quads := outer*segments*inner, outer*n*inner
	w := work{column: true, x: p.memory.Value, groups: p.quads%4 == 0, count: count / 4}
	s.dispatch(p, &w, count, quads, final, func(r *reader) (int, emit.Push) {
		count, inner := count, inner
		if r.wide {
			count, inner = count/4, inner/4
		}
		return count, emit.Ints(count).Divisors(inner, segments).Ints(n, seg).Words(lastMask).Ints(p.quads, p.row)
	})
}

// row reduces the rows of p to the output.
func (s *reduction) row(p *partial, to pack.Layout) {
	rows := ir.Product(p.dims)
	if s.team != nil && (p.elem == family.F32 || p.elem == family.F16) {
		t := &rowWork{teams: to.TotalQuads(), rows: min(to.C, 4), quads: p.quads}
		if k := s.team(p.elem, s.final, t); k.Team != family.Alone {
			push := emit.Ints(t.teams).Divisors(to.Quads).Ints(to.C, p.quads).Words(s.push(p, s.final, true)...)
			t.dispatch(s.b, shaders.Of(k), k.Team, push, emit.Cost{FLOP: 4 * float64(rows*p.quads)}, p.memory, s.b.Out(s.out))
			return
		}
	}
	p.across = true
	if seg := segment(p.quads, rows); seg < p.quads {
		// The quads of a row as a column; four elements remain for each segment.
		n := p.quads
		segments := (n + seg - 1) / seg
		mask := lastBytes(p.row)
		p.row, p.quads = 4, 1
		s.columnStage(p, rows, n, 1, seg, mask, false)
		p.row, p.quads = 4*segments, segments
	}
	count := to.TotalQuads()
	w := work{x: p.memory.Value, groups: p.quads%4 == 0, count: count}
	s.dispatch(p, &w, count, rows*p.quads, true, func(*reader) (int, emit.Push) {
		return count, emit.Ints(count).Divisors(to.Quads).Ints(to.C, p.quads).Words(lastBytes(p.row))
	})
}

// lastBytes masks the bytes of the last quad of a row that hold elements.
func lastBytes(row int) uint32 {
	if used := row % 4; used != 0 {
		return 1<<(8*used) - 1
	}
	return 0xffffffff
}

// dispatch appends a stage that does w and makes p its result, of count quads. place gives its invocations and the push
// constants of its dimensions.
func (s *reduction) dispatch(p *partial, w *work, count, quads int, final bool, place func(r *reader) (int, emit.Push)) {
	to := s.between(p.elem)
	var dst emit.Binding
	if final {
		to = s.final
		dst = s.b.Out(s.out)
	} else {
		bytes := int64(16)
		if to == family.Keyed {
			bytes = 32
		}
		dst = s.b.Write(s.b.Temp(int64(count)*bytes), plan.FormatNone)
	}
	r := s.kernel(*w, p.elem, to)
	invocations, push := place(&r)
	push = push.Words(s.push(p, to, final)...)
	s.b.Quads(r.kernel, invocations, push, emit.Cost{FLOP: 4 * float64(quads)}, r.bind(p.memory), dst)
	p.memory = s.b.Read(dst.Value, plan.FormatNone)
	p.elem, p.across = to, false
}

// divideReduced divides outside of the axes.
func divideReduced(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at, axes := outer(x.Shape), reducedAxes(n)
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
