package validate

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// symbols stand for dimensions, known and open ones: each is a number. Equal dimensions have the same root, which has
// the size if that is known.
type symbols struct {
	parent []int
	size   []uint32 // of roots; 0: open
}

func (s *symbols) add(size uint32) int {
	s.parent, s.size = append(s.parent, len(s.parent)), append(s.size, size)
	return len(s.parent) - 1
}

func (s *symbols) root(x int) int {
	for s.parent[x] != x {
		s.parent[x] = s.parent[s.parent[x]]
		x = s.parent[x]
	}
	return x
}

func (s *symbols) known(x int) uint32 { return s.size[s.root(x)] }

// unify makes x and y the same dimension.
func (s *symbols) unify(x, y int) error {
	x, y = s.root(x), s.root(y)
	if a, b := s.size[x], s.size[y]; a != 0 && b != 0 && a != b {
		return fmt.Errorf("%d and %d are to be the same", a, b)
	} else if b == 0 {
		s.size[y] = a
	}
	s.parent[x] = y
	return nil
}

// symbolic is what is known of an operand's dimensions: the ranks that it may have and, if there is only one, a symbol
// for each dimension.
type symbolic struct {
	min, max int
	dims     []int
}

// relations are what is known of the dimensions of a graph before those of its inputs are.
type relations struct {
	symbols
	operands []symbolic
}

// checkOpen refuses a graph whose dimensions contradict each other for any sizes of its inputs, as far as rows tell
// (ops.Relations). Precondition: checkOperations passed.
func (g *graph) checkOpen() error {
	r := &relations{operands: make([]symbolic, len(g.Operands))}
	for i := range g.Operands {
		o := &g.Operands[i]
		r.operands[i] = symbolic{min: 1, max: 1 << 30}
		if len(o.Dims) > 0 {
			r.operands[i] = symbolic{min: len(o.Dims), max: len(o.Dims)}
			for _, n := range o.Dims {
				r.operands[i].dims = append(r.operands[i].dims, r.add(n))
			}
		}
	}
	for i := range g.Operations {
		op := &g.Operations[i]
		row := ops.Lookup(op.Type)
		if row == nil {
			continue
		}
		call := g.call(g.Graph, op)
		if err := r.apply(op, row.Relations(call)); err != nil {
			return nn.Invalid(g.operation(i), "whatever the inputs' dimensions: %w", err)
		}
	}
	return nil
}

func (r *relations) apply(op *nn.Operation, rel *ops.Relations) error {
	for _, x := range rel.Ranks {
		if err := r.narrow(x.Operand, x.Ranks.Min, x.Ranks.Max); err != nil {
			return err
		}
	}
	for _, p := range rel.Shapes {
		if err := r.sameShape(p[0], p[1]); err != nil {
			return err
		}
	}
	for _, p := range rel.Sizes {
		x, y := r.operands[p[0].Operand].dims, r.operands[p[1].Operand].dims
		if p[0].Dim >= len(x) || p[1].Dim >= len(y) {
			continue // nobody can tell yet
		}
		if err := r.unify(x[p[0].Dim], y[p[1].Dim]); err != nil {
			return fmt.Errorf("dimension %d of operand %d, %d of operand %d: %w", p[0].Dim, p[0].Operand, p[1].Dim, p[1].Operand, err)
		}
	}
	if rel.Broadcast {
		return r.broadcast(op.Inputs[0], op.Inputs[1], op.Outputs[0])
	}
	return nil
}

// narrow keeps the ranks of an operand within least and most.
func (r *relations) narrow(i uint32, least, most int) error {
	o := &r.operands[i]
	o.min, o.max = max(o.min, least), min(o.max, most)
	if o.min > o.max {
		return fmt.Errorf("operand %d can have no rank: %d is the least and %d the most", i, o.min, o.max)
	}
	if o.min == o.max && o.dims == nil {
		for range o.min {
			o.dims = append(o.dims, r.add(0))
		}
	}
	return nil
}

// sameShape gives x and y the same dimensions.
func (r *relations) sameShape(i, k uint32) error {
	if err := r.narrow(k, r.operands[i].min, r.operands[i].max); err != nil {
		return err
	}
	if err := r.narrow(i, r.operands[k].min, r.operands[k].max); err != nil {
		return err
	}
	for d, x := range r.operands[i].dims {
		if err := r.unify(x, r.operands[k].dims[d]); err != nil {
			return fmt.Errorf("dimension %d of operands %d and %d: %w", d, i, k, err)
		}
	}
	return nil
}

// broadcast gives y the dimensions of a and b, aligned at their last ones. Nothing can be said yet about a dimension
// that depends on whether an open one is 1.
func (r *relations) broadcast(a, b, y uint32) error {
	if m := max(r.operands[a].min, r.operands[b].min); r.operands[y].max < m {
		return fmt.Errorf("operand %d has rank %d at most; that of an input is %d", y, r.operands[y].max, m)
	}
	x, z := r.operands[a].dims, r.operands[b].dims
	if x == nil || z == nil {
		return nil
	}
	if len(x) < len(z) {
		x, z = z, x
	}
	if err := r.narrow(y, len(x), len(x)); err != nil {
		return err
	}
	out := r.operands[y].dims
	for d, wide := range x {
		if k := d - (len(x) - len(z)); k >= 0 {
			m, n := r.known(wide), r.known(z[k])
			switch {
			case m > 1 && n > 1 && m != n:
				return fmt.Errorf("sizes %d and %d cannot be broadcast", m, n)
			case r.root(wide) == r.root(z[k]), m > 1, n == 1:
			case n > 1, m == 1:
				wide = z[k]
			default:
				continue
			}
		}
		if err := r.unify(wide, out[d]); err != nil {
			return fmt.Errorf("dimension %d of the result: %w", d, err)
		}
	}
	return nil
}
