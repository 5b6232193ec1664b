package lower

import (
	"cmp"
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
	register(rule{check: checkPool, lower: lowerPool, divide: dividePool}, nn.OpAveragePool2D, nn.OpMaxPool2D, nn.OpL2Pool2D)
}

// longWindow is the number of positions of a global pool from which the stages of MEAN are faster.
const longWindow = 1024

func checkPool(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if err := checkSameType(in, out); err != nil {
		return err
	}
	switch {
	case !isFloatTensor(in.Type) && (!in.Type.IsQuant8() || n.Op == nn.OpL2Pool2D):
		return fmt.Errorf("%v of %v", n.Op, in.Type)
	case in.Type.IsQuant8() && !in.SameQuant(out):
		return fmt.Errorf("input and output of different scales")
	}
	if err := checkScales(in); err != nil {
		return err
	}
	if len(in.Shape) != 4 || len(out.Shape) != 4 || in.Shape[0] != out.Shape[0] || in.Shape[3] != out.Shape[3] {
		return fmt.Errorf("a pool of %v to %v", in.Shape, out.Shape)
	}
	a := n.Attrs.(ops.Pool)
	for i := range 2 {
		before, after := a.Pad.Top, a.Pad.Bottom
		if i == 1 {
			before, after = a.Pad.Left, a.Pad.Right
		}
		size, window, stride := in.Shape[1+i], a.Window[i], a.Stride[i]
		if window < 1 || stride < 1 || after < 0 || max(window, stride, before, -before) > emit.MaxElements/4 {
			return fmt.Errorf("window %v, stride %v, padding %v", a.Window, a.Stride, a.Pad)
		}
		// Every window covers something of the image.
		start := (out.Shape[1+i]-1)*stride - before
		if before >= window || start >= size || start+window > size+after {
			return fmt.Errorf("windows of %v, stride %v, padding %v on an image of %v", a.Window, a.Stride, a.Pad, in.Shape)
		}
	}
	p := newPool(n, in, out)
	switch {
	case n.Op == nn.OpAveragePool2D && globalPool(in, out, a):
		if taps := in.Shape[1] * in.Shape[2]; in.Type.IsQuant8() && taps > maxByteSum {
			return fmt.Errorf("the mean of %d bytes", taps)
		}
	case p.loops() <= emit.MaxLoop:
	case n.Op == nn.OpMaxPool2D:
		rows, columns := p.split()
		if max(rows.loops(), columns.loops()) > emit.MaxLoop {
			return fmt.Errorf("windows of %v positions", a.Window)
		}
		// The result between the two steps must also be bound.
		l := pack.LayoutOf(&ir.Tensor{Type: in.Type, Shape: []int{in.Shape[0], in.Shape[1], out.Shape[2], in.Shape[3]}})
		if !emit.Bindable(f, l) {
			return fmt.Errorf("maxima of rows of %d bytes, more than the device binds", l.Bytes())
		}
	default:
		return fmt.Errorf("windows of %v positions", a.Window)
	}
	return cmp.Or(emit.CheckWork(4*float64(p.count())*float64(min(p.loops(), emit.MaxLoop))), emit.CheckTensors(f, g, n))
}

// globalPool reports whether each channel has one window, which is all of the image.
func globalPool(in, out *ir.Tensor, a ops.Pool) bool {
	return out.Shape[1] == 1 && out.Shape[2] == 1 && a.Pad.Top == 0 && a.Pad.Left == 0 &&
		a.Window[0] >= in.Shape[1] && a.Window[1] >= in.Shape[2]
}

func lowerPool(b *emit.Builder, n *ir.Node) {
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	a := n.Attrs.(ops.Pool)
	height, width := in.Shape[1], in.Shape[2]
	taps := min(a.Window[0], height) * min(a.Window[1], width)
	if n.Op == nn.OpAveragePool2D && taps > longWindow && globalPool(in, out, a) {
		average(b, n.Out[0], n.In[0], []int{1, 2}, finish{factor: 1 / float64(height*width), bounds: pack.Bounds(out, a.Act)})
		return
	}
	src, dst := b.In(n.In[0]), b.Out(n.Out[0])
	p := newPool(n, in, out)
	p.bounds = pack.Bounds(out, a.Act)
	if n.Op == nn.OpMaxPool2D && p.loops() > emit.MaxLoop {
		rows, columns := p.split()
		v := b.Temp(int64(rows.count()*4) * int64(in.Type.Bytes()))
		poolQuads(b, b.Write(v, plan.FormatNone), src, rows)
		src, p = b.Read(v, plan.FormatNone), columns
	}
	poolQuads(b, dst, src, p)
}

// pool is one dispatch of shaders/pool/pool.comp; pairs are height, width.
type pool struct {
	op            nn.OperationType
	t             nn.OperandType
	images, quads int
	size, out     [2]int
	pad, window   [2]int
	stride        [2]int
	bounds        []uint32
}

// newPool describes node n except for its activation.
func newPool(n *ir.Node, in, out *ir.Tensor) pool {
	a := n.Attrs.(ops.Pool)
	p := pool{
		op: n.Op, t: in.Type, images: in.Shape[0], quads: pack.LayoutOf(in).Quads,
		size: [2]int{in.Shape[1], in.Shape[2]}, out: [2]int{out.Shape[1], out.Shape[2]},
		pad: [2]int{a.Pad.Top, a.Pad.Left}, window: a.Window, stride: a.Stride,
	}
	return p.flat()
}

// flat returns p with windows of one column turned into windows of one row: all columns of a row of pixels are then
// channels. Otherwise nested loops of one iteration each would take twice the iterations.
func (p pool) flat() pool {
	if p.window[1] != 1 || p.stride[1] != 1 || p.pad[1] != 0 || p.out[1] != p.size[1] {
		return p
	}
	p.quads *= p.size[1]
	turn := func(v, first int) [2]int { return [2]int{first, v} }
	p.size, p.out, p.pad = turn(p.size[0], 1), turn(p.out[0], 1), turn(p.pad[0], 0)
	p.window, p.stride = turn(p.window[0], 1), turn(p.stride[0], 1)
	return p
}

// split returns two pools, the second on the result of the first, for a maximum: first of each row, then of these.
func (p pool) split() (rows, columns pool) {
	rows, columns = p, p
	rows.window[0], rows.stride[0], rows.pad[0], rows.out[0] = 1, 1, 0, p.size[0]
	columns.window[1], columns.stride[1], columns.pad[1], columns.size[1] = 1, 1, 0, p.out[1]
	return rows, columns.flat()
}

// count is the number of quads of the result.
func (p *pool) count() int { return p.images * p.out[0] * p.out[1] * p.quads }

// loops is the number of iterations of both loops of an invocation; see conv.loops.
func (p *pool) loops() int {
	return 1 + min(p.window[0], p.size[0])*(3+min(p.window[1], p.size[1]))
}

func poolQuads(b *emit.Builder, dst, src emit.Binding, p pool) {
	count := p.count()
	push := emit.Ints(count).Divisors(p.quads, p.out[1], p.out[0])
	push = push.Ints(p.size[1], p.size[0], p.stride[1], p.stride[0], p.pad[1], p.pad[0], p.window[1], p.window[0]).Words(p.bounds...)
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Pool) (float64, string) {
		if k.Op != poolOps[p.op] || k.Elem != elem(p.t) {
			return 0, ""
		}
		return b.AccessSpeed(k.Access, src.Value, dst.Value, quadTexels(elem(p.t))), ""
	})
	if p.t.IsQuant8() {
		push = push.Words(pack.SignOffset(p.t))
	}
	if k.Access == family.Texels {
		src.Format = quadTexels(elem(p.t))
	}
	taps := float64(min(p.window[0], p.size[0]) * min(p.window[1], p.size[1]))
	b.Quads(shaders.Of(k), count, push, emit.Cost{FLOP: 4 * float64(count) * taps}, src, dst)
}

var poolOps = map[nn.OperationType]family.PoolOp{
	nn.OpAveragePool2D: family.Average, nn.OpMaxPool2D: family.Maximum, nn.OpL2Pool2D: family.L2,
}

func dividePool(g *ir.Graph, n *ir.Node) []division {
	a := n.Attrs.(ops.Pool)
	return divideWindows(g, n, windows{g.T(n.In[0]).Shape[1], g.T(n.Out[0]).Shape[1], a.Window[0], a.Stride[0], a.Pad.Top})
}
