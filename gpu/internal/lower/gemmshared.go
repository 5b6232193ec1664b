package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// The time of a matrix product on a GPU is estimated in cycles of its busiest compute unit, by gpuGrid.cycles. The
// constants are those of an H200, fitted to the products of resnet50, whose times a sum of such terms gives to 0.6 µs;
// the error of the estimate is larger than the difference of other GPUs from this one.
const (
	// unitProducts are multiply-adds of floats that a compute unit begins in a cycle.
	unitProducts = 128
	// unitBytes is what memory delivers to one unit in a cycle: 4.8 TB/s between 132 units at 1.8 GHz.
	unitBytes = 20
	// unitCacheBytes is the same of the cache that all units share, which holds parts of sums: 13 TB/s.
	unitCacheBytes = 55
	// unitInvocations are those that one unit holds at a time, with the registers that tiles take (about 64).
	unitInvocations = 1024
	// loadCycles pass from a load from memory until the value is there.
	loadCycles = 600
	// stepCycles are what a step of a workgroup takes besides its products: the way of its operands through shared memory,
	// and what is left of waiting for them.
	stepCycles = 400
	// dispatchCycles is the cost of a dispatch that waits for the one before: 3.4 µs.
	dispatchCycles = 6000
	// splitLoss is how much faster sums in parts must be to be worth another dispatch: the estimate is no better than
	// that.
	splitLoss = 1.1
	// unknownUnits stands for the number of compute units of a device that does not say.
	unknownUnits = 32
	// maxParts bounds the parts of a sum: each writes as many sums as the output has elements.
	maxParts = 16
	// registerPeak is the part of unitProducts that register tiles reach without shared memory, where each invocation loads
	// all that it multiplies.
	registerPeak = 0.05
)

// sharedPeaks are the part of unitProducts that tiles in shared memory reach with floats, by their width: the wider, the
// more products there are for each load from shared memory. Near what an H200 reached: 21, 40 and 48 TFLOP/s of 58.
var sharedPeaks = map[int]float64{32: 0.4, 64: 0.6, 128: 0.8}

// gpuGrid is the work of a dispatch as a GPU gets it.
type gpuGrid struct {
	groups      int     // workgroups
	invocations int     // of a workgroup
	products    float64 // multiply-adds of a workgroup
	steps       int     // of a workgroup, one after the other
	peak        float64 // part of unitProducts that the kernel reaches where all units are full
}

// cycles is the time of g on a device with so many compute units: the busiest unit computes its workgroups at the
// kernel's rate, and waits at each step of one. Those that it holds at a time wait together.
func (g *gpuGrid) cycles(units int) float64 {
	busiest := (g.groups + units - 1) / units
	return float64(busiest)*g.products/(unitProducts*g.peak) + float64(g.rounds(units)*g.steps*stepCycles)
}

// rounds is how many times the busiest unit takes as many workgroups as it can hold.
func (g *gpuGrid) rounds(units int) int {
	busiest := (g.groups + units - 1) / units
	return (busiest*g.invocations + unitInvocations - 1) / unitInvocations
}

// units is the number of compute units to assume.
func units(f *plan.Facts) int {
	if f.ComputeUnits == 0 {
		return unknownUnits
	}
	return int(f.ComputeUnits)
}

// depth is the number of products in each sum of c, with the padding.
func (c *conv) depth() int { return c.Taps * c.InQuads() * 4 }

// gpuSpeed is the score of a product that takes this many cycles: 1 for register tiles that fill the device.
func (c *conv) gpuSpeed(f *plan.Facts, cycles float64) float64 {
	ideal := float64(c.pixels) * float64(c.Out) * float64(c.depth()) / (unitProducts * float64(units(f)))
	return ideal / cycles / registerPeak
}

// registerShare is the part of their full speed that register tiles reach on a GPU, by the shape alone; 1 on other
// devices.
func registerShare(f *plan.Facts, c *conv, k family.Gemm) float64 {
	if f.Class != plan.ClassGPU || f.Quick {
		return 1
	}
	local := int(gemmLocal(f))
	g := gpuGrid{
		groups: (c.rows(k)*c.tiles(k) + local - 1) / local, invocations: local,
		products: float64(local * k.M * k.N * c.depth()), steps: c.depth() / 4, peak: registerPeak,
	}
	return c.gpuSpeed(f, g.cycles(units(f)))
}

// sharedStep is the number of products of a sum in a step of a tile in shared memory, as shaders/gen/convshared.go has it.
func sharedStep(k family.Gemm) int {
	switch {
	case k.Dot:
		return 32
	case k.M == 128:
		return 8
	}
	return 16
}

// sharedGrid is the work of c in tiles of k in shared memory, with sums cut into so many parts.
func (c *conv) sharedGrid(k family.Gemm, parts int) gpuGrid {
	local := shaders.Of(k).Info().Workgroup
	g := gpuGrid{groups: c.rows(k) * c.tiles(k) * parts, invocations: int(local[0] * local[1])}
	if k.M == 1 { // what is loaded is used once, and memory is the bound
		bytes := map[family.Elem]float64{family.F32: 4, family.F16: 2, family.Q8: 1}[k.Elem]
		g.products, g.steps = float64(k.N*c.depth()), (c.depth()+4*int(local[1])-1)/(4*int(local[1]))
		g.peak = unitBytes / bytes / unitProducts
		return g
	}
	g.peak = sharedPeaks[k.M]
	if k.Dot {
		g.peak *= 2
	}
	steps := (c.depth() + sharedStep(k) - 1) / sharedStep(k)
	g.steps = (steps + parts - 1) / parts
	g.products = float64(k.M * k.N * g.steps * sharedStep(k))
	return g
}

// parts is the number of parts into which the sums of c are best cut for k, and the cycles that it takes then; parts is
// 0 if k cannot do it.
func (c *conv) parts(f *plan.Facts, k family.Gemm) (parts int, cycles float64) {
	if !k.Split {
		g := c.sharedGrid(k, 1)
		return 1, g.cycles(units(f))
	}
	steps := (c.depth() + sharedStep(k) - 1) / sharedStep(k)
	return c.cut(f, steps, func(parts int) gpuGrid { return c.sharedGrid(k, parts) })
}

// cut is the number of parts, two or more, into which sums of so many steps are best cut, and the cycles of the work,
// which is grid of the parts, and of adding them up; parts is 0 if they cannot be cut. The last part may be shorter
// than the others, and none is empty.
func (c *conv) cut(f *plan.Facts, steps int, grid func(parts int) gpuGrid) (parts int, cycles float64) {
	sums := int64(c.pixels*c.OutQuads()) * 16
	cycles = math.Inf(1)
	for n := 2; n <= min(steps, maxParts) && int64(n)*sums <= f.MaxStorageRange; n++ {
		if each := (steps + n - 1) / n; (steps+each-1)/each != n {
			continue
		}
		g := grid(n)
		moved := 2 * float64(int64(n)*sums) / unitCacheBytes / float64(units(f)) // written and read
		if all := splitLoss * (g.cycles(units(f)) + moved + dispatchCycles); all < cycles {
			parts, cycles = n, all
		}
	}
	return parts, cycles
}

// tooDeep reports whether the sums of c take more loop iterations than an invocation may have (see conv.loops), which
// are at most 12 for each step of k.
func tooDeep(c *conv, k family.Gemm) bool { return c.depth()/sharedStep(k)*12 > emit.MaxLoop }

// sharedSpeed scores products through shared memory. On a GPU it depends on the loads that a whole workgroup shares,
// and on whether there are workgroups for all of its units; on the software devices barriers cost more than loads.
func sharedSpeed(f *plan.Facts, c *conv, k family.Gemm) (speed float64, why string) {
	const fewRows = 8 // beyond, rows share what tiles load
	rows, tiles := c.rows(k), c.tiles(k)
	switch {
	case max(rows, tiles) > plan.MaxGroups, tooDeep(c, k):
		return 0, ""
	case k.Rows != (!c.constant() && !k.Dot), k.Rows && (c.turned || c.several):
		return 0, ""
	case !k.Rows && int64(tiles*c.tileTexels(k))*16 > f.MaxStorageRange:
		return 0, ""
	case k.M == 1 && (!c.constant() || c.pixels > fewRows):
		return 0, ""
	}
	parts, cycles := c.parts(f, k)
	switch {
	case parts == 0:
		return 0, ""
	case k.M == 1:
		why = "invocations of a workgroup share the sums of a row"
	case k.Split:
		why = fmt.Sprintf("tile %dx%d in shared memory, sums in %d parts", k.M, k.N, parts)
	default:
		why = fmt.Sprintf("tile %dx%d in shared memory", k.M, k.N)
	}
	if f.Class != plan.ClassGPU || f.Quick {
		fill := float64(c.pixels*c.Out) / float64(rows*k.M*tiles*k.N)
		return 0.3 * fill / float64(parts), why
	}
	speed = c.gpuSpeed(f, cycles)
	if k.Dot {
		products, what := productSpeed(f, true)
		speed, why = speed*products/2, why+"; "+what
	}
	return speed, why
}

// dispatchShared is dispatchTiles for a product through shared memory.
func dispatchShared(b *emit.Builder, c *conv, k family.Gemm, slab func(run [2]int) emit.Value, channels emit.Value, p gemmPush) {
	rows, tiles := c.rows(k), c.tiles(k)
	cost := emit.Cost{FLOP: c.flop()}
	y, added := c.result(b, k, channels)
	x := b.In(c.node.In[0])
	var w emit.Binding
	if k.Rows {
		w = b.In(c.node.In[1])
	} else {
		w = b.Read(slab([2]int{0, tiles}), plan.FormatNone)
	}
	last := b.Read(channels, plan.FormatNone)
	if k.M == 1 {
		b.DispatchGroups(shaders.Of(k), [3]uint32{uint32(tiles), uint32(c.pixels), 1},
			emit.Ints(c.InQuads(), c.OutQuads()).Words(p.operands...).Words(p.end...), cost, x, w, last, y)
		return
	}
	sizes := emit.Ints(c.pixels, c.InQuads(), c.OutQuads())
	own := func(push emit.Push) emit.Push { // behind those that tell how products are counted
		if k.Rows {
			push = push.Ints(c.Out)
		}
		return push.Words(p.operands...)
	}
	parts, _ := c.parts(b.Facts, k)
	groups := [3]uint32{uint32(rows), uint32(tiles), uint32(parts)}
	if !k.Split {
		if !k.Window {
			sizes = sizes.Ints(0, 0, 0)
		}
		b.DispatchGroups(shaders.Of(k), groups, c.push(own(sizes).Words(p.end...).Words(p.outside...)), cost,
			append([]emit.Binding{x, w, last, y}, added...)...)
		return
	}
	steps := (c.depth() + sharedStep(k) - 1) / sharedStep(k)
	sums := c.sums(b, parts)
	b.DispatchGroups(shaders.Of(k), groups, c.push(own(sizes.Ints((steps+parts-1)/parts)).Words(p.outside...)), cost, x, w, b.Write(sums, plan.FormatNone))
	addSums(b, c, k.Elem, parts, sums, last, p.end, y, added)
}

// sums is scratch for the sums of c in so many parts.
func (c *conv) sums(b *emit.Builder, parts int) emit.Value {
	return b.Temp(int64(parts) * int64(c.pixels*c.OutQuads()) * 16)
}

// addSums appends the step that adds up the parts of sums and makes y of them; end and added say how.
func addSums(
	b *emit.Builder, c *conv, elem family.Elem, parts int, sums emit.Value, channels emit.Binding, end emit.Push,
	y emit.Binding, added []emit.Binding,
) {
	count := c.pixels * c.OutQuads()
	b.Instead("adds up the parts of sums")
	b.Quads(shaders.Of(family.GemmSum{Elem: elem}), count, emit.Ints(count).Divisors(c.OutQuads()).Ints(parts).Words(end...), emit.Cost{},
		append([]emit.Binding{b.Read(sums, plan.FormatNone), channels, y}, added...)...)
}
