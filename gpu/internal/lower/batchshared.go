package lower

import (
	"cmp"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Products are products of matrices, all of the same sizes: left, [Batch, Rows, Depth], by right, [Batch, Units, Depth].
type Products struct {
	Type                      nn.OperandType
	Relaxed                   bool // as ir.Graph.Relaxed
	Batch, Rows, Units, Depth int
}

// AtOnce reports why a device does not compute p in one dispatch, as BATCH_MATMUL of tensors of these shapes; nil if it
// does. If it does not, package compile turns them into something else.
func (p *Products) AtOnce(f *plan.Facts) error {
	if f.Class != plan.ClassGPU || f.Quick {
		return fmt.Errorf("a device of class %s", f.Class)
	}
	if p.Type != nn.TensorFloat32 && p.Type != nn.TensorFloat16 {
		return fmt.Errorf("type %v", p.Type)
	}
	for _, dims := range [][]int{{p.Batch, p.Rows, p.Depth}, {p.Batch, p.Units, p.Depth}, {p.Batch, p.Rows, p.Units}} {
		if t := (ir.Tensor{Type: p.Type, Shape: dims}); !emit.Bindable(f, pack.LayoutOf(&t)) {
			return fmt.Errorf("%v is more than the device binds", dims)
		}
	}
	if err := emit.CheckWork(float64(p.Batch) * p.product().flop()); err != nil {
		return err
	}
	for _, k := range shaders.Variants[family.Gemm]() {
		kernel := shaders.Of(k)
		if speed, _ := p.speed(f, k); speed > 0 && !f.Avoid.Has(kernel) && f.Lacks(kernel.Info(), f.Workgroup(kernel.Info(), 0)) == nil {
			return nil
		}
	}
	return fmt.Errorf("no kernel for %d products of %dx%d by %dx%d", p.Batch, p.Rows, p.Depth, p.Depth, p.Units)
}

// product is one of p as a convolution.
func (p *Products) product() *conv {
	x := &ir.Tensor{Type: p.Type, Shape: []int{p.Rows, p.Depth}}
	return &conv{Filter: pack.Filter{X: x, W: &ir.Tensor{}, Taps: 1, In: p.Depth, Out: p.Units}, pixels: p.Rows, kH: 1, kW: 1, strideH: 1, strideW: 1}
}

// speed scores k for p.
func (p *Products) speed(f *plan.Facts, k family.Gemm) (speed float64, why string) {
	c, matrix := p.product(), k.Matrix != (family.Matrix{})
	if k.Elem != elem(p.Type) || !k.Rows && !matrix || k.Window || max(c.rows(k), c.tiles(k), p.Batch) > plan.MaxGroups {
		return 0, ""
	}
	g, scale := gpuGrid{}, 1.0
	switch {
	case !matrix && tooDeep(c, k), matrix && (!c.wholeCells() || k.Elem == family.F32 && !p.Relaxed):
		return 0, ""
	case matrix:
		g, scale = c.matrixGrid(f, k, 1), largest(k.Matrix)
		why = fmt.Sprintf("tile %dx%d by matrices %v, %d products", k.M, k.N, k.Matrix, p.Batch)
	default:
		g = c.sharedGrid(k, 1)
		why = fmt.Sprintf("tile %dx%d in shared memory, %d products", k.M, k.N, p.Batch)
	}
	g.groups *= p.Batch
	return float64(p.Batch) * c.gpuSpeed(f, g.cycles(units(f))) * scale, why
}

// sameProducts reads a node.
func sameProducts(g *ir.Graph, n *ir.Node) (*Products, error) {
	x, w, y := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0])
	if len(x.Shape) != 3 || len(w.Shape) != 3 || x.Type != w.Type || x.Type != y.Type {
		return nil, fmt.Errorf("%v of %v by %v of %v", x.Type, x.Shape, w.Type, w.Shape)
	}
	p := &Products{x.Type, g.Relaxed, x.Shape[0], x.Shape[1], w.Shape[1], x.Shape[2]}
	if w.Shape[0] != p.Batch || w.Shape[2] != p.Depth || y.Elements() != p.Batch*p.Rows*p.Units {
		return nil, fmt.Errorf("%v by %v", x.Shape, w.Shape)
	}
	return p, nil
}

func checkAtOnce(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	p, err := sameProducts(g, n)
	if err != nil {
		return err
	}
	return cmp.Or(p.AtOnce(f), emit.CheckTensors(f, g, n))
}

func lowerAtOnce(b *emit.Builder, n *ir.Node) {
	p, err := sameProducts(b.Graph, n)
	if err != nil {
		panic(err) // checkAtOnce has nothing against it
	}
	c := p.product()
	k, ok := emit.Choose(b, gemmLocal(b.Facts), func(k family.Gemm) (float64, string) { return p.speed(b.Facts, k) })
	if !ok {
		panic("lower: no kernel for a batch of products") // as above
	}
	w, in, out := b.In(n.In[1]), c.InQuads(), c.OutQuads()
	end := emit.Push(pack.Bounds(b.Graph.T(n.Out[0]), nn.ActNone)).Ints(0) // nothing is added
	push := emit.Ints(p.Rows, in, out, p.Rows*in, p.Units*in, p.Rows*out, p.Units).Words(end...)
	if k.Matrix != (family.Matrix{}) {
		w = b.Read(halfFilter(b, n.In[1]), plan.FormatNone)
		push = emit.Ints(p.Rows, out, 0, in/2, p.Units).Words(end...).Ints(in, p.Rows*in, p.Units*in/2, p.Rows*out)
	}
	zero := b.Read(b.WeightsF32(make([]float32, 4*out)), plan.FormatNone)
	b.DispatchGroups(shaders.Of(k), [3]uint32{uint32(c.rows(k)), uint32(c.tiles(k)), uint32(p.Batch)}, push,
		emit.Cost{FLOP: float64(p.Batch) * c.flop()}, b.In(n.In[0]), w, zero, b.Out(n.Out[0]), zero)
}
