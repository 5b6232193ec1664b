package lower

import (
	"cmp"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// unaryOp describes y = f(x) of one tensor.
type unaryOp struct {
	op family.UnaryOp
	// f is the function on real values; 8-bit tensors take it from a table.
	f func(a ops.Attrs, x float64) float64
	// params are the kernel's constants a and b.
	params func(a ops.Attrs) [2]float64
}

func plain(f func(float64) float64) func(ops.Attrs, float64) float64 {
	return func(_ ops.Attrs, x float64) float64 { return f(x) }
}

// Relus are the operations that only clamp, with the fused activation that does the same.
var Relus = map[nn.OperationType]nn.Activation{nn.OpRelu: nn.ActRelu, nn.OpRelu1: nn.ActRelu1, nn.OpRelu6: nn.ActRelu6}

// clamped is a function of the RELU family.
func clamped(act nn.Activation) unaryOp {
	lo, hi := pack.FloatRange(act)
	return unaryOp{
		op:     family.Clamp,
		f:      plain(func(x float64) float64 { return min(max(x, lo), hi) }),
		params: func(ops.Attrs) [2]float64 { return [2]float64{lo, hi} },
	}
}

var unaries = map[nn.OperationType]unaryOp{
	nn.OpRelu:  clamped(nn.ActRelu),
	nn.OpRelu1: clamped(nn.ActRelu1),
	nn.OpRelu6: clamped(nn.ActRelu6),
	nn.OpElu: {
		op: family.Elu,
		f: func(a ops.Attrs, x float64) float64 {
			if x > 0 {
				return x
			}
			return a.(ops.Elu).Alpha * math.Expm1(x)
		},
		params: func(a ops.Attrs) [2]float64 { return [2]float64{a.(ops.Elu).Alpha} },
	},
	nn.OpHardSwish: {
		op: family.HardSwish,
		f:  plain(func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }),
	},
	nn.OpTanh: {op: family.Tanh, f: plain(math.Tanh)},
	nn.OpLogistic: {
		op: family.Logistic,
		f:  plain(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	},
	nn.OpAbs:   {op: family.Abs, f: plain(math.Abs)},
	nn.OpNeg:   {op: family.Neg, f: plain(func(x float64) float64 { return -x })},
	nn.OpExp:   {op: family.Exp, f: plain(math.Exp)},
	nn.OpLog:   {op: family.Log, f: plain(math.Log)},
	nn.OpSqrt:  {op: family.Sqrt, f: plain(math.Sqrt)},
	nn.OpRsqrt: {op: family.Rsqrt, f: plain(func(x float64) float64 { return 1 / math.Sqrt(x) })},
	nn.OpSin:   {op: family.Sin, f: plain(math.Sin)},
	nn.OpFloor: {op: family.Floor, f: plain(math.Floor)},
}

func init() {
	for op := range unaries {
		register(rule{check: checkUnary, lower: lowerUnary, divide: divideElementwise, inPlace: true}, op)
	}
}

func checkUnary(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Type != y.Type {
		return fmt.Errorf("input %v, output %v", x.Type, y.Type)
	}
	u := unaries[n.Op]
	if _, ok := shaders.Find(family.Unary{Op: u.op, Elem: elem(x.Type)}); !ok && !x.Type.IsQuant8() {
		return fmt.Errorf("no kernel for %v", x.Type)
	}
	return cmp.Or(checkScales(x, y), checkElementwise(f, g, n))
}

func lowerUnary(b *emit.Builder, n *ir.Node) {
	x, y := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	u := unaries[n.Op]
	b.InPlace(n.Out[0], n.In[0])
	if x.Type.IsQuant8() {
		lut8(b, n, u.table(n, x, y))
		return
	}
	l := b.Layout(n.Out[0])
	var p [2]float64
	if u.params != nil {
		p = u.params(n.Attrs)
	}
	push := []uint32{uint32(l.TotalQuads()), uint32(l.Quads), uint32(l.C), emit.F32(p[0]), emit.F32(p[1])}
	b.Quads(shaders.Of(family.Unary{Op: u.op, Elem: elem(x.Type)}), l.TotalQuads(), push,
		emit.Cost{FLOP: float64(4 * l.TotalQuads())}, b.In(n.In[0]), b.Out(n.Out[0]))
}

// table returns the function on stored integers of 8-bit tensors x and y, rounded as TensorFlow Lite does.
func (u *unaryOp) table(n *ir.Node, x, y *ir.Tensor) func(q int32) int32 {
	switch n.Op {
	case nn.OpHardSwish:
		return hardSwish8(x, y)
	case nn.OpRelu, nn.OpRelu1, nn.OpRelu6:
		if act := Relus[n.Op]; x.SameQuant(y) {
			lo, hi := pack.QuantRange(y, act)
			return func(q int32) int32 { return min(max(q, lo), hi) }
		}
	}
	lo, hi := pack.TypeRange(y.Type)
	return func(q int32) int32 {
		// In float32, like LUTPopulate of tensorflow/lite/kernels/internal/common.h.
		real := x.Scale * float32(q-x.Zero)
		v := math.Round(float64(float32(u.f(n.Attrs, float64(real))) * (1 / y.Scale)))
		if math.IsNaN(v) { // RSQRT or LOG of a number below zero
			return hi
		}
		return int32(min(max(v+float64(y.Zero), float64(lo)), float64(hi)))
	}
}
