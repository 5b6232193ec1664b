package compile

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/pack"
)

// fuseElementwise makes one node of elementwise nodes that read each other's results, where a dispatch for each costs
// more than the work (lower.Programmable), and there are enough of them (lower.ProgramsPay). It takes the place of the
// last of them.
//
// Ensures: lower.Check has nothing against the new node.   Numerics: those of the operations; float16 is rounded only
// at the end.
func (u *unit) fuseElementwise() error {
	g := u.graph
	f := &fusion{unit: u, producers: g.Producers(), readers: make([][]int, len(g.Tensors)), of: make([]*ensemble, len(g.Nodes))}
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].In {
			if id != ir.None {
				f.readers[id] = append(f.readers[id], i)
			}
		}
	}
	for i := range g.Nodes {
		f.join(i)
	}
	if lower.ProgramsPay(u.facts, f.saved()) {
		f.replace()
	}
	return nil
}

// fusion is fuseElementwise at work.
type fusion struct {
	*unit
	producers []int       // by tensor, the node that writes it; -1: none
	readers   [][]int     // by tensor, nodes
	of        []*ensemble // by node, the ensemble that it is a part of; nil: none
}

// ensemble is a set of nodes that a single node can replace.
type ensemble struct {
	nodes []int   // in running order
	node  ir.Node // that replaces them
}

// join puts node i into an ensemble with as many as it can of the nodes whose results it reads.
func (f *fusion) join(i int) {
	n := &f.graph.Nodes[i]
	if !lower.Programmable(f.facts, f.graph, n) {
		return
	}
	all := f.ensemble([]int{i})
	if all == nil {
		return
	}
	for _, id := range n.In {
		p := f.producers[id]
		if p < 0 || f.of[p] == nil || slices.Contains(all.nodes, p) {
			continue
		}
		nodes := slices.Concat(all.nodes, f.of[p].nodes)
		slices.Sort(nodes)
		if more := f.ensemble(nodes); more != nil {
			all = more
		}
	}
	for _, k := range all.nodes {
		f.of[k] = all
	}
}

// ensemble is the one of nodes, in running order; nil where no single node can replace them, in the place of the last.
func (f *fusion) ensemble(nodes []int) *ensemble {
	g, last := f.graph, nodes[len(nodes)-1]
	shape := g.T(g.Nodes[last].Out[0]).Shape
	w := writing{graph: g, at: map[ir.ID]int{}, inputs: map[ir.ID]int{}, numbers: map[ir.ID]int{}}
	for _, i := range nodes {
		if n := &g.Nodes[i]; !slices.Equal(g.T(n.Out[0]).Shape, shape) {
			return nil
		}
	}
	for _, i := range nodes {
		w.read(&g.Nodes[i], func(id ir.ID) bool { p := f.producers[id]; return p >= 0 && slices.Contains(nodes, p) })
	}
	n := ir.Node{Op: ops.Elementwise, Source: g.Nodes[last].Source, In: w.in}
	var results []int
	for _, i := range nodes {
		m := &g.Nodes[i]
		w.step(m)
		n.Fuse(m)
		id := m.Out[0]
		outside := slices.Contains(g.Outputs, id)
		for _, r := range f.readers[id] {
			if slices.Contains(nodes, r) {
				continue
			}
			if r < last {
				return nil // it would read what is computed later
			}
			outside = true
		}
		if outside || i == last {
			n.Out, results = append(n.Out, id), append(results, w.at[id])
		}
	}
	n.Attrs = ops.Program{Numbers: w.values, Steps: w.steps, Results: results}
	if lower.Check(f.facts, g, &n) != nil {
		return nil
	}
	return &ensemble{nodes, n}
}

// saved is how many nodes fewer there would be after replace.
func (f *fusion) saved() (n int) {
	for i, e := range f.of {
		if e != nil && i != e.nodes[len(e.nodes)-1] {
			n++
		}
	}
	return n
}

// replace puts the node of each ensemble of several in the place of its last.
func (f *fusion) replace() {
	var nodes []ir.Node
	for i, n := range f.graph.Nodes {
		e := f.of[i]
		switch {
		case e == nil || len(e.nodes) == 1:
			nodes = append(nodes, n)
		case i == e.nodes[len(e.nodes)-1]:
			nodes = append(nodes, e.node)
		}
	}
	f.graph.Nodes = nodes
}

// writing is a program while it is written.
type writing struct {
	graph   *ir.Graph
	in      []ir.ID
	values  []float32
	inputs  map[ir.ID]int // place among in
	numbers map[ir.ID]int // place among values
	steps   []ops.ProgramStep
	at      map[ir.ID]int // value that a step gives
}

// read adds what n reads to the operands and numbers of the program, unless made says that its steps give it.
func (w *writing) read(n *ir.Node, made func(ir.ID) bool) {
	for _, id := range n.In {
		_, operand := w.inputs[id]
		_, number := w.numbers[id]
		if operand || number || made(id) {
			continue
		}
		if v, ok := w.number(id); ok {
			if w.numbers[id] = slices.Index(w.values, v); w.numbers[id] < 0 {
				w.numbers[id] = len(w.values)
				w.values = append(w.values, v)
			}
			continue
		}
		w.inputs[id] = len(w.in)
		w.in = append(w.in, id)
	}
}

// number is the value of a constant of one element.
func (w *writing) number(id ir.ID) (v float32, ok bool) {
	t := w.graph.T(id)
	if t.Const == nil || t.Elements() != 1 {
		return 0, false
	}
	v = pack.Floats(t)[0]
	return v, !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
}

// step adds the steps of n. Precondition: all operands and numbers of the program are known.
func (w *writing) step(n *ir.Node) {
	value := func(id ir.ID) int {
		if at, ok := w.at[id]; ok {
			return at
		}
		if at, ok := w.inputs[id]; ok {
			return at
		}
		return len(w.in) + w.numbers[id]
	}
	give := func(s ops.ProgramStep) int {
		w.steps = append(w.steps, s)
		return len(w.in) + len(w.values) + len(w.steps) - 1
	}
	s := ops.ProgramStep{Op: n.Op, A: value(n.In[0])}
	if len(n.In) > 1 {
		s.B = value(n.In[1])
	}
	at := give(s)
	if a, ok := n.Attrs.(ops.Activated); ok && a.Activation() != nn.ActNone {
		at = give(ops.ProgramStep{Op: clampOf(a.Activation()), A: at})
	}
	w.at[n.Out[0]] = at
}

// clampOf is the operation that does what a fused activation does.
func clampOf(act nn.Activation) nn.OperationType {
	for op, a := range lower.Relus {
		if a == act {
			return op
		}
	}
	return nn.OpRelu
}
