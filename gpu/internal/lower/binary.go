package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// binaryOp describes z = a op b with broadcasting.
type binaryOp struct {
	op, op8 family.BinaryOp // of the kernels of 8-bit types: op8, empty where there is none
	// commutes: a op b = b op a.
	commutes bool
	// rescale returns the real multipliers of the 8-bit kernel.
	rescale func(a, b, z *ir.Tensor) [3]float64
	// negate is the 8-bit kernel's switch to the sibling: SUB from ADD, MINIMUM from MAXIMUM.
	negate bool
}

var binaries = map[nn.OperationType]binaryOp{
	nn.OpAdd:               {op: family.Add, op8: family.AddSub, commutes: true, rescale: rescaleAdd},
	nn.OpSub:               {op: family.Sub, op8: family.AddSub, rescale: rescaleAdd, negate: true},
	nn.OpMul:               {op: family.Mul, op8: family.Mul, commutes: true, rescale: rescaleMul},
	nn.OpDiv:               {op: family.Div},
	nn.OpMaximum:           {op: family.Max, op8: family.MaxMin, commutes: true, rescale: rescaleMax},
	nn.OpMinimum:           {op: family.Min, op8: family.MaxMin, commutes: true, rescale: rescaleMax, negate: true},
	nn.OpPow:               {op: family.Pow},
	nn.OpPrelu:             prelu,
	nn.OpSquaredDifference: {op: family.SqDiff, op8: family.SqDiff, commutes: true, rescale: rescaleSquaredDifference},
}

func init() {
	for op := range binaries {
		register(rule{check: checkBinary, lower: lowerBinary, divide: divideBinary, inPlace: true}, op)
	}
}

// The real multipliers below are those of TensorFlow Lite, computed in the same mixture of float32 and
// double. Limits keep products inside int32 where the output would be saturated anyway.

// rescaleAdd: tensorflow/lite/kernels/add.cc, sub.cc; inputs are shifted left by 20.
func rescaleAdd(a, b, z *ir.Tensor) [3]float64 {
	twiceMax := 2 * float64(max(a.Scale, b.Scale))
	return [3]float64{
		float64(a.Scale) / twiceMax, float64(b.Scale) / twiceMax,
		min(twiceMax/float64((1<<20)*z.Scale), 1),
	}
}

// rescaleMul: tensorflow/lite/kernels/mul.cc.
func rescaleMul(a, b, z *ir.Tensor) [3]float64 {
	return [3]float64{min(float64(a.Scale*b.Scale/z.Scale), 1<<13)}
}

// rescaleMax: each input is rescaled to the output; they are shifted left by 20 before that.
func rescaleMax(a, b, z *ir.Tensor) [3]float64 {
	ratio := func(t *ir.Tensor) float64 { return min(float64(t.Scale)/float64(z.Scale)/(1<<20), 1) }
	return [3]float64{ratio(a), ratio(b)}
}

// rescaleSquaredDifference: tensorflow/lite/kernels/squared_difference.cc; inputs are shifted left by 7.
func rescaleSquaredDifference(a, b, z *ir.Tensor) [3]float64 {
	twiceMax := 2 * float64(max(a.Scale, b.Scale))
	return [3]float64{
		float64(a.Scale) / twiceMax, float64(b.Scale) / twiceMax,
		twiceMax * twiceMax / float64((1<<14)*z.Scale),
	}
}

// key asks for the kernel for tensors of type t.
func (o *binaryOp) key(t nn.OperandType, operands family.Operands, a family.Access) family.Binary {
	k := family.Binary{Op: o.op, Elem: elem(t), Operands: operands, Access: a}
	if t.IsQuant8() {
		k.Op = o.op8
	}
	return k
}

func checkBinary(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	a, b, z := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if a.Type != z.Type || b.Type != z.Type {
		return fmt.Errorf("inputs %v and %v, output %v", a.Type, b.Type, z.Type)
	}
	o := binaries[n.Op]
	if _, ok := shaders.Find(o.key(z.Type, family.Same, family.Buffers)); !ok {
		return fmt.Errorf("no kernel for %v", z.Type)
	}
	if act := activation(n); z.Type == nn.TensorInt32 && act != nn.ActNone {
		return fmt.Errorf("activation %v on integers", act)
	}
	if err := checkScales(a, b, z); err != nil {
		return err
	}
	if _, err := broadcast(a, b, z); err != nil {
		return err
	}
	return emit.CheckTensors(f, g, n)
}

func lowerBinary(b *emit.Builder, n *ir.Node) {
	in := [2]ir.ID{n.In[0], n.In[1]}
	z := b.Graph.T(n.Out[0])
	g := broadcastNode(b.Graph, in[0], in[1], n.Out[0])
	o := binaries[n.Op]
	if o.commutes && g.swapped().row() {
		g, in[0], in[1] = g.swapped(), in[1], in[0]
	}
	operands, flags, strides := g.operands()
	if operands != family.Broadcast { // the first operand lies as the output does
		b.InPlace(n.Out[0], in[0])
	}
	l := b.Layout(n.Out[0])
	push := emit.Ints(l.TotalQuads())
	if z.Type.IsQuant8() {
		push = push.Words(o.quantPush(b.Graph.T(in[0]), b.Graph.T(in[1]), z, activation(n))...)
	} else {
		push = push.Ints(l.Quads, l.C).Words(pack.Bounds(z, activation(n))...)
	}
	push = push.Words(flags).Words(strides...)
	k, format := shaders.Of(o.key(z.Type, operands, family.Buffers)), plan.FormatNone
	if texel, ok := shaders.Find(o.key(z.Type, operands, family.Texels)); ok && texelsPay(b, in[:]...) {
		k, format = texel, plan.FormatRGBA32F
	}
	b.Quads(k, l.TotalQuads(), push, emit.Cost{FLOP: float64(4 * l.TotalQuads())},
		b.Read(b.Tensor(in[0]), format), b.Read(b.Tensor(in[1]), format), b.Out(n.Out[0]))
}

// quantPush returns the push constants of the 8-bit kernels of binary.comp from off to the last shift.
func (o *binaryOp) quantPush(x, y, z *ir.Tensor, act nn.Activation) []uint32 {
	lo, hi := pack.QuantRange(z, act)
	negate := uint32(0)
	if o.negate {
		negate--
	}
	push := emit.Push{pack.SignOffset(z.Type), negate}.Ints(int(x.Zero), int(y.Zero), int(z.Zero), int(lo-z.Zero), int(hi-z.Zero))
	var m, s [3]uint32
	for i, r := range o.rescale(x, y, z) {
		multiplier, shift := pack.Multiplier(r)
		m[i], s[i] = uint32(multiplier), uint32(int32(shift))
	}
	return push.Words(m[:]...).Words(s[:]...)
}
