package lower

import (
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

// Constants of shaders/reduce/topk.comp.
const (
	topKBlock    = 64 // elements that are sorted at once
	topKTogether = 4  // runs that are merged at once
	topKPair     = 8  // bytes of a key with its index
)

// topKScratch is the memory that the runs of a step should not exceed: if there are more rows, one part is sorted after
// the other.
const topKScratch = 64 << 20

func init() {
	register(rule{check: checkTopK, lower: lowerTopK, divide: divideRows}, nn.OpTopkV2)
}

// topKRuns is the result of one step for a row: sorted runs.
type topKRuns struct {
	count int
	span  int // elements that each run covers; fewer for the last
	room  int // the number of these that it keeps
}

func (r topKRuns) bytes() int64 { return int64(r.count) * int64(r.room) * topKPair }

// topKPasses are the runs after each step, for rows of n elements of which k are wanted. The last is one run of k.
func topKPasses(n, k int) []topKRuns {
	var list []topKRuns
	for span := topKBlock; ; span *= topKTogether {
		count := (n + span - 1) / span
		list = append(list, topKRuns{count, span, min(k, span)})
		if count == 1 {
			return list
		}
	}
}

// topKRowBytes is the most that the runs of a row take after a step.
func topKRowBytes(n, k int) int64 {
	var most int64
	for _, r := range topKPasses(n, k) {
		most = max(most, r.bytes())
	}
	return most
}

func checkTopK(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, values, indices := g.T(n.In[0]), g.T(n.Out[0]), g.T(n.Out[1])
	if values.Type != x.Type || !values.SameQuant(x) || indices.Type != nn.TensorInt32 {
		return fmt.Errorf("%v and %v of %v", values.Type, indices.Type, x.Type)
	}
	if elem(x.Type) == "" {
		return fmt.Errorf("no kernel for %v", x.Type)
	}
	k, l := n.Attrs.(ops.TopK).K, pack.LayoutOf(x)
	if k < 1 || k > l.C {
		return fmt.Errorf("the %d largest of %d", k, l.C)
	}
	for _, t := range []*ir.Tensor{values, indices} {
		if to := pack.LayoutOf(t); to.Rows != l.Rows || to.C != k {
			return fmt.Errorf("the %d largest of %v in a tensor of shape %v", k, x.Shape, t.Shape)
		}
	}
	if size := topKRowBytes(l.C, k); size > f.MaxStorageRange {
		return fmt.Errorf("a row needs %d bytes to be sorted, more than the device binds", size)
	}
	return emit.CheckTensors(f, g, n)
}

func lowerTopK(b *emit.Builder, n *ir.Node) {
	l, k := b.Layout(n.In[0]), n.Attrs.(ops.TopK).K
	part := int(max(1, min(int64(l.Rows), min(b.Facts.MaxStorageRange, topKScratch)/topKRowBytes(l.C, k))))
	for first := 0; first < l.Rows; first += part {
		topKRows(b, n, first, min(part, l.Rows-first))
	}
}

// topKRows does some of the rows.
func topKRows(b *emit.Builder, n *ir.Node, first, rows int) {
	x, l, k := b.Graph.T(n.In[0]), b.Layout(n.In[0]), n.Attrs.(ops.TopK).K
	pairs := sortRows(b, sorted{of: b.In(n.In[0]), elem: elem(x.Type), sign: int(pack.SignOffset(x.Type)), first: first, rows: rows, c: l.C, k: k})
	to := b.Layout(n.Out[0])
	count := rows * to.Quads
	push := emit.Ints(count).Divisors(to.Quads).Ints(k, l.C, l.Quads, first)
	b.Quads(shaders.Of(family.TopKTake{Bytes: l.Elem}), count, push, emit.Cost{},
		b.In(n.In[0]), b.Read(pairs, plan.FormatNone), b.Out(n.Out[0]), b.Out(n.Out[1]))
}

// sorted is the input of sortRows: from row first on, rows of c elements, of which the k largest of each are wanted.
type sorted struct {
	of                emit.Binding
	elem              family.Elem
	sign              int // of signed 8-bit elements, see pack.SignOffset
	first, rows, c, k int
}

// sortRows appends the steps that find the largest elements of each row: one run of k pairs of a key and an index.
func sortRows(b *emit.Builder, s sorted) emit.Value {
	passes := topKPasses(s.c, s.k)
	runs, quads := passes[0], (s.c+3)/4
	pairs := b.Temp(int64(s.rows) * runs.bytes())
	count := s.rows * quads
	push := emit.Ints(count).Divisors(quads).Ints(s.first*quads, s.c, runs.count, runs.room, s.sign)
	b.Quads(shaders.Of(family.TopKSort{Elem: s.elem}), count, push, emit.Cost{FLOP: float64(count) * 4 * topKBlock},
		s.of, b.Write(pairs, plan.FormatNone))
	for _, next := range passes[1:] {
		merged := b.Temp(int64(s.rows) * next.bytes())
		count := s.rows * runs.count * runs.room
		push := emit.Ints(count).Divisors(runs.room, runs.count).Ints(s.c, runs.span, next.count, next.room)
		b.Quads(shaders.TopkMerge, count, push, emit.Cost{},
			b.Read(pairs, plan.FormatNone), b.Write(merged, plan.FormatNone))
		pairs, runs = merged, next
	}
	return pairs
}
