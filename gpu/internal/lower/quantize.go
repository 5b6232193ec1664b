package lower

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkQuantize, lower: lowerQuantize, divide: divideElementwise}, nn.OpQuantize, nn.OpRequantize)
	register(rule{check: checkDequantize, lower: lowerDequantize, divide: divideDequantize}, nn.OpDequantize)
}

// requantize is shaders/include/fixedpoint.glsl's requantize4 on the host: x * m * 2^(shift-31), rounded
// twice as TensorFlow Lite does.
func requantize(x, m int32, shift int) int32 {
	left, right := max(shift, 0), max(-shift, 0)
	r := int32((int64(x<<left)*int64(m) + 1<<30) >> 31)
	half := int32(1) << right >> 1
	if right > 0 && r < 0 {
		half--
	}
	return (r + half) >> right
}

func isQuant16(t nn.OperandType) bool { return t == nn.TensorQuant16Asymm || t == nn.TensorQuant16Symm }

// lut8 computes the single output of n from its first input by a table; both are 8-bit tensors of one layout. f maps
// stored integers.
func lut8(b *emit.Builder, n *ir.Node, f func(q int32) int32) {
	count := b.Layout(n.Out[0]).TotalQuads()
	lookUp(b, b.Graph.T(n.In[0]).Type, b.Out(n.Out[0]), b.In(n.In[0]), count, emit.Cost{FLOP: float64(4 * count)}, f)
}

// lookUp appends the step that computes count quads of dst from those of src, which is of 8-bit type t, by a table of
// f.
func lookUp(b *emit.Builder, t nn.OperandType, dst, src emit.Binding, count int, c emit.Cost, f func(q int32) int32) {
	signed := pack.SignOffset(t) != 0
	table := make([]uint32, 256)
	for i := range table {
		q := int32(i)
		if signed {
			q = int32(int8(i))
		}
		table[i] = uint32(uint8(f(q)))
	}
	b.Quads(shaders.Lut8, count, emit.Ints(count), c, src, b.Read(b.WeightsU32(table), plan.FormatR32U), dst)
}

func checkQuantize(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if wide := isQuant16(y.Type); !y.Type.IsQuant8() && !wide || wide && x.Type != nn.TensorFloat32 {
		return fmt.Errorf("output %v", y.Type)
	}
	if !isFloatTensor(x.Type) && !x.Type.IsQuant8() {
		return fmt.Errorf("input %v", x.Type)
	}
	return cmp.Or(checkScales(x, y), checkElementwise(f, g, n))
}

func lowerQuantize(b *emit.Builder, n *ir.Node) {
	x, y := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	lo, hi := pack.TypeRange(y.Type)
	if x.Type == y.Type && x.SameQuant(y) {
		b.Forward(n.Out[0], n.In[0])
		return
	}
	if x.Type.IsQuant8() {
		m, shift := pack.Multiplier(min(float64(x.Scale)/float64(y.Scale), 1<<20))
		lut8(b, n, func(q int32) int32 { return min(max(requantize(q-x.Zero, m, shift)+y.Zero, lo), hi) })
		return
	}
	k := shaders.Of(family.Quantize{Elem: elem(x.Type), Wide: isQuant16(y.Type)})
	count := b.Layout(n.Out[0]).TotalQuads()
	push := []uint32{uint32(count), emit.F32(float64(y.Scale)), uint32(y.Zero), uint32(lo), uint32(hi)}
	b.Quads(k, count, push, emit.Cost{FLOP: float64(8 * count)}, b.In(n.In[0]), b.Out(n.Out[0]))
}

func checkDequantize(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if !isFloatTensor(y.Type) {
		return fmt.Errorf("output %v", y.Type)
	}
	switch x.Type {
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
	case nn.TensorQuant16Asymm, nn.TensorQuant16Symm:
		if y.Type != nn.TensorFloat32 {
			return fmt.Errorf("%v of %v", y.Type, x.Type)
		}
	case nn.TensorQuant8PerChannel:
		if x.Channel == nil {
			return errors.New("no channel scales")
		}
		if d := int(x.Channel.ChannelDim); d < 0 || d >= len(x.Shape) || len(x.Channel.Scales) != x.Shape[d] {
			return fmt.Errorf("%d channel scales in dimension %d of %v", len(x.Channel.Scales), d, x.Shape)
		}
	default:
		return fmt.Errorf("input %v", x.Type)
	}
	return checkElementwise(f, g, n)
}

func lowerDequantize(b *emit.Builder, n *ir.Node) {
	x, y := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	l := b.Layout(n.Out[0])
	scales, inner := dequantizeScales(x, l)
	k := shaders.Of(family.Dequantize{Elem: elem(y.Type), Wide: isQuant16(x.Type)})
	count := l.TotalQuads()
	push := []uint32{
		uint32(count), uint32(l.Quads), uint32(l.C), pack.SignOffset(x.Type), uint32(x.Zero), uint32(inner), uint32(len(scales) / 4),
	}
	b.Quads(k, count, push, emit.Cost{FLOP: float64(8 * count)}, b.In(n.In[0]), b.Read(b.WeightsF32(scales), plan.FormatNone), b.Out(n.Out[0]))
}

// dequantizeScales returns quads of scales for dequantize.comp and how many quads of the tensor share one.
func dequantizeScales(x *ir.Tensor, l pack.Layout) (scales []float32, inner int) {
	if x.Type != nn.TensorQuant8PerChannel {
		return []float32{x.Scale, x.Scale, x.Scale, x.Scale}, 1
	}
	dim := int(x.Channel.ChannelDim)
	if dim == len(l.Dims)-1 {
		return append(append(scales, x.Channel.Scales...), make([]float32, 4*l.Quads-l.C)...), 1
	}
	inner = l.Quads * ir.Product(l.Dims[dim+1:len(l.Dims)-1])
	for _, s := range x.Channel.Scales {
		scales = append(scales, s, s, s, s)
	}
	return scales, inner
}

// divideDequantize divides anywhere if all elements have one scale, else outside of the channels.
func divideDequantize(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Channel == nil {
		return divideElementwise(g, n)
	}
	at := outer(y.Shape)
	if at < 0 || at == int(x.Channel.ChannelDim) || len(x.Shape) != len(y.Shape) || x.Shape[at] != y.Shape[at] {
		return nil
	}
	return alike(n.Attrs, cut{x, at}, cut{y, at})
}
