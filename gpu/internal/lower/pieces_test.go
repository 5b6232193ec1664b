package lower

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// splitCase is a node with tensors beyond a limit.
type splitCase struct {
	name  string
	node  ir.Node
	in    []ir.Tensor // those with a Const of no bytes get one
	out   ir.Tensor
	limit int64
}

func splitCases() []splitCase {
	typed := func(typ nn.OperandType) func(...int) ir.Tensor {
		return func(shape ...int) ir.Tensor {
			t := ir.Tensor{Type: typ, Shape: shape}
			if typ.IsQuant8() {
				t.Scale, t.Zero = 0.05, 3
			}
			return t
		}
	}
	f32, f16, i32 := typed(nn.TensorFloat32), typed(nn.TensorFloat16), typed(nn.TensorInt32)
	u8, s8 := typed(nn.TensorQuant8Asymm), typed(nn.TensorQuant8AsymmSigned)
	scaled := func(t ir.Tensor, scale float32, zero int32) ir.Tensor { t.Scale, t.Zero = scale, zero; return t }
	constant := func(t ir.Tensor) ir.Tensor { t.Const = []byte{}; return t }
	node := func(op nn.OperationType, a ops.Attrs) ir.Node { return ir.Node{Op: op, Attrs: a} }
	list := func(t ...ir.Tensor) []ir.Tensor { return t }
	window := func(op nn.OperationType, size, stride, pad int, act nn.Activation) ir.Node {
		p := ops.Pad{Top: pad, Bottom: pad, Left: pad, Right: pad}
		return node(op, windowAttrs(op, size, stride, p, act))
	}
	dilated := ops.DepthwiseConv{Conv: ops.Conv{Stride: [2]int{1, 1}, Dilation: [2]int{4, 4}, Pad: ops.Pad{Top: 4, Bottom: 4, Left: 4, Right: 4}}, Multiplier: 1}
	twice := ops.DepthwiseConv{Conv: ops.Conv{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}}, Multiplier: 2}
	return []splitCase{
		{"one row", node(nn.OpExp, nil), list(f32(8195)), f32(8195), 4096},
		{"padded rows", node(nn.OpExp, nil), list(f32(301, 5)), f32(301, 5), 4096},
		{"half floats", node(nn.OpTanh, nil), list(f16(3, 301, 7)), f16(3, 301, 7), 2048},
		{"a table", node(nn.OpLogistic, nil), list(u8(2, 501, 9)), scaled(u8(2, 501, 9), 1./256, 0), 4096},
		{"a cast", node(nn.OpCast, nil), list(i32(640, 7)), f32(640, 7), 8192},
		{"quantize", node(nn.OpQuantize, nil), list(f32(301, 33)), s8(301, 33), 32768},
		{"dequantize", node(nn.OpDequantize, nil), list(u8(301, 33)), f32(301, 33), 32768},
		{"requantize", node(nn.OpQuantize, nil), list(u8(9000)), s8(9000), 4096},
		{"equal shapes", node(nn.OpAdd, ops.Arithmetic{Act: nn.ActRelu}), list(f32(1, 37, 41, 12), f32(1, 37, 41, 12)), f32(1, 37, 41, 12), 16384},
		{"a row", node(nn.OpMul, ops.Arithmetic{}), list(f32(2, 37, 41, 5), f32(5)), f32(2, 37, 41, 5), 16384},
		{"a row first", node(nn.OpSub, ops.Arithmetic{}), list(f32(1, 1, 1, 5), f32(2, 37, 41, 5)), f32(2, 37, 41, 5), 16384},
		{"a scalar", node(nn.OpAdd, ops.Arithmetic{}), list(u8(600, 31), u8(1)), u8(600, 31), 16384},
		{"an outer dimension", node(nn.OpAdd, ops.Arithmetic{}), list(f32(100, 16, 4), f32(100, 1, 4)), f32(100, 16, 4), 4096},
		{"a constant", node(nn.OpAdd, ops.Arithmetic{}), list(f32(700, 3), constant(f32(700, 3))), f32(700, 3), 4096},
		{"prelu", node(nn.OpPrelu, nil), list(f32(700, 3), constant(f32(3))), f32(700, 3), 4096},
		{"a comparison with a row", node(nn.OpLess, nil), list(f32(700, 5), f32(5)), typed(nn.TensorBool8)(700, 5), 8192},
		{"a comparison of bytes", node(nn.OpLess, nil), list(s8(9000), scaled(s8(9000), 0.1, 9)), typed(nn.TensorBool8)(9000), 4096},
		{"rows to rows", node(nn.OpReshape, nil), list(f32(999, 7)), f32(777, 9), 20000},
		{"rows to one", node(nn.OpReshape, nil), list(u8(999, 7)), u8(6993), 4096},
		{"softmax of rows", node(nn.OpSoftmax, ops.Softmax{Axis: 1, Beta: 1}), list(f32(301, 33)), f32(301, 33), 16384},
		{"softmax of columns", node(nn.OpSoftmax, ops.Softmax{Axis: 1, Beta: 1}), list(f32(64, 9, 8)), f32(64, 9, 8), 4096},
		{"softmax of bytes", node(nn.OpSoftmax, ops.Softmax{Axis: 2, Beta: 1}), list(u8(3, 301, 17)), scaled(u8(3, 301, 17), 1./256, 0), 8192},
		{"responses along rows", node(nn.OpLocalResponseNormalization, ops.LocalResponse{Axis: 1, Radius: 3, Bias: 1, Alpha: 1, Beta: 0.5}), list(f32(301, 33)), f32(301, 33), 16384},
		{"responses along columns", node(nn.OpLocalResponseNormalization, ops.LocalResponse{Axis: 1, Radius: 3, Bias: 1, Alpha: 1, Beta: 0.5}), list(f16(64, 9, 8)), f16(64, 9, 8), 4096},
		{"mean of rows", node(nn.OpMean, ops.Mean{Axes: []int{1}}), list(f32(512, 60)), f32(512), 65536},
		{"mean of columns", node(nn.OpMean, ops.Mean{Axes: []int{1}}), list(s8(64, 30, 16)), s8(64, 1, 16), 16384},
		{"maxima of rows", node(nn.OpReduceMax, ops.Mean{Axes: []int{1}}), list(f16(512, 60)), f16(512), 49152},
		{"sums of columns", node(nn.OpReduceSum, ops.Mean{Axes: []int{1}}), list(f32(64, 30, 16)), f32(64, 1, 16), 65536},
		{"places in rows", node(nn.OpArgmin, ops.Arg{Axis: 1}), list(f32(512, 60)), i32(512), 65536},
		{"concatenation of rows", node(nn.OpConcatenation, ops.Concatenation{Axis: 0}), list(f32(192, 5), f32(64, 5), f32(333, 5)), f32(589, 5), 4096},
		{"with different scales", node(nn.OpConcatenation, ops.Concatenation{Axis: 0}), list(u8(1024, 5), scaled(u8(999, 5), 0.1, 9)), u8(2023, 5), 4096},
		{"concatenation of channels", node(nn.OpConcatenation, ops.Concatenation{Axis: 2}), list(f32(1, 301, 5), f32(1, 301, 6)), f32(1, 301, 11), 12288},
		{"padded outside", node(nn.OpPad, ops.Padding{Pads: [][2]int{{2, 3}, {0, 0}}, Value: 1}), list(f32(70, 64)), f32(75, 64), 4096},
		{"padded inside", node(nn.OpPad, ops.Padding{Pads: [][2]int{{0, 0}, {1, 2}}}), list(u8(999, 9)), u8(999, 12), 4096},
		{"mirrored", node(nn.OpMirrorPad, ops.MirrorPadding{Pads: [][2]int{{0, 0}, {1, 2}}}), list(f32(301, 9)), f32(301, 12), 8192},
		{"transposed within images", node(nn.OpTranspose, ops.Transpose{Perm: []int{0, 2, 1}}), list(f32(64, 16, 4)), f32(64, 4, 16), 4096},
		{"every other position", node(nn.OpStridedSlice, ops.StridedSlice{Begin: []int{8, 1}, Stride: []int{2, 1}, Size: []int{301, 30}}), list(f32(640, 36)), f32(301, 30), 16384},
		{"backwards", node(nn.OpStridedSlice, ops.StridedSlice{Begin: []int{638, 8}, Stride: []int{-2, -1}, Size: []int{301, 9}}), list(s8(640, 9)), s8(301, 9), 4096},
		{"a slice of whole quads", node(nn.OpStridedSlice, ops.StridedSlice{Begin: []int{0, 16, 0}, Stride: []int{1, 1, 1}, Size: []int{1, 512, 8}}), list(u8(1, 528, 8)), u8(1, 512, 8), 4096},
		{"rows by indices", node(nn.OpGather, ops.Gather{}), list(f32(60, 8), i32(999)), f32(999, 8), 4096},
		{"images by indices", node(nn.OpGather, ops.Gather{Axis: 1}), list(u8(64, 30, 8), i32(2, 8)), u8(64, 2, 8, 8), 8192},
		{"either of two", node(nn.OpSelect, nil), list(typed(nn.TensorBool8)(700, 5), f32(700, 5), f32(700, 5)), f32(700, 5), 8192},
		{"tiles", node(nn.OpTile, ops.Tile{Multiples: []int{7, 1}}), list(u8(256, 9)), u8(7*256, 9), 4096},
		{"tiles within", node(nn.OpTile, ops.Tile{Multiples: []int{1, 3}}), list(f32(256, 9)), f32(256, 27), 16384},
		{"resized images", node(nn.OpResizeBilinear, ops.Resize{}), list(f32(16, 4, 4, 8)), f32(16, 8, 8, 8), 4096},
		{"the nearest rows", node(nn.OpResizeNearestNeighbor, ops.Resize{HalfPixel: true}), list(f16(1, 64, 7, 8)), f16(1, 128, 15, 8), 8192},
		{"a fully connected batch", node(nn.OpFullyConnected, ops.FullyConnected{}), list(f32(301, 20), constant(f32(17, 20)), constant(f32(17))), f32(301, 17), 16384},
		{"with 8 bits", node(nn.OpFullyConnected, ops.FullyConnected{}), list(u8(1001, 20), constant(u8(17, 20)), constant(scaled(i32(17), 0.0025, 0))), u8(1001, 17), 8192},
		{"with a filter that is an input", node(nn.OpFullyConnected, ops.FullyConnected{}), list(f32(301, 20), f32(17, 20), f32(17)), f32(301, 17), 16384},
		{"products", node(nn.OpBatchMatmul, ops.BatchMatmul{}), list(f32(9, 8, 8), f32(9, 8, 16), constant(f32(16))), f32(9, 8, 16), 8192},
		{"products of odd sizes", node(nn.OpBatchMatmul, ops.BatchMatmul{}), list(f16(64, 5, 7), f16(64, 7, 9), constant(f16(9))), f16(64, 5, 9), 262144},
		{"products of bytes", node(nn.OpBatchMatmul, ops.BatchMatmul{Right: true}), list(s8(64, 8, 7), s8(64, 16, 7), constant(scaled(i32(16), 0.0025, 0))), s8(64, 8, 16), 32768},
		{"rows of a product", node(nn.OpBatchMatmul, ops.BatchMatmul{}), list(f32(1, 999, 20), f32(1, 20, 17), constant(f32(17))), f32(1, 999, 17), 32768},
		{"pixels", window(nn.OpConv2D, 1, 1, 0, nn.ActRelu6), list(f32(2, 23, 29, 9), constant(f32(11, 1, 1, 9)), constant(f32(11))), f32(2, 23, 29, 11), 16384},
		{"pixels of bytes", window(nn.OpConv2D, 1, 1, 0, nn.ActNone), list(s8(1, 41, 37, 9), constant(s8(11, 1, 1, 9)), constant(scaled(i32(11), 0.0025, 0))), s8(1, 41, 37, 11), 8192},
		{"windows", window(nn.OpConv2D, 3, 1, 1, nn.ActNone), list(f32(1, 64, 17, 5), constant(f32(6, 3, 3, 5)), constant(f32(6))), f32(1, 64, 17, 6), 16384},
		{"windows with a stride", window(nn.OpConv2D, 5, 2, 2, nn.ActNone), list(f16(1, 256, 18, 5), constant(f16(6, 5, 5, 5)), constant(f16(6))), f16(1, 128, 9, 6), 16384},
		{"windows of bytes", window(nn.OpConv2D, 3, 2, 1, nn.ActRelu), list(u8(1, 401, 15, 6), constant(u8(6, 3, 3, 6)), constant(scaled(i32(6), 0.0025, 0))), u8(1, 201, 8, 6), 16384},
		{"windows of images", window(nn.OpConv2D, 3, 1, 1, nn.ActNone), list(f32(9, 16, 16, 5), constant(f32(6, 3, 3, 5)), constant(f32(6))), f32(9, 16, 16, 6), 4096},
		{"dilated windows", node(nn.OpDepthwiseConv2D, dilated), list(f32(1, 128, 13, 8), constant(f32(1, 3, 3, 8)), constant(f32(8))), f32(1, 128, 13, 8), 32768},
		{"channels", window(nn.OpDepthwiseConv2D, 3, 1, 1, nn.ActNone), list(u8(1, 200, 24, 10), constant(u8(1, 3, 3, 10)), constant(scaled(i32(10), 0.0025, 0))), u8(1, 200, 24, 10), 16384},
		{"a depth multiplier", node(nn.OpDepthwiseConv2D, twice), list(f32(1, 64, 16, 6), constant(f32(1, 3, 3, 12)), constant(f32(12))), f32(1, 64, 16, 12), 16384},
		{"groups", node(nn.OpGroupedConv2D, ops.GroupedConv{Conv: dilated.Conv, Groups: 2}), list(f32(1, 128, 13, 8), f32(6, 3, 3, 4), f32(6)), f32(1, 128, 13, 6), 32768},
		{"transposed windows", node(nn.OpTransposeConv2D, ops.TransposeConv{Stride: [2]int{2, 3}, Pad: ops.Pad{Top: 1, Left: 2}}), list(s8(1, 100, 13, 5), constant(s8(6, 5, 4, 5)), constant(scaled(i32(6), 0.0025, 0))), s8(1, 201, 39, 6), 16384},
		{"transposed windows with gaps", node(nn.OpTransposeConv2D, ops.TransposeConv{Stride: [2]int{3, 2}}), list(f32(1, 100, 14, 5), constant(f32(6, 2, 1, 5)), constant(f32(6))), f32(1, 300, 28, 6), 32768},
		{"transposed images", node(nn.OpTransposeConv2D, ops.TransposeConv{Stride: [2]int{2, 2}}), list(f16(9, 8, 8, 5), constant(f16(6, 2, 2, 5)), constant(f16(6))), f16(9, 16, 16, 6), 4096},
		{"averages", window(nn.OpAveragePool2D, 3, 1, 1, nn.ActNone), list(f32(1, 100, 13, 5)), f32(1, 100, 13, 5), 32768},
		{"maxima", window(nn.OpMaxPool2D, 3, 2, 1, nn.ActNone), list(u8(1, 401, 15, 6)), u8(1, 201, 8, 6), 16384},
		{"lengths", window(nn.OpL2Pool2D, 2, 2, 0, nn.ActNone), list(f32(1, 100, 14, 5)), f32(1, 50, 7, 5), 16384},
	}
}

// graph returns the case's graph, with random constants, and values of its inputs.
func (c *splitCase) graph(rng *rand.Rand) (*ir.Graph, [][]byte) {
	g := &ir.Graph{}
	var inputs [][]byte
	n := c.node
	for _, t := range c.in {
		v := randomBytes(rng, &t)
		isConst := t.Const != nil
		t.Const = nil
		if isConst {
			t.Const = v
		}
		id := g.Add(t)
		n.In = append(n.In, id)
		if !isConst {
			g.Inputs, inputs = append(g.Inputs, id), append(inputs, v)
		}
	}
	n.Out = []ir.ID{g.Add(c.out)}
	g.Nodes, g.Outputs = []ir.Node{n}, n.Out
	return g, inputs
}

func randomBytes(rng *rand.Rand, t *ir.Tensor) []byte {
	var b []byte
	for range t.Elements() {
		v := rng.Float64()*4 - 2
		switch t.Type {
		case nn.TensorFloat32:
			b = append(b, bytesOfF32([]float32{float32(v)})...)
		case nn.TensorFloat16:
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(v)))
		case nn.TensorInt32:
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(v*1000)))
		default:
			b = append(b, byte(rng.Uint32()))
		}
	}
	return b
}

// computing is the number of steps that do more than bring inputs and outputs from one place to another.
func computing(p *plan.Plan) int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].Transfers == 0 {
			n++
		}
	}
	return n
}

// TestSplitCasesLower: everything that is bound fits, and every operation is divided.
func TestSplitCasesLower(t *testing.T) {
	for _, c := range splitCases() {
		t.Run(c.name, func(t *testing.T) {
			g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
			f := softwareFacts
			whole, _ := lowerFor(t, f, g)
			f.MaxStorageRange = c.limit
			parts, _ := lowerFor(t, f, g)
			require.Greater(t, computing(parts), computing(whole))
		})
	}
}

// TestPiecesGiveTheSame bytes as the whole.
func TestPiecesGiveTheSame(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, c := range splitCases() {
			t.Run(c.name, func(t *testing.T) {
				g, inputs := c.graph(rand.New(rand.NewPCG(1, 2)))
				p, weights := lowerFor(t, d.Facts(), g)
				want := runPlan(t, d, p, weights, inputs)
				f := d.Facts()
				f.MaxStorageRange = c.limit
				p, weights = lowerFor(t, f, g)
				require.Equal(t, want, runPlan(t, d, p, weights, inputs))
			})
		}
	})
}

// TestWhatCannotBeSplit is refused, and the reason says so.
func TestWhatCannotBeSplit(t *testing.T) {
	f := softwareFacts
	f.MaxStorageRange = 4096
	for _, tc := range []struct {
		name    string
		node    ir.Node
		in, out []int
		want    string
	}{
		{"a transposition", ir.Node{Op: nn.OpTranspose, Attrs: ops.Transpose{Perm: []int{1, 0}}}, []int{64, 64}, []int{64, 64}, "cannot be divided"},
		{"the mean of all", ir.Node{Op: nn.OpMean, Attrs: ops.Mean{Axes: []int{0, 1}}}, []int{64, 64}, []int{1, 1}, "cannot be divided"},
		{"a long row", ir.Node{Op: nn.OpSoftmax, Attrs: ops.Softmax{Axis: 1, Beta: 1}}, []int{2, 2048}, []int{2, 2048}, "cannot be divided"},
		{"rows that begin nowhere", ir.Node{Op: nn.OpExp}, []int{32, 1001}, []int{32, 1001}, "cannot be"},
		{"a wrong shape", ir.Node{Op: nn.OpExp}, []int{32, 1000}, []int{32, 1001}, "output [32 1001]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := singleNode(tc.node, floatTensor(tc.out...), floatTensor(tc.in...))
			require.ErrorContains(t, Check(&f, g, &g.Nodes[0]), tc.want)
		})
	}
}

// TestChainInPieces: memory is shared as it is without pieces, and parts of parts are found.
func TestChainInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	g := &ir.Graph{}
	op := func(op nn.OperationType, a ops.Attrs, out ir.Tensor, in ...ir.ID) ir.ID {
		id := g.Add(out)
		g.Nodes = append(g.Nodes, ir.Node{Op: op, Attrs: a, In: in, Out: []ir.ID{id}})
		return id
	}
	constant := func(shape ...int) ir.ID {
		v := floatTensor(shape...)
		v.Const = randomBytes(rng, &v)
		return g.Add(v)
	}
	small, large := floatTensor(1, 32, 16, 8), floatTensor(1, 64, 16, 8)
	x := g.Add(small)
	g.Inputs = []ir.ID{x}
	a := unary(g, nn.OpAbs, unary(g, nn.OpTanh, unary(g, nn.OpNeg, x)))
	b := op(nn.OpMul, ops.Arithmetic{}, small, x, constant(8))
	both := op(nn.OpConcatenation, ops.Concatenation{Axis: 1}, large, a, b)
	conv := ops.Conv{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}}
	c := op(nn.OpConv2D, conv, large, both, constant(8, 3, 3, 8), constant(8))
	d := op(nn.OpAdd, ops.Arithmetic{Act: nn.ActRelu}, large, c, both)
	g.Outputs = []ir.ID{unary(g, nn.OpSqrt, d), d}
	input := randomBytes(rng, g.T(x))

	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		f := d.Facts()
		p, weights := lowerFor(t, f, g)
		want := runPlan(t, d, p, weights, [][]byte{input})
		f.MaxStorageRange = 8192
		parts, weights := lowerFor(t, f, g)
		require.Greater(t, len(parts.Steps), 2*len(p.Steps))
		require.InDelta(t, p.ArenaBytes, parts.ArenaBytes, plan.Align)
		require.Equal(t, want, runPlan(t, d, parts, weights, [][]byte{input}))
	})
}

// TestExchangeInParts: the parts cover both forms of the tensor.
func TestExchangeInParts(t *testing.T) {
	f := softwareFacts
	f.MaxStorageRange = 4096
	x := floatTensor(999, 3)
	require.NoError(t, emit.CheckTensor(&f, &x))
	l := pack.LayoutOf(&x)
	pad, unpad, err := emit.Exchange(&f, l)
	require.NoError(t, err)
	for _, p := range []*plan.Plan{pad, unpad} {
		ends := map[plan.Buffer]int64{}
		for i := range p.Steps {
			for _, b := range p.Steps[i].Bindings {
				require.Equal(t, ends[b.Buffer], b.Offset)
				require.LessOrEqual(t, b.Size, f.MaxStorageRange)
				ends[b.Buffer] += b.Size
			}
		}
		require.Equal(t, map[plan.Buffer]int64{plan.Arena: l.Bytes(), plan.Host: (l.DenseBytes() + 15) / 16 * 16}, ends)
	}
	x = floatTensor(3, 1025)
	require.ErrorContains(t, emit.CheckTensor(&f, &x), "cannot be converted in parts")
}

// TestBeyondTheDevicesLimit runs tensors that are larger than what the device really binds, or than 128 MiB where it binds
// more. It takes 700 MiB.
func TestBeyondTheDevicesLimit(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		const columns = 8195
		facts := d.Facts()
		facts.MaxStorageRange = min(facts.MaxStorageRange, 128<<20)
		rows := int(facts.MaxStorageRange)/(4*columns) + 1
		g := &ir.Graph{}
		x, row := g.Add(floatTensor(rows, columns)), floatTensor(columns)
		values := make([]float32, columns)
		for i := range values {
			values[i] = float32(i % 1000)
		}
		row.Const = bytesOfF32(values)
		g.Inputs = []ir.ID{x}
		negative := unary(g, nn.OpNeg, x)
		sum := g.Add(*g.T(x))
		g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpAdd, In: []ir.ID{negative, g.Add(row)}, Out: []ir.ID{sum}, Attrs: ops.Arithmetic{}})
		g.Outputs = []ir.ID{unary(g, nn.OpAbs, sum)}
		p, weights := lowerFor(t, facts, g)
		require.Equal(t, 6, computing(p), "%v", p)
		in := make([]byte, 4*rows*columns)
		at := func(r, c int) float32 { return float32((r*31 + c*17) % 2003) }
		for i := range rows * columns {
			binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(at(i/columns, i%columns)))
		}
		out := runPlan(t, d, p, weights, [][]byte{in})[0]
		for i := range rows * columns {
			r, c := i/columns, i%columns
			want := float32(math.Abs(float64(values[c] - at(r, c))))
			if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != want {
				t.Fatalf("row %d, column %d: %v, want %v", r, c, got, want)
			}
		}
	})
}

// windowAttrs are the attributes of a convolution or pool with a square window.
func windowAttrs(op nn.OperationType, size, stride int, pad ops.Pad, act nn.Activation) ops.Attrs {
	strides, one := [2]int{stride, stride}, [2]int{1, 1}
	switch op {
	case nn.OpConv2D:
		return ops.Conv{Stride: strides, Dilation: one, Pad: pad, Act: act}
	case nn.OpDepthwiseConv2D:
		return ops.DepthwiseConv{Conv: ops.Conv{Stride: strides, Dilation: one, Pad: pad, Act: act}, Multiplier: 1}
	}
	return ops.Pool{Window: [2]int{size, size}, Stride: strides, Pad: pad, Act: act}
}

// TestRandomWindowsInPieces: paddings, strides and widths for which parts of the input begin above what is needed.
func TestRandomWindowsInPieces(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		rng := rand.New(rand.NewPCG(5, 6))
		accepted := 0
		for range 150 {
			within := func(low, high int) int { return low + rng.IntN(high-low+1) }
			kernel, stride := within(1, 5), within(1, 3)
			h, w, channels := within(40, 200), within(kernel, 12)*within(1, 2), within(1, 9)
			pad := ops.Pad{Top: rng.IntN(kernel), Bottom: rng.IntN(kernel), Left: rng.IntN(kernel), Right: rng.IntN(kernel)}
			outH, outW := (h+pad.Top+pad.Bottom-kernel)/stride+1, (w+pad.Left+pad.Right-kernel)/stride+1
			typ := []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8Asymm}[rng.IntN(2)]
			tensor := func(shape ...int) ir.Tensor { return ir.Tensor{Type: typ, Shape: shape, Scale: 0.05, Zero: 3} }
			constant := func(v ir.Tensor) ir.Tensor { v.Const = []byte{}; return v }
			bias := tensor(channels)
			if typ.IsQuant8() {
				bias = ir.Tensor{Type: nn.TensorInt32, Shape: []int{channels}, Scale: 0.0025}
			}
			c := splitCase{
				in: []ir.Tensor{tensor(1, h, w, channels)}, out: tensor(1, outH, outW, channels),
				node:  ir.Node{Op: []nn.OperationType{nn.OpConv2D, nn.OpDepthwiseConv2D, nn.OpMaxPool2D, nn.OpAveragePool2D}[rng.IntN(4)]},
				limit: 1 << within(12, 14),
			}
			c.node.Attrs = windowAttrs(c.node.Op, kernel, stride, pad, nn.ActNone)
			switch c.node.Op {
			case nn.OpConv2D:
				c.in = append(c.in, constant(tensor(channels, kernel, kernel, channels)), constant(bias))
			case nn.OpDepthwiseConv2D:
				c.in = append(c.in, constant(tensor(1, kernel, kernel, channels)), constant(bias))
			}
			g, inputs := c.graph(rng)
			f := d.Facts()
			f.MaxStorageRange = c.limit
			if !emit.Oversized(&f, g, &g.Nodes[0]) || Check(&f, g, &g.Nodes[0]) != nil {
				continue
			}
			accepted++
			p, weights := lowerFor(t, d.Facts(), g)
			want := runPlan(t, d, p, weights, inputs)
			p, weights = lowerFor(t, f, g)
			require.Equal(t, want, runPlan(t, d, p, weights, inputs), "%v of %v to %v, %+v, %d bytes", c.node.Op, c.in[0].Shape, c.out.Shape, c.node.Attrs, c.limit)
		}
		require.Greater(t, accepted, 20)
	})
}
