package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func lowerDepthwise(b *emit.Builder, n *ir.Node) {
	c := convOf(b.Graph, n)
	switch {
	case !c.constant():
		lowerDirect(b, c.node, "the filter is known at run time only")
		return
	case c.multiplier != 1:
		lowerDirect(b, c.node, "several outputs of a channel")
		return
	}
	taps, quads := c.Taps, c.OutQuads()
	if int64(taps*quads) > b.Facts.MaxTexelElements {
		lowerDirect(b, c.node, "the filter exceeds a texel buffer")
		return
	}
	recipe := pack.Recipe{How: "PadRows", Shape: [6]int{int(c.W.Type), 0, taps, c.Out}}
	filter := func() []float32 { return pack.Floats(c.W) }
	var q *pack.Quantized
	var bias []int
	shifted := false
	if c.X.Type.IsQuant8() {
		q = pack.Quantize(&c.Filter)
		var bound []int
		if bias, bound = q.DepthwiseBounds(); !pack.ExactSums(bound) {
			lowerDirect(b, c.node, "sums that floats do not hold exactly")
			return
		}
		filter, shifted = q.DepthwiseFloats, !q.FitsFloats(bound)
		recipe.How, recipe.Shape[1] = "DepthwiseFloats", q.WZero
	}
	texel := quadTexels(elem(c.X.Type))
	k, ok := chooseDepthwise(b, c, texel, shifted)
	if !ok { // those that scale by shifts were not compared yet
		lowerDirect(b, c.node, "no kernel for sums of this size is to be used")
		return
	}
	runs, count := c.depthwiseGrid(k)
	push := emit.Ints(count, quads, runs).Words(c.windowPush()...)
	var channels emit.Value
	if q != nil {
		push = push.Words(q.Flip, uint32(q.XZero*0x01010101)^q.Flip).Ints(q.Rounding, int(c.Y.Zero))
		if k.Shift {
			channels = b.WeightsU32(c.Channels(quads, bias))
		} else {
			channels = b.WeightsU32(q.FloatChannels(quads, bias))
		}
	} else {
		channels = b.WeightsF32(pack.PadRows(pack.Floats(c.Bias), 1, c.Out))
	}
	push = push.Words(pack.Bounds(c.Y, activation(n))...)
	if k.Walk {
		push = push.Ints(c.walk())
	}
	x, y := b.Reach(k.Access, b.Tensor(n.In[0]), b.Tensor(n.Out[0]), texel)
	weights := b.Packed(c.W.Const, recipe, int64(taps*quads)*16, func(dst []byte) {
		copy(dst, pack.FloatBytes(pack.PadRows(filter(), taps, c.Out)))
	})
	b.Quads(shaders.Of(k), count, push, emit.Cost{FLOP: c.flop()},
		x, b.Read(weights, plan.FormatRGBA32F), b.Read(channels, plan.FormatNone), y)
}

// chooseDepthwise returns the kernel for c with texels of the given format: one for its window, if there is one.
// shifted: sums must be scaled by shifts.
func chooseDepthwise(b *emit.Builder, c *conv, texel plan.Format, shifted bool) (k family.Depthwise, ok bool) {
	x, y := b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0])
	return emit.Choose(b, emit.QuadLocal, func(k family.Depthwise) (speed float64, why string) {
		speed, why = 1, "any window"
		if k.Width != 0 {
			speed, why = 1.5, fmt.Sprintf("a window %d wide, stride %d", k.Width, k.Stride)
			if b.Facts.Quick { // one kernel for all windows is enough where kernels are to be few
				speed = 0.5
			}
		}
		if (k.Rows > 0 || k.Walk) && (b.Facts.Quick || c.kH != c.kW || c.dilH != 1) {
			return 0, ""
		}
		if k.Elem != elem(c.X.Type) || k.Width != 0 && (k.Width != c.kW || k.Stride != c.strideW || c.strideW != c.strideH || c.dilW != 1) {
			return 0, ""
		}
		if shifted && !k.Shift {
			return 0, ""
		}
		// Shifts of vectors by variables are fast on GPUs, and on CPUs with vectors of 8 lanes (AVX2 has them, SSE does
		// not).
		if k.Shift == (b.Facts.Class != plan.ClassCPU || b.Facts.SubgroupSize >= 8) {
			speed *= 1.1
		}
		if k.Walk {
			return speed * walkSpeed(b.Facts, k) * b.AccessSpeed(k.Access, x, y, texel), why + "; down the rows"
		}
		if k.Rows > 0 {
			share, how := c.depthwiseRows(b, k, texel)
			return speed * share, why + "; " + how
		}
		return speed * b.AccessSpeed(k.Access, x, y, texel), why
	})
}

// depthwiseGrid is the number of invocations of k along a row of the output, and in all.
func (c *conv) depthwiseGrid(k family.Depthwise) (runs, count int) {
	across, down := k.Pixels()
	if k.Walk {
		down = c.walk()
	}
	runs = (c.outW + across - 1) / across
	return runs, c.Y.Shape[0] * ((c.outH + down - 1) / down) * runs * c.OutQuads()
}

// elsewhere is the speed of kernels that were made for other devices.
const elsewhere = 1e-3

// walkSpeed is how many times as fast k, which goes down the rows, is as the kernel that goes through the rows of the filter. It
// loads a third as much; on processors with 8 lanes, where storing takes longer than loading, only bytes gain by it, which
// compile faster. Measured.
func walkSpeed(f *plan.Facts, k family.Depthwise) float64 {
	if f.Class != plan.ClassCPU || f.SubgroupSize >= 8 && k.Elem != family.Q8 {
		return elsewhere
	}
	return 1.5
}

// walk is how many rows of the output an invocation of a kernel that goes down the rows computes: as many as leave enough
// invocations for all cores.
func (c *conv) walk() int {
	const most, enough = 16, 1024
	all := c.Y.Shape[0] * c.outH * ((c.outW + 3) / 4) * c.OutQuads()
	run := min(max(all/enough, 4), most, c.outH)
	bands := (c.outH + run - 1) / run
	return (c.outH + bands - 1) / bands
}

// depthwiseRows is how many times as fast k, a kernel of several rows, is as the one that goes through the rows of the
// filter and loads and stores by storage buffers. On GPUs that is by how long both take to load what they multiply. Processors
// have that in their caches; they execute fewer loads for each pixel, which was measured.
func (c *conv) depthwiseRows(b *emit.Builder, k family.Depthwise, texel plan.Format) (share float64, why string) {
	const (
		anyAccess = 1.65 // the fastest of emit.AccessSpeed
		underWay  = 16   // loads of an invocation at a time
		unitLoads = 64   // bytes that a unit loads from its cache in a cycle
		unrolled  = 1.2  // on processors
	)
	why = fmt.Sprintf("%d rows of the output together", k.Rows)
	f := b.Facts
	switch {
	case (k.Across == 4) == (f.Class == plan.ClassGPU), f.Class != plan.ClassGPU && f.SubgroupSize < 8:
		return elsewhere, why
	case f.Class != plan.ClassGPU:
		return unrolled * b.AccessSpeed(k.Access, b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0]), texel), why
	}
	cycles := func(k family.Depthwise) float64 {
		across, down := k.Pixels()
		loads, waits := c.kH*((across-1)*c.strideW+c.kW), c.kH // one for each row of the filter
		if k.Rows > 0 {
			loads = ((down-1)*c.strideH + c.kH) * ((across-1)*c.strideW + c.kW)
			waits = (loads + underWay - 1) / underWay
		}
		_, count := c.depthwiseGrid(k)
		g := gpuGrid{groups: (count + emit.QuadLocal - 1) / emit.QuadLocal, invocations: emit.QuadLocal}
		moved := float64(count*loads*4*c.X.Type.Bytes()) / float64(unitLoads*units(f))
		return max(float64(g.rounds(units(f))*waits*loadCycles), moved)
	}
	plain := k
	plain.Rows = 0
	return anyAccess * cycles(plain) / cycles(k), why
}
