package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// relations between two elements: the set for which a comparison is true, the push constant `when` of compare.comp.
type relations uint32

const (
	relLess relations = 1 << iota
	relEqual
	relGreater
	relUnordered // one is NaN
)

// swapped are the relations of b to a.
func (r relations) swapped() relations {
	return r&(relEqual|relUnordered) | r&relLess<<2 | r&relGreater>>2
}

var comparisons = map[nn.OperationType]relations{
	nn.OpEqual:        relEqual,
	nn.OpNotEqual:     relLess | relGreater | relUnordered,
	nn.OpLess:         relLess,
	nn.OpLessEqual:    relLess | relEqual,
	nn.OpGreater:      relGreater,
	nn.OpGreaterEqual: relGreater | relEqual,
	// Between x and what mirrored makes of y.
	nn.OpLogicalAnd: relEqual,
	nn.OpLogicalOr:  relLess | relGreater,
	nn.OpLogicalNot: relEqual,
}

// mirrored has for the logical operations on booleans 0 and 1 what becomes of their second operand y: zero - y. So x
// AND y is x = 2 - y, x OR y is that x and -y differ, and NOT x is x = -x. All three stay true when x and y change
// places.
var mirrored = map[nn.OperationType]uint32{nn.OpLogicalAnd: 2, nn.OpLogicalOr: 0, nn.OpLogicalNot: 0}

func init() {
	for op := range comparisons {
		divide := divideBinary
		if op == nn.OpLogicalNot {
			divide = divideElementwise
		}
		register(rule{check: checkComparison, lower: lowerComparison, divide: divide}, op)
	}
}

// compared are the operands of n; a single operand is compared with itself.
func compared(n *ir.Node) (x, y ir.ID) { return n.In[0], n.In[len(n.In)-1] }

// comparedAs is the element type with which the kernel compares tensors of t; "" where it does not.
func comparedAs(t nn.OperandType) family.Elem {
	if t == nn.TensorBool8 {
		return family.Q8
	}
	return elem(t)
}

func checkComparison(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := compared(n)
	a, b, z := g.T(x), g.T(y), g.T(n.Out[0])
	if _, logical := mirrored[n.Op]; a.Type != b.Type || z.Type != nn.TensorBool8 || logical && a.Type != nn.TensorBool8 {
		return fmt.Errorf("inputs %v and %v, output %v", a.Type, b.Type, z.Type)
	}
	if comparedAs(a.Type) == "" {
		return fmt.Errorf("no kernel for %v", a.Type)
	}
	if err := checkScales(a, b); err != nil {
		return err
	}
	if _, err := broadcast(a, b, z); err != nil {
		return err
	}
	return emit.CheckTensors(f, g, n)
}

func lowerComparison(b *emit.Builder, n *ir.Node) {
	x, y := compared(n)
	when := comparisons[n.Op]
	g := broadcastNode(b.Graph, x, y, n.Out[0])
	if g.swapped().row() {
		g, x, y, when = g.swapped(), y, x, when.swapped()
	}
	operands, flags, strides := g.operands()
	elem, quads := comparedAs(b.Graph.T(x).Type), b.Layout(n.Out[0]).TotalQuads()
	push := emit.Ints(quads, int(when)).Words(flags)
	if elem == family.Q8 {
		push = push.Words(comparedBytes(n.Op, b.Graph.T(x), b.Graph.T(y))...)
	}
	b.Quads(shaders.Of(family.Compare{Elem: elem, Operands: operands}), quads, push.Words(strides...),
		emit.Cost{FLOP: float64(4 * quads)}, b.In(x), b.In(y), b.Out(n.Out[0]))
}

// comparedBytes are the push constants of compare.comp from off to the scales: for booleans, where anything but 0 is
// true, or for numbers. The larger scale is brought between 1/2 and 1. The smaller one may then be taken as at least
// 2^-100: below that only the sign counts.
func comparedBytes(op nn.OperationType, x, y *ir.Tensor) []uint32 {
	if zero, logical := mirrored[op]; logical {
		return []uint32{0, 1, 0, zero, emit.F32(1), emit.F32(-1)}
	}
	if x.Type == nn.TensorBool8 {
		return []uint32{0, 1, 0, 0, emit.F32(1), emit.F32(1)}
	}
	_, exponent := math.Frexp(float64(max(x.Scale, y.Scale)))
	scale := func(t *ir.Tensor) uint32 { return emit.F32(max(math.Ldexp(float64(t.Scale), -exponent), 0x1p-100)) }
	return []uint32{pack.SignOffset(x.Type), 255, uint32(x.Zero), uint32(y.Zero), scale(x), scale(y)}
}
