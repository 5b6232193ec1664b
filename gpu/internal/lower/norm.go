package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkLocalResponse, lower: lowerLocalResponse, divide: divideLocalResponse}, nn.OpLocalResponseNormalization)
}

func checkLocalResponse(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	a := n.Attrs.(ops.LocalResponse)
	l, err := checkLines(g, n, a.Axis)
	if err != nil {
		return err
	}
	if !isFloatTensor(g.T(n.In[0]).Type) {
		return fmt.Errorf("%v of %v", n.Op, g.T(n.In[0]).Type)
	}
	if a.Radius < 0 {
		return fmt.Errorf("radius %d", a.Radius)
	}
	w := responseWindow(l, a)
	if w > emit.MaxLoop {
		return fmt.Errorf("sums of elements up to %d away", a.Radius)
	}
	if err := emit.CheckWork(responseCost(l, w).FLOP); err != nil {
		return err
	}
	return emit.CheckTensors(f, g, n)
}

// responseWindow is the most quads that the kernel reads for one of the output.
func responseWindow(l pack.Layout, a ops.LocalResponse) int {
	n := l.Dims[a.Axis]
	r := min(a.Radius, n)
	if a.Axis == len(l.Dims)-1 {
		return min(1+2*((r+3)/4), l.Quads)
	}
	return min(2*r+1, n)
}

// responseCost: a power is about 40 operations, an element of a window up to 4.
func responseCost(l pack.Layout, window int) emit.Cost {
	return emit.Cost{FLOP: float64(l.TotalQuads()) * (160 + 16*float64(window))}
}

func lowerLocalResponse(b *emit.Builder, n *ir.Node) {
	l, a := b.Layout(n.In[0]), n.Attrs.(ops.LocalResponse)
	column := a.Axis != len(l.Dims)-1
	inner, size := l.Quads, 1
	if column {
		inner *= ir.Product(l.Dims[a.Axis+1 : len(l.Dims)-1])
		size = l.Dims[a.Axis]
	}
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(inner, size).Ints(min(a.Radius, l.Dims[a.Axis]), l.Quads, l.C).Floats(a.Bias, a.Alpha, a.Beta)
	k := shaders.Of(family.LocalResponse{Column: column, Elem: elem(b.Graph.T(n.In[0]).Type)})
	b.Quads(k, count, push, responseCost(l, responseWindow(l, a)), b.In(n.In[0]), b.Out(n.Out[0]))
}

func divideLocalResponse(g *ir.Graph, n *ir.Node) []division {
	a := n.Attrs.(ops.LocalResponse)
	return divideLines(g, n, a.Axis, func(axis int) ops.Attrs { a.Axis = axis; return a })
}
