package lower

import (
	"cmp"
	"fmt"
	"math"

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
	register(rule{check: checkMean, lower: lowerMean, divide: divideReduced}, nn.OpMean)
}

// maxByteSum is the number of bytes, of any value, whose sum fits an int32.
const maxByteSum = math.MaxInt32 / 256

func checkMean(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if hasRuntimeParam(n) {
		return checkMeanRuntime(f, g, n)
	}
	in, out, axes := g.T(n.In[0]), g.T(n.Out[0]), n.Attrs.(ops.Mean).Axes
	if err := cmp.Or(checkSameType(in, out), checkReduced(in, out, axes)); err != nil {
		return err
	}
	if count := reducedCount(in.Shape, axes); in.Type.IsQuant8() && count > maxByteSum {
		return fmt.Errorf("the mean of %d bytes", count)
	}
	return cmp.Or(checkNumbers(n.Op, in, out), checkStages(f, in), emit.CheckTensors(f, g, firstInputOnly(n)))
}

func lowerMean(b *emit.Builder, n *ir.Node) {
	if hasRuntimeParam(n) {
		lowerMeanRuntime(b, n)
		return
	}
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	axes := n.Attrs.(ops.Mean).Axes
	count := reducedCount(in.Shape, axes)
	if count == 1 && in.SameQuant(out) {
		reshapeTensor(b, n.Out[0], n.In[0])
		return
	}
	average(b, n.Out[0], n.In[0], axes, meanFinish(in, out, count))
}

// average reduces the axes of in to out by their sums, each of which f finishes.
func average(b *emit.Builder, out, in ir.ID, axes []int, f finish) {
	t := b.Graph.T(in)
	count, off := reducedCount(t.Shape, axes), int(pack.SignOffset(t.Type))
	reduceAxes(b, out, in, axes, stages{
		between: sumOf,
		kernel: func(w work, from, to family.Elem) reader {
			k, ok := emit.Choose(b, emit.QuadLocal, func(k family.Sum) (float64, string) {
				if k.Column != w.column || k.From != from || k.To != to || k.Team != family.Alone {
					return 0, ""
				}
				// Sums of sixteen columns take more registers than narrow subgroups have.
				if k.Wide && w.column && b.Facts.SubgroupSize < 8 {
					return 0, ""
				}
				return w.speed(b, k.Wide, k.Access), ""
			})
			if !ok { // in a trial of teams, where nothing else may sum rows
				k = family.Sum{Column: w.column, From: from, To: to}
			}
			return reader{shaders.Of(k), k.Wide, k.Access, plan.FormatRGBA32F}
		},
		team: func(from, to family.Elem, w *rowWork) family.Sum {
			k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Sum) (float64, string) {
				if k.Column || k.Wide || k.Access != family.Buffers || k.From != from || k.To != to {
					return 0, ""
				}
				return w.speed(b.Facts, k.Team)
			})
			return k
		},
		push: func(_ *partial, to family.Elem, final bool) emit.Push {
			switch {
			case to != family.F32 && to != family.F16:
				return f.bytes(off, count)
			case final:
				return f.floats()
			}
			return emit.Push{}.Floats(1, math.Inf(-1), math.Inf(1))
		},
	})
}

// sumOf is the type of sums of elements of t.
func sumOf(t family.Elem) family.Elem {
	if t == family.Q8 || t == family.I32 {
		return family.I32
	}
	return family.F32
}

// meanFinish turns the sum of count elements of in into an element of out.
func meanFinish(in, out *ir.Tensor, count int) finish {
	f := finish{factor: 1 / float64(count), bounds: pack.Bounds(out, nn.ActNone)}
	if in.Type.IsQuant8() {
		// From TensorFlow Lite's optimized_integer_ops::Mean: stored integers are summed, and the zero
		// points become one bias that is rounded by itself; scales are combined in float32.
		f.factor = float64(in.Scale / (float32(count) * out.Scale))
		f.zero = out.Zero - int32(math.Round(float64(float32(in.Zero)*in.Scale/out.Scale)))
	}
	return f
}

// finish is how a sum becomes an element of the output: times factor, plus zero (8-bit), clamped.
type finish struct {
	factor float64
	zero   int32
	bounds []uint32 // see pack.Bounds
}

// floats are the push constants of f for sums of floats.
func (f finish) floats() emit.Push { return emit.Push{emit.F32(f.factor)}.Words(f.bounds...) }

// bytes are those for sums of count bytes, off apart from unsigned ones.
func (f finish) bytes(off, count int) emit.Push {
	m := pack.MultiplierWords(f.factor)
	return emit.Ints(off, off*count).Words(m[:]...).Ints(int(f.zero)).Words(f.bounds...)
}
