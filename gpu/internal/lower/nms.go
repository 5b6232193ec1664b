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
)

const (
	// nmsRows is the largest number of boxes of a class that the kernels of shaders/box can search.
	nmsRows = 1<<15 - 1
	// nmsLevels are the levels of sums of nmsRun elements each, constants of shaders/box/nms_take.comp and nms.glsl.
	nmsLevels = 5
	nmsRun    = 64
	// nmsUnrolled is how many boxes a round of the loop of nms_select.comp looks at.
	nmsUnrolled = 4
	// nmsBytes is the size of the record of a selected box.
	nmsBytes = 16
	// nmsSteps bounds the steps in which boxes are selected.
	nmsSteps = 1 << 11
)

func init() {
	register(rule{check: checkNMS, lower: lowerNMS}, ops.Counted(nn.OpBoxWithNmsLimit))
}

// nms is what the lowering of a node needs.
type nms struct {
	ops.BoxNMS
	rows, classes, stride int
	limit                 int // of boxes of a list
	rounds                int // of a step: the boxes that it selects; below 1: even one takes too long
}

func nmsOf(g *ir.Graph, n *ir.Node) nms {
	scores := g.T(n.In[0])
	x := nms{BoxNMS: n.Attrs.(ops.BoxNMS), rows: scores.Shape[0], classes: scores.Shape[1]}
	x.stride = 4 * pack.LayoutOf(scores).Quads
	if x.limit = x.rows; x.Limit >= 0 {
		x.limit = min(x.limit, x.Limit)
	}
	// A round looks at the boxes that are left, once more than boxes are selected; making a list looks at all.
	x.rounds = (emit.MaxLoop-x.rows)/((x.rows+nmsUnrolled-1)/nmsUnrolled+1) - 1
	x.rounds = min(x.rounds, x.limit)
	return x
}

// steps is the number of steps in which the boxes are selected.
func (x *nms) steps() int {
	if x.limit == 0 {
		return 1 // it says that there are none
	}
	return (x.limit + x.rounds - 1) / x.rounds
}

func checkNMS(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if err := checkReal(g, n, n.In[2], n.Out[2], n.Out[3], n.Out[4]); err != nil {
		return err
	}
	scores, boxes, images, out := g.T(n.In[0]), g.T(n.In[1]), g.T(n.In[2]), g.T(n.Out[0])
	if len(scores.Shape) != 2 || len(boxes.Shape) != 2 || boxes.Shape[0] != scores.Shape[0] || boxes.Shape[1] != 4*scores.Shape[1] ||
		images.Elements() != scores.Shape[0] || g.T(n.Out[1]).Elements() != 4*out.Elements() ||
		g.T(n.Out[2]).Elements() != out.Elements() || g.T(n.Out[3]).Elements() != out.Elements() || g.T(n.Out[4]).Elements() != 1 {
		return fmt.Errorf("scores %v of boxes %v", scores.Shape, boxes.Shape)
	}
	x := nmsOf(g, n)
	switch slots := int64(x.rows) * int64(x.stride); {
	case x.rows > nmsRows || x.limit > 0 && (x.rounds < 1 || x.steps() > nmsSteps):
		return fmt.Errorf("%d boxes of each class", x.rows)
	case x.classes*16 > emit.MaxLoop:
		return fmt.Errorf("%d classes", x.classes)
	case slots*nmsBytes > f.MaxStorageRange || slots > 1<<24: // as many as nmsLevels levels of sums can add up
		return fmt.Errorf("needs %d bytes to select boxes, more than the device binds", slots*nmsBytes)
	}
	return emit.CheckTensors(f, g, n)
}

func lowerNMS(b *emit.Builder, n *ir.Node) {
	x := nmsOf(b.Graph, n)
	slots := x.rows * x.stride
	read := func(v emit.Value) emit.Binding { return b.Read(v, plan.FormatNone) }
	write := func(v emit.Value) emit.Binding { return b.Write(v, plan.FormatNone) }

	left, counts, kept := b.Temp(8*int64(slots)), b.Temp(8*int64(slots)), b.Temp(nmsBytes*int64(slots))
	each := max(x.classes-1, 1)
	for step := range x.steps() {
		begin, count := 0, x.rows*each
		if step == 0 {
			begin = 1
		}
		push := emit.Ints(count).Divisors(each).Ints(x.rows, x.classes, x.stride, begin, x.rounds, x.limit, int(x.Kernel)).
			Floats(float64(x.Score), float64(x.Overlap), float64(x.Sigma), float64(x.Lowered))
		// Only the data tells how many boxes are selected.
		b.Quads(shaders.NmsSelect, count, push, emit.Cost{FLOP: 20 * float64(each) * float64(x.rows) * float64(min(x.rounds, 32))},
			b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), write(left), write(counts), write(kept))
	}

	var at, size []int
	total := 0
	for k := slots; ; k = (k + nmsRun - 1) / nmsRun {
		at, size = append(at, total), append(size, k)
		if total += k; k == 1 {
			break
		}
	}
	sums, top := b.Temp(4*int64(total)), len(at)-1
	limit := 1<<32 - 1
	if x.Limit >= 0 {
		limit = x.Limit
	}
	push := emit.Ints(slots).Divisors(x.stride).Ints(x.classes, limit)
	b.Quads(shaders.NmsLimit, slots, push, emit.Cost{}, read(counts), read(kept), write(sums))
	for k := range top {
		b.Quads(shaders.NmsSum, size[k+1], emit.Ints(size[k+1], at[k], size[k], at[k+1]), emit.Cost{}, write(sums))
	}

	rows := b.Graph.T(n.Out[0]).Elements()
	levels := append(padded(size), padded(at)...)
	take := func(count int) emit.Push {
		return emit.Ints(count, rows).Divisors(x.stride).Ints(x.rows, x.classes, top).Ints(levels...)
	}
	count := b.Layout(n.Out[0]).TotalQuads()
	b.Quads(shaders.NmsTake, count, take(count), emit.Cost{}, read(kept), read(sums), b.In(n.In[2]),
		b.Out(n.Out[0]), b.Out(n.Out[2]), b.Out(n.Out[3]), b.Out(n.Out[4]))
	b.Quads(shaders.NmsTakeBoxes, rows, take(rows), emit.Cost{}, read(kept), read(sums), b.In(n.In[1]), b.Out(n.Out[1]))
}

// padded is list with zeros up to nmsLevels.
func padded(list []int) []int { return append(list, make([]int, nmsLevels-len(list))...) }
