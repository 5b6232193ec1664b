package layers_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// A small network for pictures of 28 by 28 pixels: types and dimensions of what is between follow.
func Example() {
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 28, 28, 1}, 0, 0)
	x = b.Conv2D(x, b.Floats(nn.Dims{8, 3, 3, 1}, make([]float32, 72)...), b.Floats(nn.Dims{8}, make([]float32, 8)...),
		layers.Conv{Padding: nn.PaddingSame, Act: nn.ActRelu})
	x = b.MaxPool2D(x, layers.Pool{Padding: nn.PaddingValid, Window: [2]int{2, 2}})
	x = b.FullyConnected(x, b.Floats(nn.Dims{10, 1568}, make([]float32, 15680)...), b.Floats(nn.Dims{10}, make([]float32, 10)...), nn.ActNone)
	x = b.Softmax(x, 1, -1)
	b.Output(x)
	m, err := b.Build()
	fmt.Println(m.Main.Operands[x].Dims, err)
	// Output: [1 10] <nil>
}

// build makes a model of what f adds to a float32 x and an 8-bit q, both [1, 8, 6, 4], and returns f's result.
func build(t *testing.T, f func(b *layers.Builder, x, q uint32) uint32) nn.Operand {
	t.Helper()
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 8, 6, 4}, 0, 0)
	q := b.Input(nn.TensorQuant8Asymm, nn.Dims{1, 8, 6, 4}, 0.5, 7)
	y := f(&b, x, q)
	b.Output(y)
	m, err := b.Build()
	require.NoError(t, err)
	require.NoError(t, validate.Model(m))
	return m.Main.Operands[y]
}

func TestResults(t *testing.T) {
	const f32, u8, i32 = nn.TensorFloat32, nn.TensorQuant8Asymm, nn.TensorInt32
	zeros := func(n int) []float32 { return make([]float32, n) }
	quant := func(b *layers.Builder, scale float32, d ...uint32) uint32 {
		n, err := nn.Dims(d).Elements()
		require.NoError(t, err)
		return b.Const(u8, d, scale, 3, make([]byte, n))
	}
	type b = *layers.Builder
	for name, tc := range map[string]struct {
		f    func(b b, x, q uint32) uint32
		want nn.Operand
	}{
		"conv, explicit": {func(b b, x, _ uint32) uint32 {
			return b.Conv2D(x, b.Floats(nn.Dims{5, 3, 2, 4}, zeros(120)...), b.Floats(nn.Dims{5}, zeros(5)...),
				layers.Conv{Pad: ops.Pad{Top: 1, Left: 2}, Stride: [2]int{2, 1}})
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 4, 7, 5}}},
		"projection": {func(b b, x, _ uint32) uint32 {
			return b.LSHProjection(ops.LSHDense, b.Floats(nn.Dims{2, 3}, zeros(6)...), x)
		}, nn.Operand{Type: i32, Dims: nn.Dims{6}}},
		"conv, dilated": {func(b b, x, _ uint32) uint32 {
			return b.Conv2D(x, b.Floats(nn.Dims{5, 3, 2, 4}, zeros(120)...), b.Floats(nn.Dims{5}, zeros(5)...),
				layers.Conv{Padding: nn.PaddingValid, Dilation: [2]int{3, 4}})
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 2, 2, 5}}},
		"conv, 8 bits": {func(b b, _, q uint32) uint32 {
			return b.Conv2D(q, quant(b, 0.25, 5, 1, 1, 4), b.Const(i32, nn.Dims{5}, 0.125, 0, make([]byte, 20)),
				layers.Conv{Padding: nn.PaddingSame}, layers.Quant{Scale: 2, Zero: 9})
		}, nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 5}, Scale: 2, ZeroPoint: 9}},
		"conv, NCHW": {func(b b, x, _ uint32) uint32 {
			return b.Conv2D(x, b.Floats(nn.Dims{5, 1, 1, 8}, zeros(40)...), b.Floats(nn.Dims{5}, zeros(5)...), layers.Conv{Padding: nn.PaddingSame, NCHW: true})
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 5, 6, 4}}},
		"depthwise": {func(b b, x, _ uint32) uint32 {
			return b.DepthwiseConv2D(x, b.Floats(nn.Dims{1, 3, 3, 8}, zeros(72)...), b.Floats(nn.Dims{8}, zeros(8)...), 2,
				layers.Conv{Padding: nn.PaddingSame, Stride: [2]int{2, 3}})
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 4, 2, 8}}},
		"pools": {func(b b, x, _ uint32) uint32 {
			p := layers.Pool{Window: [2]int{2, 1}}
			return b.L2Pool2D(b.AveragePool2D(b.MaxPool2D(x, p), p), layers.Pool{Window: [2]int{2, 3}, Pad: ops.Pad{Top: 1}, Stride: [2]int{1, 1}})
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 2, 4, 4}}},
		"resizes": {func(b b, _, q uint32) uint32 {
			return b.ResizeBilinear(b.ResizeNearestNeighbor(q, layers.Resize{Height: 3, Width: 5}), layers.Resize{Height: 7, Width: 9, HalfPixel: true})
		}, nn.Operand{Type: u8, Dims: nn.Dims{1, 7, 9, 4}, Scale: 0.5, ZeroPoint: 7}},
		"fully connected": {func(b b, x, _ uint32) uint32 {
			return b.FullyConnected(x, b.Floats(nn.Dims{3, 24}, zeros(72)...), b.Floats(nn.Dims{3}, zeros(3)...), nn.ActRelu6)
		}, nn.Operand{Type: f32, Dims: nn.Dims{8, 3}}},
		"arithmetic": {func(b b, x, _ uint32) uint32 {
			row := b.Floats(nn.Dims{4}, zeros(4)...)
			return b.Div(b.Mul(b.Sub(b.Add(x, row, nn.ActNone), x, nn.ActRelu), row, nn.ActRelu1), x, nn.ActRelu6)
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 4}}},
		"arithmetic, 8 bits": {func(b b, _, q uint32) uint32 {
			return b.Mul(b.Add(q, q, nn.ActNone), q, nn.ActNone, layers.Quant{Scale: 3, Zero: 1})
		}, nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 4}, Scale: 3, ZeroPoint: 1}},
		"pairs": {func(b b, x, _ uint32) uint32 {
			return b.Prelu(b.SquaredDifference(b.Pow(b.Minimum(b.Maximum(x, x), x), x), x), b.Floats(nn.Dims{1}, 0.5))
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 4}}},
		"comparison": {func(b b, _, q uint32) uint32 {
			z := b.Less(q, b.Requantize(q, u8, layers.Quant{Scale: 3}))
			return b.GreaterEqual(b.Greater(b.LessEqual(b.NotEqual(b.Equal(z, z), z), z), z), z)
		}, nn.Operand{Type: nn.TensorBool8, Dims: nn.Dims{1, 8, 6, 4}}},
		"logical": {func(b b, x, _ uint32) uint32 {
			y := b.Less(x, x)
			return b.LogicalNot(b.LogicalOr(b.LogicalAnd(y, y), y))
		}, nn.Operand{Type: nn.TensorBool8, Dims: nn.Dims{1, 8, 6, 4}}},
		"largest": {func(b b, _, q uint32) uint32 { values, _ := b.TopK(q, 3); return values },
			nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 3}, Scale: 0.5, ZeroPoint: 7}},
		"reduced": {func(b b, _, q uint32) uint32 { return b.ReduceMin(b.ReduceMax(q, []int{1}, true), []int{0, -1}, false) },
			nn.Operand{Type: u8, Dims: nn.Dims{1, 6}, Scale: 0.5, ZeroPoint: 7}},
		"sums and products": {func(b b, x, _ uint32) uint32 { return b.ReduceSum(b.ReduceProd(x, []int{0}, false), []int{2}, true) },
			nn.Operand{Type: f32, Dims: nn.Dims{8, 6, 1}}},
		"any and all": {func(b b, x, _ uint32) uint32 {
			return b.ReduceAny(b.ReduceAll(b.Less(x, x), []int{0}, false), []int{1}, false)
		},
			nn.Operand{Type: nn.TensorBool8, Dims: nn.Dims{8, 4}}},
		"places": {func(b b, x, q uint32) uint32 { b.ArgMin(x, 0); return b.ArgMax(q, -1) }, nn.Operand{Type: i32, Dims: nn.Dims{1, 8, 6}}},
		"indices of the largest": {func(b b, _, q uint32) uint32 { _, indices := b.TopK(q, 4); return indices },
			nn.Operand{Type: i32, Dims: nn.Dims{1, 8, 6, 4}}},
		"functions": {func(b b, x, _ uint32) uint32 {
			for _, f := range []func(uint32) uint32{b.Relu, b.Relu1, b.Relu6, b.Tanh, b.Logistic, b.Abs, b.Neg, b.Exp, b.Log, b.Sqrt, b.Sin, b.Floor} {
				x = f(x)
			}
			return b.Elu(b.Rsqrt(b.HardSwish(x)), 0.5)
		}, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 4}}},
		"fixed scale": {func(b b, _, q uint32) uint32 { return b.Tanh(q) },
			nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 4}, Scale: 1. / 128, ZeroPoint: 128}},
		"softmax":     {func(b b, _, q uint32) uint32 { return b.Softmax(q, 1, -2) }, nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 4}, Scale: 1. / 256}},
		"log softmax": {func(b b, x, _ uint32) uint32 { return b.LogSoftmax(x, 1, -1) }, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 4}}},
		"length 1": {func(b b, _, q uint32) uint32 { return b.L2Normalization(q, -1) },
			nn.Operand{Type: u8, Dims: nn.Dims{1, 8, 6, 4}, Scale: 1. / 128, ZeroPoint: 128}},
		"normalised": {func(b b, x, _ uint32) uint32 {
			x = b.LocalResponseNormalization(b.Cast(x, nn.TensorFloat16), layers.LocalResponse{Radius: 2, Bias: 1, Alpha: 0.5, Beta: 0.75, Axis: -1})
			return b.InstanceNormalization(x, 1, 0, 1e-3, true)
		}, nn.Operand{Type: nn.TensorFloat16, Dims: nn.Dims{1, 8, 6, 4}}},
		"mean": {func(b b, x, _ uint32) uint32 { return b.Mean(b.Mean(x, []int{1}, true), []int{-1}, false) },
			nn.Operand{Type: f32, Dims: nn.Dims{1, 1, 6}}},
		"conversions": {func(b b, x, _ uint32) uint32 {
			q := b.Requantize(b.Quantize(x, nn.TensorQuant8AsymmSigned, layers.Quant{Scale: 1, Zero: -9}), u8, layers.Quant{Scale: 2, Zero: 5})
			return b.Cast(b.Dequantize(q, nn.TensorFloat16), i32)
		}, nn.Operand{Type: i32, Dims: nn.Dims{1, 8, 6, 4}}},
		"half floats": {func(b b, x, _ uint32) uint32 { return b.Softmax(b.Elu(b.Cast(x, nn.TensorFloat16), 1), 1, 3) },
			nn.Operand{Type: nn.TensorFloat16, Dims: nn.Dims{1, 8, 6, 4}}},
		"shapes": {func(b b, x, _ uint32) uint32 {
			return b.Transpose(b.ExpandDims(b.Squeeze(b.Reshape(x, 1, 4, -1), 0), -1), 1, 2, 0)
		}, nn.Operand{Type: f32, Dims: nn.Dims{48, 1, 4}}},
		"reversed": {func(b b, x, _ uint32) uint32 { return b.Transpose(b.Squeeze(x)) }, nn.Operand{Type: f32, Dims: nn.Dims{4, 6, 8}}},
		"joined":   {func(b b, x, _ uint32) uint32 { return b.Concatenation(-1, []uint32{x, x, x}) }, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 12}}},
		"parts":    {func(b b, x, _ uint32) uint32 { return b.Split(x, -2, 3)[2] }, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 2, 4}}},
		"looked up": {func(b b, _, q uint32) uint32 {
			rows, _ := b.HashtableLookup(b.Ints(nn.Dims{2}, 7, 9), b.Ints(nn.Dims{1}, 7), q)
			return rows
		}, nn.Operand{Type: u8, Dims: nn.Dims{2, 8, 6, 4}, Scale: 0.5, ZeroPoint: 7}},
		"hits": {func(b b, x, _ uint32) uint32 {
			_, hits := b.HashtableLookup(b.Ints(nn.Dims{2}, 7, 9), b.Ints(nn.Dims{1}, 7), x)
			return hits
		}, nn.Operand{Type: u8, Dims: nn.Dims{2}, Scale: 1}},
		"recurrent": {func(b b, x, _ uint32) uint32 {
			x = b.Reshape(x, 2, 3, 32)
			c := layers.RNNCell{
				Weights: b.Floats(nn.Dims{5, 32}, zeros(160)...), Recurrent: b.Floats(nn.Dims{5, 5}, zeros(25)...),
				Bias: b.Floats(nn.Dims{5}, zeros(5)...), State: b.Floats(nn.Dims{2, 5}, zeros(10)...),
			}
			y, _ := b.SequenceRNN(x, c, ops.CellTanh, false)
			link := &layers.RNNLink{Input: x, Weights: &[2]uint32{c.Weights, c.Weights}}
			both := b.BidirectionalRNN(x, c, c, link, ops.CellRelu, layers.Sequence{Merge: true})[0]
			b.RNN(b.Reshape(x, 6, 32), layers.RNNCell{Weights: c.Weights, Recurrent: c.Recurrent, Bias: c.Bias, State: b.Reshape(y, 6, 5)}, ops.CellTanh)
			return b.Add(b.Reshape(both, 6, 10), b.Floats(nn.Dims{1}, 1), nn.ActNone)
		}, nn.Operand{Type: f32, Dims: nn.Dims{6, 10}}},
		"filled": {func(b b, _, _ uint32) uint32 { return b.Fill(nn.TensorFloat16, 1.5, 3, 1, 7) },
			nn.Operand{Type: nn.TensorFloat16, Dims: nn.Dims{3, 1, 7}}},
		"filled with integers": {func(b b, _, _ uint32) uint32 { return b.Fill(nn.TensorInt32, -7, 5) },
			nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{5}}},
		"a slice": {func(b b, _, q uint32) uint32 { return b.Slice(q, []int{0, 2, 1, 0}, []int{1, -1, 3, 4}) },
			nn.Operand{Type: u8, Dims: nn.Dims{1, 6, 3, 4}, Scale: 0.5, ZeroPoint: 7}},
		"blocks": {func(b b, _, q uint32) uint32 {
			q = b.DepthToSpace(b.SpaceToDepth(q, 2, false), 4, false)
			return b.BatchToSpace(b.SpaceToBatch(q, [2]int{3, 2}, ops.Pad{Top: 1, Bottom: 1}, false), [2]int{1, 6}, false)
		}, nn.Operand{Type: u8, Dims: nn.Dims{1, 6, 36, 1}, Scale: 0.5, ZeroPoint: 7}},
		"shuffled": {func(b b, x, _ uint32) uint32 { return b.ChannelShuffle(x, 3, -2) }, nn.Operand{Type: f32, Dims: nn.Dims{1, 8, 6, 4}}},
		"padded": {func(b b, _, q uint32) uint32 {
			p := [][2]int{{0, 0}, {1, 2}, {0, 0}, {0, 1}}
			return b.MirrorPad(b.PadWith(b.Pad(q, p), p, 200), p, true)
		}, nn.Operand{Type: u8, Dims: nn.Dims{1, 17, 6, 7}, Scale: 0.5, ZeroPoint: 7}},
		"any of a type that is prescribed": {func(b b, x, _ uint32) uint32 { return b.Apply(nn.OpLess, []uint32{x, x}) },
			nn.Operand{Type: nn.TensorBool8, Dims: nn.Dims{1, 8, 6, 4}}},
		"any": {func(b b, x, _ uint32) uint32 { return b.Apply(nn.OpReshape, []uint32{x, b.Ints(nn.Dims{2}, 2, -1)}) },
			nn.Operand{Type: f32, Dims: nn.Dims{2, 96}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Lifetime = nn.SubgraphOutput
			require.Equal(t, tc.want, build(t, tc.f))
		})
	}
}

// TestMistakes: Build says what is wrong with which operand, and at which line.
func TestMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		want string
		f    func(b *layers.Builder, x uint32)
	}{
		"shapes": {"ADD: shapes [1 8 6 4] and [5] cannot be broadcast", func(b *layers.Builder, x uint32) { b.Add(x, b.Floats(nn.Dims{5}, 1, 2, 3, 4, 5), nn.ActNone) }},
		"types":  {"ADD: input 1 (second input): type TENSOR_INT32 instead of TENSOR_FLOAT32", func(b *layers.Builder, x uint32) { b.Add(x, b.Ints(nn.Dims{1}, 1), nn.ActNone) }},
		"window": {"MAX_POOL_2D: window width 0 is below 1", func(b *layers.Builder, x uint32) {
			b.MaxPool2D(x, layers.Pool{Padding: nn.PaddingSame, Stride: [2]int{1, 1}})
		}},
		"missing": {"CONV_2D: operand 3 (padding scheme) is missing", func(b *layers.Builder, x uint32) { b.Apply(nn.OpConv2D, []uint32{x, x, x}) }},
		"none":    {"operand 99 of 1", func(b *layers.Builder, _ uint32) { b.Relu(99) }},
		"unknown": {"OEM_OPERATION is not in the table of operations", func(b *layers.Builder, x uint32) { b.Apply(nn.OpOemOperation, []uint32{x}) }},
		"size":    {"does not fit into an INT32", func(b *layers.Builder, x uint32) { b.Reshape(x, 1<<40) }},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			x := b.Input(nn.TensorFloat32, nn.Dims{1, 8, 6, 4}, 0, 0)
			tc.f(&b, x)
			_, err := b.Build()
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
			_, file, _, _ := runtime.Caller(0)
			require.True(t, strings.HasPrefix(err.Error(), filepath.Base(file)+":"), err)
		})
	}
}
