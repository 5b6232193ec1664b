package lower

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkSelect, lower: lowerSelect, divide: divideElementwise}, nn.OpSelect)
}

func checkSelect(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	mask, z := g.T(n.In[0]), g.T(n.Out[0])
	if mask.Type != nn.TensorBool8 || !slices.Equal(mask.Shape, z.Shape) {
		return fmt.Errorf("a mask %v %v for %v", mask.Type, mask.Shape, z.Shape)
	}
	for _, id := range n.In[1:] {
		t := g.T(id)
		if !slices.Equal(t.Shape, z.Shape) {
			return fmt.Errorf("an input %v for %v", t.Shape, z.Shape)
		}
		if err := checkScales(t, z); err != nil {
			return err
		}
		if !t.SameQuant(z) && !z.Type.IsQuant8() {
			return fmt.Errorf("inputs of %v with different scales", z.Type)
		}
	}
	moved := *n
	moved.In = n.In[1:]
	if err := checkMoved(f, g, &moved); err != nil {
		return err
	}
	return emit.CheckTensors(f, g, n)
}

func lowerSelect(b *emit.Builder, n *ir.Node) {
	z, l := b.Graph.T(n.Out[0]), b.Layout(n.Out[0])
	bindings := []emit.Binding{b.In(n.In[0])}
	for _, id := range n.In[1:] {
		src := b.In(id)
		if !b.Graph.T(id).SameQuant(z) {
			v := b.Temp(l.Bytes())
			rescale(b, v, id, z)
			src = b.Read(v, plan.FormatNone)
		}
		bindings = append(bindings, src)
	}
	b.Quads(shaders.Of(family.Move{Op: family.Select, Bytes: l.Elem}), l.TotalQuads(), emit.Ints(l.TotalQuads()), emit.Cost{},
		append(bindings, b.Out(n.Out[0]))...)
}
