package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// checkElementwise reports why n does not map its input to its output element by element.
func checkElementwise(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if lx, ly := pack.LayoutOf(x), pack.LayoutOf(y); lx.C != ly.C || lx.Rows != ly.Rows {
		return fmt.Errorf("input %v, output %v", x.Shape, y.Shape)
	}
	return emit.CheckTensors(f, g, n)
}

// grid is where the operands of a broadcasting operation lie: the quads of the output as dimensions, the innermost
// first, with the strides in quads of operands a and b (0: repeated). A splat operand has one element in a row, for all
// elements of a longer one.
type grid struct {
	size           [4]int
	strideA        [4]int
	strideB        [4]int
	dims           int
	splatA, splatB bool
}

// broadcast returns the grid of z = a op b with as few dimensions as possible. It fails when the shapes do
// not broadcast to that of z, or with more than four dimensions.
func broadcast(a, b, z *ir.Tensor) (*grid, error) {
	lz := pack.LayoutOf(z)
	sa, splatA, err := quadStrides(a, lz)
	if err != nil {
		return nil, err
	}
	sb, splatB, err := quadStrides(b, lz)
	if err != nil {
		return nil, err
	}
	g := &grid{splatA: splatA, splatB: splatB}
	n := len(lz.Dims)
	for i := n - 1; i >= 0; i-- {
		size := lz.Dims[i]
		if i == n-1 {
			size = lz.Quads
		}
		if size == 1 {
			continue
		}
		if k := g.dims - 1; k >= 0 && sa[i] == g.strideA[k]*g.size[k] && sb[i] == g.strideB[k]*g.size[k] {
			g.size[k] *= size
			continue
		}
		if g.dims == len(g.size) {
			return nil, fmt.Errorf("%v and %v alternate in more than four dimensions", a.Shape, b.Shape)
		}
		g.size[g.dims], g.strideA[g.dims], g.strideB[g.dims] = size, sa[i], sb[i]
		g.dims++
	}
	return g, nil
}

// broadcastNode is broadcast for a node that a check has accepted.
func broadcastNode(graph *ir.Graph, a, b, z ir.ID) *grid {
	g, err := broadcast(graph.T(a), graph.T(b), graph.T(z))
	if err != nil {
		panic(fmt.Sprintf("lower: what was checked fails: %v", err))
	}
	return g
}

// quadStrides returns the stride of t in quads for each dimension of layout l, 0 where t is repeated.
func quadStrides(t *ir.Tensor, l pack.Layout) (strides []int, splat bool, err error) {
	lt := pack.LayoutOf(t)
	n, skip := len(l.Dims), len(l.Dims)-len(lt.Dims)
	if skip < 0 {
		return nil, false, fmt.Errorf("%v does not broadcast to %v", t.Shape, l.Dims)
	}
	strides = make([]int, n)
	stride := 1
	for i := n - 1; i >= skip; i-- {
		d := lt.Dims[i-skip]
		if d != l.Dims[i] && d != 1 {
			return nil, false, fmt.Errorf("%v does not broadcast to %v", t.Shape, l.Dims)
		}
		if d == l.Dims[i] {
			strides[i] = stride
		}
		if i == n-1 {
			splat = d == 1 && l.C > 1
			d = lt.Quads
		}
		stride *= d
	}
	return strides, splat, nil
}

// same reports whether both operands lie as the output does.
func (g *grid) same() bool {
	return !g.splatA && !g.splatB && (g.dims == 0 || g.dims == 1 && g.strideA[0] == 1 && g.strideB[0] == 1)
}

// row reports whether a lies as the output does and b repeats every size[0] quads, or is one quad.
func (g *grid) row() bool {
	switch {
	case g.splatA:
		return false
	case g.dims == 1:
		return g.strideA[0] == 1 && g.strideB[0] == 0
	case g.dims == 2:
		return g.strideA[0] == 1 && g.strideA[1] == g.size[0] && g.strideB[0] == 1 && g.strideB[1] == 0
	}
	return false
}

// swapped returns the grid of z = b op a.
func (g *grid) swapped() *grid {
	s := *g
	s.strideA, s.strideB, s.splatA, s.splatB = g.strideB, g.strideA, g.splatB, g.splatA
	return &s
}

// operands is the form of the operands, with the kernel's flags and the push constants behind them.
func (g *grid) operands() (family.Operands, uint32, []uint32) {
	flags, words := g.push()
	switch {
	case g.same():
		return family.Same, flags, nil
	case g.row():
		return family.Row, flags, append(words[:3:3], uint32(g.strideB[0]))
	}
	return family.Broadcast, flags, words
}

// push returns the word flags of shaders/elementwise/broadcast.glsl and, for its case 1, the words of
// BROADCAST_PUSH.
func (g *grid) push() (flags uint32, words emit.Push) {
	for k := range 3 {
		size := math.MaxInt32 // of the outermost dimension: nothing is left above it
		if k < g.dims-1 {
			size = g.size[k]
		}
		words = words.Divisors(size)
	}
	if g.splatA {
		flags |= 1
	}
	if g.splatB {
		flags |= 2
	}
	return flags, words.Ints(g.strideA[:]...).Ints(g.strideB[:]...)
}

// texelsPay reports whether a kernel should read float32 tensors as texel buffers: they fit, and loads are faster that
// way on the device. SwiftShader, with its small limit, is not among these.
func texelsPay(b *emit.Builder, tensors ...ir.ID) bool {
	if b.Facts.Class != plan.ClassCPU || b.Facts.MaxTexelElements < 1<<24 {
		return false
	}
	for _, id := range tensors {
		if !b.FitsTexels(b.Tensor(id), plan.FormatRGBA32F) {
			return false
		}
	}
	return true
}
