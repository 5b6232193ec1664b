package lower

import (
	"errors"
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
	register(rule{check: checkConv, lower: lowerConv, divide: divideConv}, nn.OpConv2D, nn.OpFullyConnected, nn.OpGroupedConv2D)
	register(rule{check: checkConv, lower: lowerDepthwise, divide: divideConv}, nn.OpDepthwiseConv2D)
	register(rule{check: checkConv, lower: lowerTransposed, divide: divideConv}, nn.OpTransposeConv2D)
}

// maxReach bounds paddings and the extent of a dilated window. Kernels compute positions in int32; with both below
// it, a position outside of the image does not wrap around into it.
const maxReach = 1 << 30

// maxRuntimeChannels bounds the output channels of 8-bit filters that are not in the model: the compiler makes a
// multiplier for each, which could otherwise take much more than the model itself.
const maxRuntimeChannels = 1 << 20

// conv is a convolution in the form that all kernels share; FULLY_CONNECTED is a 1x1 one over rows.
type conv struct {
	pack.Filter
	node             *ir.Node
	add              *ir.Node // of another tensor to the result, until a kernel does it; nil: none
	pixels           int      // output rows: batch, height, width
	inH, inW         int
	outH, outW       int
	kH, kW           int
	strideH, strideW int
	dilH, dilW       int
	padTop, padLeft  int
	pad              ops.Pad
	multiplier       int  // output channels per input channel of a depthwise one, per group of a grouped one
	grouped          bool // In are the channels of a group
	transposed       bool // windows lie in the output
	turned           bool // the taps of the filter are in the opposite order
	several          bool // the filter is one of several in a tensor, each packed by itself
	// inPlace is how much faster products are that read the filter, [In, Out], where it lies; 0 if none can.
	inPlace float64
}

// convOf reads a node; its operands have the ranks that the operation demands.
func convOf(g *ir.Graph, n *ir.Node) *conv {
	c := &conv{node: n, Filter: pack.Filter{X: g.T(n.In[0]), W: g.T(n.In[1]), Bias: g.T(n.In[2]), Y: g.T(n.Out[0]), Taps: 1}}
	if n.Op == nn.OpFullyConnected {
		c.In, c.Out = c.W.Shape[1], c.W.Shape[0]
		c.pixels = c.X.Elements() / c.In
		c.inH, c.inW, c.outH, c.outW = 1, 1, 1, 1
		c.kH, c.kW, c.strideH, c.strideW, c.dilH, c.dilW = 1, 1, 1, 1, 1, 1
		return c
	}
	c.In, c.Out = c.X.Shape[3], c.Y.Shape[3]
	var a ops.Conv
	switch attrs := n.Attrs.(type) {
	case ops.Conv:
		a = attrs
	case ops.DepthwiseConv:
		a, c.Depthwise, c.multiplier = attrs.Conv, true, attrs.Multiplier
	case ops.GroupedConv:
		a, c.grouped, c.multiplier = attrs.Conv, true, c.Out/attrs.Groups
		c.In /= attrs.Groups
	case ops.TransposeConv:
		a, c.transposed = ops.Conv{Stride: attrs.Stride, Dilation: [2]int{1, 1}, Pad: attrs.Pad}, true
	}
	c.inH, c.inW, c.outH, c.outW = c.X.Shape[1], c.X.Shape[2], c.Y.Shape[1], c.Y.Shape[2]
	c.pixels = c.Y.Shape[0] * c.outH * c.outW
	c.kH, c.kW = c.W.Shape[1], c.W.Shape[2]
	c.Taps = c.kH * c.kW
	c.strideH, c.strideW = a.Stride[0], a.Stride[1]
	c.dilH, c.dilW = a.Dilation[0], a.Dilation[1]
	c.pad, c.padTop, c.padLeft = a.Pad, a.Pad.Top, a.Pad.Left
	return c
}

// window reports whether the convolution needs more than the row of x at the same position.
func (c *conv) window() bool {
	return c.kH != 1 || c.kW != 1 || c.strideH != 1 || c.strideW != 1 || c.padTop != 0 || c.padLeft != 0 ||
		c.outH != c.inH || c.outW != c.inW || c.grouped
}

// tiled reports whether the groups of a grouped convolution are whole quads of the input and whole tiles, of the
// narrowest kind, of the output.
func (c *conv) tiled() bool { return c.In%4 == 0 && c.multiplier%8 == 0 }

// groupQuads is the number of quads of output channels that are made from the same input channels.
func (c *conv) groupQuads() int {
	if c.grouped {
		return c.multiplier / 4
	}
	return c.OutQuads()
}

// loops is the number of iterations of all loops of an invocation, for any kernel, as counted by the lavapipe that has
// a limit: by measurement, a nested loop costs one or two iterations more than it has.
func (c *conv) loops() int {
	switch {
	case c.Depthwise:
		return 1 + c.kH*(3+c.kW)
	case c.grouped && !c.tiled():
		return 1 + c.Taps*(3+c.In)
	case c.window():
		return 1 + c.kH*(3+c.kW*(2+c.sumLoops()))
	}
	return 3 + c.sumLoops()
}

// sumLoops is the number of iterations of the sum at one position of the window, where that of 8 bits goes in pieces of
// 64 quads.
func (c *conv) sumLoops() int {
	if c.X.Type.IsQuant8() {
		return c.InQuads() + 2*((c.InQuads()+63)/64)
	}
	return c.InQuads()
}

// push appends to fixed the description of the window, if k has variants with and without one.
func (c *conv) push(fixed emit.Push) emit.Push {
	if c.window() {
		return fixed.Ints(pack.LayoutOf(c.X).Quads, c.groupQuads()).Words(c.windowPush()...)
	}
	return fixed
}

// windowPush is the part of the push constants that describes the window.
func (c *conv) windowPush() emit.Push {
	return emit.Ints(c.inH, c.inW, c.outH, c.outW, c.kH, c.kW, c.strideH, c.strideW, c.dilH, c.dilW, c.padTop, c.padLeft)
}

func (c *conv) flop() float64 {
	perOutput := float64(c.Taps)
	if !c.Depthwise {
		perOutput *= float64(c.In)
	}
	if c.transposed { // only one tap in so many meets a pixel
		perOutput /= float64(c.strideH * c.strideW)
	}
	return 2 * perOutput * float64(c.pixels) * float64(c.Out)
}

func checkConv(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	c := convOf(g, n)
	switch c.X.Type {
	case nn.TensorFloat32, nn.TensorFloat16:
		if c.W.Type != c.X.Type || c.Bias.Type != c.X.Type || c.Y.Type != c.X.Type {
			return fmt.Errorf("mixed types: input %v, filter %v, bias %v", c.X.Type, c.W.Type, c.Bias.Type)
		}
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned:
		if (c.W.Type != c.X.Type && c.W.Type != nn.TensorQuant8PerChannel) || c.Bias.Type != nn.TensorInt32 || c.Y.Type != c.X.Type {
			return fmt.Errorf("mixed types: input %v, filter %v, bias %v", c.X.Type, c.W.Type, c.Bias.Type)
		}
		// 255 * 255 * terms must stay below 2^31.
		if terms := c.Taps * c.InQuads() * 4; terms > 33000 && !c.Depthwise {
			return fmt.Errorf("%d products may overflow 32 bits", terms)
		}
	default:
		return fmt.Errorf("type %v", c.X.Type)
	}
	if n.Op == nn.OpFullyConnected && c.X.Shape[len(c.X.Shape)-1] != c.In {
		return fmt.Errorf("%v elements are not rows of %d", c.X.Shape, c.In)
	}
	if c.Depthwise && (c.multiplier <= 0 || c.In*c.multiplier != c.Out) {
		return fmt.Errorf("%d channels times multiplier %d are not %d", c.In, c.multiplier, c.Out)
	}
	if loop := c.loops(); loop > emit.MaxLoop {
		return fmt.Errorf("%d steps in one sum, at most %d", loop, emit.MaxLoop)
	}
	if reach := max((c.kH-1)*c.dilH, (c.kW-1)*c.dilW, c.pad.Top, c.pad.Bottom, c.pad.Left, c.pad.Right); reach > maxReach {
		return fmt.Errorf("a window or padding of %d, at most %d", reach, maxReach)
	}
	if c.pixels*c.OutQuads() > emit.MaxInvocations {
		return errors.New("output too large")
	}
	if c.X.Type.IsQuant8() && !c.constant() && c.Out > maxRuntimeChannels {
		return fmt.Errorf("%d output channels of a filter that is known only at run time, at most %d", c.Out, maxRuntimeChannels)
	}
	if err := emit.CheckWork(c.flop()); err != nil {
		return err
	}
	m := *n
	if !c.mayBeDirect(f) {
		m.In = []ir.ID{n.In[0], n.In[2]} // the filter is packed and cut into slabs
	}
	return emit.CheckTensors(f, g, &m)
}

// mayBeDirect reports whether lowerDirect could be chosen, which binds the filter as a whole. It is also true in some
// cases in which it is not: filters of depthwise convolutions are small.
func (c *conv) mayBeDirect(f *plan.Facts) bool {
	const widest = 16 // output channels of a tile
	return c.Depthwise || c.grouped && !c.tiled() || c.transposed || !c.constant() || int64(c.Taps*c.InQuads()*widest) > f.MaxTexelElements ||
		c.X.Type.IsQuant8() && pack.LayoutOf(c.X).Bytes()/4 > f.MaxTexelElements
}

// constant reports whether filter and bias are known, so that they can be packed.
func (c *conv) constant() bool { return c.packs() && c.Bias.Const != nil }

// packs reports whether the filter alone is known.
func (c *conv) packs() bool { return c.W.Const != nil && !c.turned }

func lowerConv(b *emit.Builder, n *ir.Node) {
	product, add := n, (*ir.Node)(nil)
	if len(n.In) > residual {
		product, add = apartFrom(n)
	}
	c := convOf(b.Graph, product)
	c.add = add
	if c.grouped && !c.tiled() {
		lowerDirect(b, product, "groups are not whole tiles")
	} else {
		lowerProduct(b, c)
	}
	if c.add != nil {
		b.Instead("no kernel of these products adds tensors")
		lowerBinary(b, c.add)
	}
}

// lowerTransposed makes one of stride 1 a convolution with the filter turned round; package compile does so if the
// filter is a constant.
func lowerTransposed(b *emit.Builder, n *ir.Node) {
	c := convOf(b.Graph, n)
	if c.strideH != 1 || c.strideW != 1 {
		lowerDirect(b, n, "the only kernel for strides")
		return
	}
	c.transposed, c.turned = false, true
	c.padTop, c.padLeft = c.kH-1-c.padTop, c.kW-1-c.padLeft
	lowerProduct(b, c)
}

func lowerProduct(b *emit.Builder, c *conv) {
	switch {
	case !c.constant() && c.pixels < PackedRows:
		lowerDirect(b, c.node, "the filter is known at run time only, for few rows")
	case c.X.Type.IsQuant8():
		lowerGemmQ8(b, c)
	default:
		lowerGemmFloat(b, c)
	}
}

// gemmLocal is the workgroup size of the matrix kernels: small on CPUs, where a tile is a lot of work.
func gemmLocal(f *plan.Facts) uint32 {
	if f.Class == plan.ClassCPU {
		return 8
	}
	return 64
}

// slabs cuts count tiles of tileTexels texels each into runs of no more than most texels.
func slabs(most int64, count, tileTexels int) [][2]int {
	per := max(1, int(most)/tileTexels)
	var runs [][2]int
	for first := 0; first < count; first += per {
		runs = append(runs, [2]int{first, min(first+per, count)})
	}
	return runs
}

func lowerGemmFloat(b *emit.Builder, c *conv) {
	if w := chooseWinograd(b.Facts, c); w != nil && lowerWinograd(b, w) {
		return
	}
	if p, ok := choosePatches(b.Facts, c); ok && lowerPatches(b, p) {
		return
	}
	k, ok := chooseGemm(b, c, false)
	if !ok {
		lowerDirect(b, c.node, filterTooLarge)
		return
	}
	if k.Matrix != (family.Matrix{}) {
		lowerMatrixFloat(b, c, k)
		return
	}
	dispatchTiles(b, c, k, slabFloat(b, c, k), floatBias(b, c, c.tiles(k)*k.N), gemmPush{end: c.end(k)})
}

// slabFloat packs tiles run[0] to run[1] of the filter of c for k.
func slabFloat(b *emit.Builder, c *conv, k family.Gemm) func(run [2]int) emit.Value {
	return func(run [2]int) emit.Value {
		switch {
		case k.Rows:
			return b.Tensor(c.node.In[1])
		case !c.packs():
			return packedOnDevice(b, c, k, run)
		}
		part, n := c.Tiles(k.N, run), run[1]-run[0]
		if k.Blocks {
			do := func(dst []byte) { part.BlockTiles(dst, blockTerms(k), k.N, 0, n) }
			return b.Packed(part.W.Const, part.Recipe("BlockTiles", 0, k.N), int64(n*c.tileTexels(k))*16, do)
		}
		how, do := "FloatTiles", func(dst []byte) { part.FloatTiles(dst, k.N, 0, n) }
		if k.Shared && k.Elem == family.F16 {
			how, do = "HalfTiles", func(dst []byte) { part.HalfTiles(dst, k.N, 0, n) }
		}
		return b.Packed(part.W.Const, part.Recipe(how, 0, k.N), int64(n*c.tileTexels(k))*16, do)
	}
}

// floatBias is the bias of c, padded to so many channels if it is a constant.
func floatBias(b *emit.Builder, c *conv, channels int) emit.Value {
	if c.Bias.Const == nil {
		return biasOnDevice(b, c)
	}
	recipe := pack.Recipe{How: "bias", Shape: [6]int{int(c.Bias.Type), channels}}
	return b.Packed(c.Bias.Const, recipe, int64(4*channels), func(dst []byte) {
		clear(dst[copy(dst, pack.FloatBytes(pack.Floats(c.Bias))):])
	})
}

func lowerGemmQ8(b *emit.Builder, c *conv) {
	if p, ok := choosePatches(b.Facts, c); ok && lowerPatches(b, p) {
		return
	}
	q := pack.Quantize(&c.Filter)
	var bias []int
	fits := false
	if c.constant() {
		var bound []int
		bias, bound = q.FoldZeroPoints()
		fits = q.FitsFloats(bound)
	}
	k, ok := chooseGemm(b, c, !fits)
	if !ok {
		lowerDirect(b, c.node, filterTooLarge)
		return
	}
	if k.Matrix != (family.Matrix{}) {
		lowerMatrixQ8(b, c, k, q)
		return
	}
	channels, push := channelsQ8(b, c, k, q, bias)
	dispatchTiles(b, c, k, slabQ8(b, c, k, q), channels, push)
}

// slabQ8 is slabFloat for the filter q of c, of 8 bits.
func slabQ8(b *emit.Builder, c *conv, k family.Gemm, q *pack.Quantized) func(run [2]int) emit.Value {
	return func(run [2]int) emit.Value {
		if !c.constant() {
			return packedOnDevice(b, c, k, run)
		}
		part, n := q.Tiles(k.N, run), run[1]-run[0]
		do := func(dst []byte) { part.WordTiles(dst, k.N, 0, n) }
		return b.Packed(part.W.Const, part.Recipe("WordTiles", q.WZero, k.N), int64(n*c.tileTexels(k))*16, do)
	}
}

// channelsQ8 are the records of the channels of c for k, with what bias has where it is known, and the push constants.
func channelsQ8(b *emit.Builder, c *conv, k family.Gemm, q *pack.Quantized, bias []int) (channels emit.Value, push gemmPush) {
	quads := c.tiles(k) * k.N / 4
	switch {
	case !c.constant():
		return channelsOnDevice(b, c, q), c.push8(k, q, 0)
	case k.Dot || k.Flush:
		records, addend := c.records(b.Graph, k, quads, bias)
		return b.WeightsU32(records), c.push8(k, q, addend)
	}
	return b.WeightsU32(q.FloatChannels(quads, bias)), c.push8(k, q, 0)
}

// push8 has the push constants of 8-bit products behind sizes; addend is that of records.
func (c *conv) push8(k family.Gemm, q *pack.Quantized, addend int) gemmPush {
	push := gemmPush{operands: emit.Push{q.Flip}.Ints(q.WZero), end: emit.Ints(q.Rounding, int(c.Y.Zero)).Words(pack.Bounds(c.Y, activation(c.node))...)}
	if adder(k) {
		push.end = push.end.Ints(addend)
	}
	if c.window() {
		push.outside = emit.Ints(q.XZero * 0x01010101)
	}
	return push
}

// gemmPush has the push constants of a matrix product behind sizes, in their order: for operands, for what becomes of
// sums, and for what lies outside of the image.
type gemmPush struct{ operands, end, outside emit.Push }

// productPush are the last push constants of products without a window: the tiles of rows that each has, the first
// quads of its operand and of the result, and the texels from one filter to the next.
func productPush(rows, x, y, filter int) emit.Push { return emit.Ints(rows, x, y, filter) }

// dispatchTiles appends the product k of c. slab packs tiles run[0] to run[1] of the filter, which may have more than
// one texel buffer holds; channels is what the kernel adds to sums.
func dispatchTiles(b *emit.Builder, c *conv, k family.Gemm, slab func(run [2]int) emit.Value, channels emit.Value, p gemmPush) {
	if k.Shared {
		dispatchShared(b, c, k, slab, channels, p)
		return
	}
	if k.Blocks {
		dispatchBlocks(b, c, k, slab, channels, p)
		return
	}
	x, y := b.Reach(k.Access, b.Tensor(c.node.In[0]), b.Tensor(c.node.Out[0]), quadTexels(k.Elem))
	tiles, rows := c.tiles(k), c.rows(k)
	push := c.push(p.operands.Words(p.end...).Words(p.outside...))
	switch {
	case k.Window:
	case k.Elem == family.Q8:
		push = push.Words(productPush(rows, 0, 0, 0)...).Ints(0)
	default:
		push = push.Words(productPush(rows, 0, 0, 0)...)
	}
	y.Apart = b.Apart()
	for _, run := range slabs(c.slabTexels(b.Facts, k), tiles, c.tileTexels(k)) {
		dispatchRows(b, k, rows, run, emit.Ints(c.pixels, c.InQuads(), c.OutQuads()).Words(push...),
			emit.Cost{FLOP: c.flop() * float64(run[1]-run[0]) / float64(tiles)},
			productBindings{x: x, filter: emit.Binding{Value: slab(run)}, channels: b.Read(channels, plan.FormatNone), y: y})
	}
}

// productBindings is what a matrix product binds; filter without its format.
type productBindings struct{ x, filter, channels, y emit.Binding }

// dispatchRows appends one dispatch of the product k: so many tiles of rows, and tiles run[0] to run[1] of the channels. push is
// what follows the place of these in the push constants.
func dispatchRows(b *emit.Builder, k family.Gemm, rows int, run [2]int, push emit.Push, cost emit.Cost, at productBindings) {
	tiles := run[1] - run[0]
	if k.Blocks {
		filter, blocks := b.Blocks(at.filter, blockBytes(k))
		groups := rows * tiles
		b.Dispatch(shaders.Of(k), blocksLocal, groups*blocksLocal, emit.Ints(groups, tiles, blocks-1).Words(push...), cost, at.x, at.channels, at.y, filter)
		return
	}
	at.filter.Format = filterFormat(k)
	count := rows * lanes(k, tiles)
	b.Dispatch(shaders.Of(k), gemmLocal(b.Facts), count, emit.Ints(count, tiles, run[0]*k.N/4).Words(push...), cost, at.x, at.filter, at.channels, at.y)
}

// filterTooLarge says why no tile can be bound.
const filterTooLarge = "a tile of the filter exceeds a texel buffer"

// lowerDirect uses the kernel that reads filter and bias as ordinary tensors.
func lowerDirect(b *emit.Builder, n *ir.Node, why string) {
	b.Instead("direct: " + why)
	c := convOf(b.Graph, n)
	push := emit.Ints(c.pixels*c.OutQuads(), pack.LayoutOf(c.X).Quads, c.In, c.OutQuads(), c.Out).Words(c.windowPush()...).Ints(max(1, c.multiplier))
	bindings := []emit.Binding{b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), b.Out(n.Out[0])}
	if c.X.Type.IsQuant8() {
		off, woff := int(pack.SignOffset(c.X.Type)), int(pack.SignOffset(c.W.Type))
		wzero := 0
		if c.W.Type.IsQuant8() {
			wzero = int(c.W.Zero)
		}
		push = push.Ints(off*0x01010101, woff*0x01010101, int(c.X.Zero)+off, wzero+woff, c.RoundingMask(), int(c.Y.Zero))
		bindings = append(bindings, b.Read(b.WeightsU32(c.Multipliers()), plan.FormatNone))
	}
	push = push.Words(pack.Bounds(c.Y, activation(n))...)
	k := shaders.Of(family.Direct{Elem: elem(c.X.Type), Depthwise: c.Depthwise, Grouped: c.grouped, Transposed: c.transposed})
	b.Quads(k, c.pixels*c.OutQuads(), push, emit.Cost{FLOP: c.flop()}, bindings...)
}

// divideConv divides between images and, within one, between rows of the output; where a row of the output needs only
// the same row of the input, between any pixels.
func divideConv(g *ir.Graph, n *ir.Node) []division {
	c := convOf(g, n)
	if c.transposed {
		return divideTransposed(g, n, windows{c.inH, c.outH, c.kH, c.strideH, c.padTop})
	}
	if c.Depthwise || c.grouped || c.window() {
		return divideWindows(g, n, windows{c.inH, c.outH, (c.kH-1)*c.dilH + 1, c.strideH, c.padTop})
	}
	x, y := rowsOf(c.X), rowsOf(c.Y)
	x.Shape = []int{c.pixels, c.In}
	at := 0
	if n.Op != nn.OpFullyConnected {
		x.Shape, y.Shape, at = []int{1, 1, c.pixels, c.In}, []int{1, 1, c.pixels, c.Out}, 2
	}
	return []division{{c.pixels, func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, at, from, to), along(y, at, from, to)), n.Attrs
	}}}
}
