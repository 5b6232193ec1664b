package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// casts has the kernel that converts between two types of elements.
var casts = map[[2]nn.OperandType]shaders.Kernel{
	{nn.TensorFloat32, nn.TensorFloat16}:     shaders.CastF32F16,
	{nn.TensorFloat32, nn.TensorInt32}:       shaders.CastF32I32,
	{nn.TensorFloat32, nn.TensorQuant8Asymm}: shaders.CastF32U8,
	{nn.TensorFloat16, nn.TensorFloat32}:     shaders.CastF16F32,
	{nn.TensorFloat16, nn.TensorInt32}:       shaders.CastF16I32,
	{nn.TensorFloat16, nn.TensorQuant8Asymm}: shaders.CastF16U8,
	{nn.TensorInt32, nn.TensorFloat32}:       shaders.CastI32F32,
	{nn.TensorInt32, nn.TensorFloat16}:       shaders.CastI32F16,
	{nn.TensorInt32, nn.TensorQuant8Asymm}:   shaders.CastI32U8,
	{nn.TensorQuant8Asymm, nn.TensorFloat32}: shaders.CastU8F32,
	{nn.TensorQuant8Asymm, nn.TensorFloat16}: shaders.CastU8F16,
	{nn.TensorQuant8Asymm, nn.TensorInt32}:   shaders.CastU8I32,
}

func init() {
	register(rule{check: checkCast, lower: lowerCast, divide: divideElementwise}, nn.OpCast)
}

func checkCast(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if _, ok := casts[[2]nn.OperandType{x.Type, y.Type}]; !ok && x.Type != y.Type {
		return fmt.Errorf("%v to %v", x.Type, y.Type)
	}
	return checkElementwise(f, g, n)
}

// lowerCast converts the stored numbers; scales and zero points do not count.
func lowerCast(b *Builder, n *ir.Node) error {
	x, y := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	if x.Type == y.Type {
		b.aliasOrCopy(n.Out[0], n.In[0])
		return nil
	}
	l := b.Layout(n.Out[0])
	count := l.TotalQuads()
	push := []uint32{uint32(count), uint32(l.Quads), uint32(l.C)}
	b.Dispatch(casts[[2]nn.OperandType{x.Type, y.Type}], quadLocal, count, push, Cost{FLOP: float64(4 * count)}, b.In(n.In[0]), b.Out(n.Out[0]))
	return nil
}
