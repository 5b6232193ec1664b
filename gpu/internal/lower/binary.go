package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// broadcastKernels are the kernels of one operation and type: for operands of the output's layout, for a
// second operand that is one row or one number, and for all others.
type broadcastKernels struct{ same, row, bcast shaders.Kernel }

// choose returns the kernel for g, its word flags and the push constants behind it.
func (k *broadcastKernels) choose(g *grid) (shaders.Kernel, uint32, []uint32) {
	flags, words := g.push()
	switch {
	case g.same():
		return k.same, flags, nil
	case g.row():
		return k.row, flags, append(words[:3:3], uint32(g.strideB[0]))
	}
	return k.bcast, flags, words
}

// binaryOp describes z = a op b with broadcasting.
type binaryOp struct {
	f32, f16, i32, q8 broadcastKernels // zero where there is no such kernel
	// texel is f32.same with its operands as texel buffers, 0 for none.
	texel shaders.Kernel
	// commutes: a op b = b op a.
	commutes bool
	// rescale returns the real multipliers of the 8-bit kernel.
	rescale func(a, b, z *ir.Tensor) [3]float64
	// negate is the 8-bit kernel's switch to the sibling: SUB from ADD, MINIMUM from MAXIMUM.
	negate bool
}

var binaries = map[nn.OperationType]binaryOp{
	nn.OpAdd: {
		texel:    shaders.BinaryAddF32Texel,
		commutes: true,
		f32:      broadcastKernels{shaders.BinaryAddF32, shaders.BinaryAddF32Row, shaders.BinaryAddF32Bcast},
		f16:      broadcastKernels{shaders.BinaryAddF16, shaders.BinaryAddF16Row, shaders.BinaryAddF16Bcast},
		i32:      broadcastKernels{shaders.BinaryAddI32, shaders.BinaryAddI32Row, shaders.BinaryAddI32Bcast},
		q8:       broadcastKernels{shaders.BinaryAddsubQ8, shaders.BinaryAddsubQ8Row, shaders.BinaryAddsubQ8Bcast},
		rescale:  rescaleAdd,
	},
	nn.OpSub: {
		f32:     broadcastKernels{shaders.BinarySubF32, shaders.BinarySubF32Row, shaders.BinarySubF32Bcast},
		f16:     broadcastKernels{shaders.BinarySubF16, shaders.BinarySubF16Row, shaders.BinarySubF16Bcast},
		i32:     broadcastKernels{shaders.BinarySubI32, shaders.BinarySubI32Row, shaders.BinarySubI32Bcast},
		q8:      broadcastKernels{shaders.BinaryAddsubQ8, shaders.BinaryAddsubQ8Row, shaders.BinaryAddsubQ8Bcast},
		rescale: rescaleAdd,
		negate:  true,
	},
	nn.OpMul: {
		texel:    shaders.BinaryMulF32Texel,
		commutes: true,
		f32:      broadcastKernels{shaders.BinaryMulF32, shaders.BinaryMulF32Row, shaders.BinaryMulF32Bcast},
		f16:      broadcastKernels{shaders.BinaryMulF16, shaders.BinaryMulF16Row, shaders.BinaryMulF16Bcast},
		i32:      broadcastKernels{shaders.BinaryMulI32, shaders.BinaryMulI32Row, shaders.BinaryMulI32Bcast},
		q8:       broadcastKernels{shaders.BinaryMulQ8, shaders.BinaryMulQ8Row, shaders.BinaryMulQ8Bcast},
		rescale:  rescaleMul,
	},
	nn.OpDiv: {
		f32: broadcastKernels{shaders.BinaryDivF32, shaders.BinaryDivF32Row, shaders.BinaryDivF32Bcast},
		f16: broadcastKernels{shaders.BinaryDivF16, shaders.BinaryDivF16Row, shaders.BinaryDivF16Bcast},
		i32: broadcastKernels{shaders.BinaryDivI32, shaders.BinaryDivI32Row, shaders.BinaryDivI32Bcast},
	},
	nn.OpMaximum: {
		commutes: true,
		f32:      broadcastKernels{shaders.BinaryMaxF32, shaders.BinaryMaxF32Row, shaders.BinaryMaxF32Bcast},
		f16:      broadcastKernels{shaders.BinaryMaxF16, shaders.BinaryMaxF16Row, shaders.BinaryMaxF16Bcast},
		i32:      broadcastKernels{shaders.BinaryMaxI32, shaders.BinaryMaxI32Row, shaders.BinaryMaxI32Bcast},
		q8:       broadcastKernels{shaders.BinaryMaxminQ8, shaders.BinaryMaxminQ8Row, shaders.BinaryMaxminQ8Bcast},
		rescale:  rescaleMax,
	},
	nn.OpMinimum: {
		commutes: true,
		f32:      broadcastKernels{shaders.BinaryMinF32, shaders.BinaryMinF32Row, shaders.BinaryMinF32Bcast},
		f16:      broadcastKernels{shaders.BinaryMinF16, shaders.BinaryMinF16Row, shaders.BinaryMinF16Bcast},
		i32:      broadcastKernels{shaders.BinaryMinI32, shaders.BinaryMinI32Row, shaders.BinaryMinI32Bcast},
		q8:       broadcastKernels{shaders.BinaryMaxminQ8, shaders.BinaryMaxminQ8Row, shaders.BinaryMaxminQ8Bcast},
		rescale:  rescaleMax,
		negate:   true,
	},
	nn.OpPow: {
		f32: broadcastKernels{shaders.BinaryPowF32, shaders.BinaryPowF32Row, shaders.BinaryPowF32Bcast},
		f16: broadcastKernels{shaders.BinaryPowF16, shaders.BinaryPowF16Row, shaders.BinaryPowF16Bcast},
	},
	nn.OpPrelu: prelu,
	nn.OpSquaredDifference: {
		commutes: true,
		f32:      broadcastKernels{shaders.BinarySqdiffF32, shaders.BinarySqdiffF32Row, shaders.BinarySqdiffF32Bcast},
		f16:      broadcastKernels{shaders.BinarySqdiffF16, shaders.BinarySqdiffF16Row, shaders.BinarySqdiffF16Bcast},
		i32:      broadcastKernels{shaders.BinarySqdiffI32, shaders.BinarySqdiffI32Row, shaders.BinarySqdiffI32Bcast},
		q8:       broadcastKernels{shaders.BinarySqdiffQ8, shaders.BinarySqdiffQ8Row, shaders.BinarySqdiffQ8Bcast},
		rescale:  rescaleSquaredDifference,
	},
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

// rescaleMax: each input to the scale of the output; they are shifted left by 20 before.
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

// kernels returns the kernels for tensors of type t, zero for none.
func (o *binaryOp) kernels(t nn.OperandType) *broadcastKernels {
	switch t {
	case nn.TensorFloat32:
		return &o.f32
	case nn.TensorFloat16:
		return &o.f16
	case nn.TensorInt32:
		return &o.i32
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned:
		return &o.q8
	}
	return &broadcastKernels{}
}

func checkBinary(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	a, b, z := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if a.Type != z.Type || b.Type != z.Type {
		return fmt.Errorf("inputs %v and %v, output %v", a.Type, b.Type, z.Type)
	}
	o := binaries[n.Op]
	if *o.kernels(z.Type) == (broadcastKernels{}) {
		return fmt.Errorf("no kernel for %v", z.Type)
	}
	if act := activation(n); z.Type == nn.TensorInt32 && act != nn.ActNone {
		return fmt.Errorf("activation %v on integers", act)
	}
	if z.Type.IsQuant8() {
		if err := checkScales(a, b, z); err != nil {
			return err
		}
	}
	if _, err := broadcast(a, b, z); err != nil {
		return err
	}
	return checkTensors(f, g, n)
}

func lowerBinary(b *Builder, n *ir.Node) error {
	in := [2]ir.ID{n.In[0], n.In[1]}
	z := b.Graph.T(n.Out[0])
	g, err := broadcast(b.Graph.T(in[0]), b.Graph.T(in[1]), z)
	if err != nil {
		return err
	}
	o := binaries[n.Op]
	if o.commutes && g.swapped().row() {
		g, in[0], in[1] = g.swapped(), in[1], in[0]
	}
	if g.same() || g.row() { // the first operand lies as the output does
		b.inPlace(n.Out[0], in[0])
	}
	k, flags, strides := o.kernels(z.Type).choose(g)
	l := b.Layout(n.Out[0])
	push := []uint32{uint32(l.TotalQuads())}
	if z.Type.IsQuant8() {
		push = append(push, o.quantPush(b.Graph.T(in[0]), b.Graph.T(in[1]), z, activation(n))...)
	} else {
		lo, hi := floatRange(activation(n))
		push = append(push, uint32(l.Quads), uint32(l.C), f32(lo), f32(hi))
	}
	push = append(append(push, flags), strides...)
	format := plan.FormatNone
	if k == o.f32.same && o.texel != 0 && b.texelsPay(in[:]...) {
		k, format = o.texel, plan.FormatRGBA32F
	}
	b.Dispatch(k, quadLocal, l.TotalQuads(), push, Cost{FLOP: float64(4 * l.TotalQuads())},
		b.Read(b.Tensor(in[0]), format), b.Read(b.Tensor(in[1]), format), b.Out(n.Out[0]))
	return nil
}

// quantPush returns the push constants of binary_q8.comp from off to the last shift.
func (o *binaryOp) quantPush(x, y, z *ir.Tensor, act nn.Activation) []uint32 {
	lo, hi := quantRange(z, act)
	negate := uint32(0)
	if o.negate {
		negate--
	}
	push := []uint32{signOffset(z.Type), negate, uint32(x.Zero), uint32(y.Zero), uint32(z.Zero), uint32(lo - z.Zero), uint32(hi - z.Zero)}
	var m, s [3]uint32
	for i, r := range o.rescale(x, y, z) {
		multiplier, shift := quantizeMultiplier(r)
		m[i], s[i] = uint32(multiplier), uint32(int32(shift))
	}
	return append(append(push, m[:]...), s[:]...)
}
