package lower

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkTranspose, lower: lowerTranspose, divide: divideTranspose}, nn.OpTranspose)
}

func checkTranspose(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if hasRuntimeParam(n) {
		return checkTransposeRuntime(f, g, n)
	}
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	perm := n.Attrs.(ops.Transpose).Perm
	if len(perm) != len(in.Shape) || len(out.Shape) != len(in.Shape) {
		return fmt.Errorf("a permutation of %d dimensions for a tensor of rank %d", len(perm), len(in.Shape))
	}
	seen := make([]bool, len(perm))
	for i, p := range perm {
		if p < 0 || p >= len(perm) || seen[p] || out.Shape[i] != in.Shape[p] {
			return fmt.Errorf("%v is no permutation of %v to %v", perm, in.Shape, out.Shape)
		}
		seen[p] = true
	}
	if m := newMoves(in.Shape, perm); m.dims() > emit.MaxStrided {
		return fmt.Errorf("a transposition of %d dimensions", m.dims())
	}
	return checkMoved(f, g, firstInputOnly(n))
}

// moves is a transposition in its shortest form: dimensions of size 1 dropped, and neighbours that stay together
// joined. The innermost dimension of input and output is kept apart, whatever its size, because its rows are padded.
type moves struct {
	shape []int // of the input
	perm  []int
}

func newMoves(shape, perm []int) moves {
	last := len(shape) - 1
	// Groups of output positions that become one dimension each.
	var groups [][]int
	for i, p := range perm {
		if shape[p] == 1 && p != last && i != last {
			continue
		}
		k := len(groups) - 1
		if k >= 0 && i != last && p != last {
			g := groups[k]
			prev := g[len(g)-1]
			if adjacent(shape, prev, p) && prev != last {
				groups[k] = append(g, p)
				continue
			}
		}
		groups = append(groups, []int{p})
	}
	// Renumber in the order of the input.
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return groups[a][0] - groups[b][0] })
	m := moves{shape: make([]int, len(groups)), perm: make([]int, len(groups))}
	for in, g := range order {
		size := 1
		for _, p := range groups[g] {
			size *= shape[p]
		}
		m.shape[in] = size
		m.perm[g] = in
	}
	return m
}

// adjacent reports whether only dimensions of size 1 lie between p and q in the input; p is before q.
func adjacent(shape []int, p, q int) bool {
	if q <= p {
		return false
	}
	for _, d := range shape[p+1 : q] {
		if d != 1 {
			return false
		}
	}
	return true
}

func (m moves) dims() int { return len(m.shape) }

// identity reports whether the order of the elements stays.
func (m moves) identity() bool {
	var big []int
	for _, p := range m.perm {
		if m.shape[p] > 1 {
			big = append(big, p)
		}
	}
	return slices.IsSorted(big)
}

func lowerTranspose(b *emit.Builder, n *ir.Node) {
	if hasRuntimeParam(n) {
		lowerTransposeRuntime(b, n)
		return
	}
	transpose(b, n.Out[0], n.In[0], n.Attrs.(ops.Transpose).Perm)
}

func transpose(b *emit.Builder, out, in ir.ID, perm []int) {
	m := newMoves(b.Graph.T(in).Shape, perm)
	if m.identity() {
		reshapeTensor(b, out, in)
		return
	}
	last := m.dims() - 1
	elem := b.Layout(in).Elem
	from := rowStrides(m.shape)
	outShape := make([]int, m.dims())
	for i, p := range m.perm {
		outShape[i] = m.shape[p]
	}
	to := rowStrides(outShape)
	if m.perm[last] == last {
		s := emit.Strided{Dims: outShape, From: make([]int, m.dims()), To: to, Elem: elem}
		s.Dims[last] = (outShape[last] + 3) / 4
		for i, p := range m.perm {
			s.From[i] = from[p]
		}
		b.CopyQuads(b.Out(out), b.In(in), s)
		return
	}
	a, bDim := outShape[last], m.shape[last]
	var dims, xs, ys []int
	var bStride int
	for i, p := range m.perm[:last] {
		if p == last {
			bStride = to[i]
			continue
		}
		dims, xs, ys = append(dims, outShape[i]), append(xs, from[p]), append(ys, to[i])
	}
	others := ir.Product(dims)
	if elem == 1 && a%16 == 0 && bDim%16 == 0 {
		aGroups, bGroups := a/16, bDim/16
		run := transposeRun(b.Facts, aGroups*bGroups*others, 1)
		aRuns := (aGroups + run - 1) / run
		count := aRuns * bGroups * others
		k, ok := emit.Choose(b, emit.QuadLocal, func(k family.TransposeWide) (float64, string) {
			if b.Facts.SubgroupSize < 8 { // it loads word by word, and 16 of these overflow the instruction cache
				return 0, ""
			}
			return b.WideSpeed(count, k.Access, b.Tensor(in)), ""
		})
		if ok {
			push := emit.Ints(count, run, aGroups).Divisors(aRuns, bGroups).Divisors(emit.Outermost(dims, 4, 1)[1:]...)
			push = push.Ints(from[m.perm[last]] / 4).Ints(emit.Outermost(quarters(xs), 4, 0)...)
			push = push.Ints(bStride / 4).Ints(emit.Outermost(quarters(ys), 4, 0)...)
			x := emit.ReadBy(k.Access, b.In(in), plan.FormatRGBA32U)
			b.Quads(shaders.Of(k), count, push, emit.Cost{}, x, b.Out(out))
			return
		}
	}
	aQuads, bQuads := (a+3)/4, (bDim+3)/4
	run := transposeRun(b.Facts, aQuads*bQuads*others, 4)
	aRuns := (aQuads + run - 1) / run
	count := aRuns * bQuads * others
	push := emit.Ints(count, run, a, bDim, aQuads).Divisors(aRuns, bQuads).Divisors(emit.Outermost(dims, 4, 1)[1:]...)
	push = push.Ints(from[m.perm[last]]).Ints(emit.Outermost(xs, 4, 0)...).Ints(bStride).Ints(emit.Outermost(ys, 4, 0)...)
	format := map[int]plan.Format{1: plan.FormatR32U, 2: plan.FormatRG32U, 4: plan.FormatRGBA32U}[elem]
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Move) (float64, string) {
		// Texels of less than four words are slower than words where subgroups are narrow.
		if k.Op != family.Transpose || k.Bytes != elem || k.Access != family.Buffers && elem < 4 && b.Facts.SubgroupSize < 8 {
			return 0, ""
		}
		return b.MoveSpeed(k.Access, b.Tensor(in), format), ""
	})
	b.Quads(shaders.Of(k), count, push, emit.Cost{}, emit.ReadBy(k.Access, b.In(in), format), b.Out(out))
}

// transposeRun is how many blocks that follow each other in rows of the output an invocation moves, at least least: on
// processors as many as leave enough invocations for all cores.
func transposeRun(f *plan.Facts, blocks, least int) int {
	const most, enough = 64, 1024
	if f.Class != plan.ClassCPU {
		return least
	}
	return min(max(blocks/enough, least), most)
}

// quarters are distances in groups of four quads.
func quarters(quads []int) []int {
	groups := make([]int, len(quads))
	for i, q := range quads {
		groups[i] = q / 4
	}
	return groups
}

// rowStrides returns for each dimension of a tensor the distance in quads between neighbours along it; for the
// innermost it is 1, between quads.
func rowStrides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		if i == len(shape)-1 {
			n = (shape[i] + 3) / 4
		} else {
			n *= shape[i]
		}
	}
	return s
}

// divideTranspose divides along an outermost dimension that stays where it is.
func divideTranspose(g *ir.Graph, n *ir.Node) []division {
	if hasRuntimeParam(n) {
		return nil
	}
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at := outer(y.Shape)
	perm := n.Attrs.(ops.Transpose).Perm
	if at < 0 || outer(x.Shape) != perm[at] {
		return nil
	}
	return alike(n.Attrs, cut{x, perm[at]}, cut{y, at})
}
