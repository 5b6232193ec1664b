package ref

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

var (
	float32Format = Format{Type: nn.TensorFloat32}
	int32Format   = Format{Type: nn.TensorInt32}
)

func TestConv2D(t *testing.T) {
	x := f32(t, []int{1, 3, 3, 1}, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	w := f32(t, []int{1, 2, 2, 1}, 1, 10, 100, 1000)
	bias := f32(t, []int{1}, 0.5)
	one := Window{StrideW: 1, StrideH: 1}
	with := func(f func(w *Window)) Window { w := one; f(&w); return w }
	for _, tc := range []struct {
		name  string
		w     Window
		act   nn.Activation
		shape []int
		want  []float64
	}{
		{"explicit, none", one, nn.ActNone, []int{1, 2, 2, 1}, []float64{5421.5, 6532.5, 8754.5, 9865.5}},
		{"valid", with(func(w *Window) { w.Scheme = nn.PaddingValid }), nn.ActNone, []int{1, 2, 2, 1}, []float64{5421.5, 6532.5, 8754.5, 9865.5}},
		{"same pads at the end", with(func(w *Window) { w.Scheme = nn.PaddingSame }), nn.ActNone, []int{1, 3, 3, 1},
			[]float64{5421.5, 6532.5, 603.5, 8754.5, 9865.5, 906.5, 87.5, 98.5, 9.5}},
		{"pad left and top", with(func(w *Window) { w.PadLeft, w.PadTop, w.StrideW, w.StrideH = 1, 1, 2, 2 }), nn.ActNone, []int{1, 2, 2, 1},
			[]float64{1000.5, 3200.5, 7040.5, 9865.5}},
		{"dilation", with(func(w *Window) { w.DilationW, w.DilationH = 2, 2 }), nn.ActRelu6, []int{1, 1, 1, 1}, []float64{6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := Conv2D(x, w, bias, ConvParams{Window: tc.w, Activation: tc.act}, float32Format, Real)
			require.Equal(t, tc.shape, y.Shape)
			require.Equal(t, tc.want, y.V)
		})
	}
	mustRefuse(t, func() {
		Conv2D(x, f32(t, []int{1, 4, 4, 1}, make([]float64, 16)...), bias, ConvParams{Window: one}, float32Format, Real)
	}, "kernel larger than the input")
}

func TestConv2DPerChannel(t *testing.T) {
	x := raw(t, Format{nn.TensorQuant8AsymmSigned, 0.5, -1}, []int{1, 1, 1, 2}, 3, 7) // 2, 4
	w := &Tensor{Type: nn.TensorQuant8PerChannel, Shape: []int{2, 1, 1, 2}, ChannelScales: []float64{0.25, 2}, V: []float64{4, -8, 1, 3}}
	bias := raw(t, int32Format, []int{2}, 8, -1) // scales 0.125 and 1: 1, -1
	y := Conv2D(x, w, bias, ConvParams{Window: Window{StrideW: 1, StrideH: 1}}, Format{nn.TensorQuant8AsymmSigned, 0.5, 10}, DoubleRounding)
	// 2*1 + 4*-2 + 1 = -5 and 2*2 + 4*6 - 1 = 27, in steps of 0.5 from 10
	require.Equal(t, []float64{0, 64}, y.V)
}

func TestDepthwiseConv2D(t *testing.T) {
	x := f32(t, []int{1, 1, 2, 2}, 1, 2, 3, 4)
	w := f32(t, []int{1, 1, 2, 4}, 1, 10, 100, 1000, 2, 20, 200, 2000)
	bias := f32(t, []int{4}, 0, 0, 0, 1)
	p := ConvParams{Window: Window{StrideW: 1, StrideH: 1}, Multiplier: 2}
	y := DepthwiseConv2D(x, w, bias, p, float32Format, Real)
	require.Equal(t, []float64{7, 70, 1000, 10001}, y.V)
	nchw := Transpose(x, []int{0, 3, 1, 2})
	p.NCHW = true
	z := DepthwiseConv2D(nchw, w, bias, p, float32Format, Real)
	require.Equal(t, []int{1, 4, 1, 1}, z.Shape)
	require.Equal(t, y.V, z.V)
}

func TestFullyConnected(t *testing.T) {
	y := FullyConnected(f32(t, []int{2, 1, 2}, 1, 2, 3, 4), f32(t, []int{3, 2}, 1, 0, 0, 1, -1, -1), f32(t, []int{3}, 0, 0.5, 5),
		nn.ActRelu, float32Format, Real)
	require.Equal(t, []int{2, 3}, y.Shape)
	require.Equal(t, []float64{1, 2.5, 2, 3, 4.5, 0}, y.V)
}

func TestPools(t *testing.T) {
	x := f32(t, []int{1, 2, 3, 1}, 1, 2, 3, 4, 5, 12)
	p := PoolParams{Window: Window{Scheme: nn.PaddingSame, StrideW: 2, StrideH: 2}, FilterW: 2, FilterH: 2}
	avg := AveragePool2D(x, p, float32Format, Real)
	require.Equal(t, []float64{3, 7.5}, avg.V) // padding is not counted
	top := MaxPool2D(x, p, float32Format)
	require.Equal(t, []float64{5, 12}, top.V)
	l2 := L2Pool2D(f32(t, []int{1, 1, 2, 1}, 1, 7), PoolParams{Window: Window{StrideW: 1, StrideH: 1}, FilterW: 2, FilterH: 1}, float32Format)
	require.Equal(t, []float64{5}, l2.V)

	q := Format{nn.TensorQuant8AsymmSigned, 1, 0}
	half := AveragePool2D(raw(t, q, []int{1, 1, 2, 2}, -1, 1, -2, 2), PoolParams{Window: Window{StrideW: 1, StrideH: 1}, FilterW: 2, FilterH: 1}, q, DoubleRounding)
	require.Equal(t, []float64{-2, 2}, half.V) // ties away from zero
}

func TestBinary(t *testing.T) {
	a, b := f32(t, []int{2, 1}, 8, -3), f32(t, []int{3}, 2, -4, 0.5)
	for _, tc := range []struct {
		name string
		f    func() *Tensor
		want []float64
	}{
		{"add", func() *Tensor { return Add(a, b, nn.ActNone, float32Format, Real) }, []float64{10, 4, 8.5, -1, -7, -2.5}},
		{"sub, relu1", func() *Tensor { return Sub(a, b, nn.ActRelu1, float32Format, Real) }, []float64{1, 1, 1, -1, 1, -1}},
		{"mul", func() *Tensor { return Mul(a, b, nn.ActNone, float32Format, Real) }, []float64{16, -32, 4, -6, 12, -1.5}},
		{"div", func() *Tensor { return Div(a, b, nn.ActNone, float32Format) }, []float64{4, -2, 16, -1.5, 0.75, -6}},
		{"maximum", func() *Tensor { return Maximum(a, b, float32Format) }, []float64{8, 8, 8, 2, -3, 0.5}},
		{"minimum", func() *Tensor { return Minimum(a, b, float32Format) }, []float64{2, -4, 0.5, -3, -4, -3}},
		{"prelu", func() *Tensor { return Prelu(a, b, float32Format, Real) }, []float64{8, 8, 8, -6, 12, -1.5}},
		{"squared difference", func() *Tensor { return SquaredDifference(a, b, float32Format, Real) }, []float64{36, 144, 56.25, 25, 1, 12.25}},
	} {
		y := tc.f()
		require.Equal(t, []int{2, 3}, y.Shape, tc.name)
		require.Equal(t, tc.want, y.V, tc.name)
	}
	mustRefuse(t, func() { Add(f32(t, []int{2}, 1, 2), b, nn.ActNone, float32Format, Real) })
	empty := Add(f32(t, []int{0, 1}), b, nn.ActNone, float32Format, Real)
	require.Equal(t, []int{0, 3}, empty.Shape)
}

func TestBinaryInt32(t *testing.T) {
	a, b := raw(t, int32Format, []int{4}, 7, -7, 2147483647, 65537), raw(t, int32Format, []int{4}, 2, 2, 1, 65537)
	sum := Add(a, b, nn.ActNone, int32Format, Real)
	require.Equal(t, []float64{9, -5, -2147483648, 131074}, sum.V)
	product := Mul(a, b, nn.ActNone, int32Format, Real)
	require.Equal(t, []float64{14, -14, 2147483647, 131073}, product.V)
	quotient := Div(a, b, nn.ActNone, int32Format)
	require.Equal(t, []float64{3, -4, 2147483647, 1}, quotient.V)
	mustRefuse(t, func() { Add(a, b, nn.ActRelu, int32Format, Real) })
}

// TestQuantisedAgrees holds the fixed-point arithmetics against the real one over all pairs of values.
func TestQuantisedAgrees(t *testing.T) {
	fa, fb, out := Format{nn.TensorQuant8Asymm, 0.021, 120}, Format{nn.TensorQuant8Asymm, 0.013, 7}, Format{nn.TensorQuant8Asymm, 0.03, 99}
	var va, vb []float64
	for i := range 256 {
		va, vb = append(va, float64(i)), append(vb, float64(i))
	}
	a, b := raw(t, fa, []int{256, 1}, va...), raw(t, fb, []int{256}, vb...)
	for name, f := range map[string]func(Arithmetic) *Tensor{
		"add":                func(ar Arithmetic) *Tensor { return Add(a, b, nn.ActNone, out, ar) },
		"sub":                func(ar Arithmetic) *Tensor { return Sub(a, b, nn.ActRelu, out, ar) },
		"mul":                func(ar Arithmetic) *Tensor { return Mul(a, b, nn.ActRelu6, out, ar) },
		"prelu":              func(ar Arithmetic) *Tensor { return Prelu(a, b, out, ar) },
		"squared difference": func(ar Arithmetic) *Tensor { return SquaredDifference(a, b, out, ar) },
		"tanh":               func(ar Arithmetic) *Tensor { return Unary(math.Tanh, a, out, ar) },
		"hard swish":         func(ar Arithmetic) *Tensor { return HardSwish(a, out, ar) },
		"softmax":            func(ar Arithmetic) *Tensor { return Softmax(b, 1, 0, Format{out.Type, 1.0 / 256, 0}, ar) },
		"mean":               func(ar Arithmetic) *Tensor { return Mean(a, []int{0}, true, out, ar) },
		"quantize":           func(ar Arithmetic) *Tensor { return Quantize(a, out, ar) },
	} {
		want := f(Real)
		for _, ar := range []Arithmetic{DoubleRounding, SingleRounding} {
			got := f(ar)
			for i := range want.V {
				require.InDelta(t, want.V[i], got.V[i], 1, "%s, %s: element %d", name, ar, i)
			}
		}
	}
}

func TestRegisteredOnce(t *testing.T) {
	require.Panics(t, func() { register(nn.OpTanh, function(math.Tanh)) })
}

func TestUnary(t *testing.T) {
	x := f32(t, []int{3}, -1, 0.25, 4)
	for op, want := range map[nn.OperationType][]float64{
		nn.OpAbs:      {1, 0.25, 4},
		nn.OpNeg:      {1, -0.25, -4},
		nn.OpFloor:    {-1, 0, 4},
		nn.OpExp:      {0.36787944, 1.28402542, 54.5981500},
		nn.OpTanh:     {-0.76159416, 0.24491866, 0.99932930},
		nn.OpLogistic: {0.26894142, 0.56217650, 0.98201379},
		nn.OpSin:      {-0.84147098, 0.24740396, -0.75680250},
	} {
		y := kernels[op].run(&call{in: []*Tensor{x}, out: float32Format})
		require.InDeltaSlice(t, want, y.V, 1e-5, "%s", op)
	}
	for op, want := range map[nn.OperationType][]float64{
		nn.OpSqrt: {0.5, 2}, nn.OpRsqrt: {2, 0.5}, nn.OpLog: {-1.38629436, 1.38629436},
	} {
		y := kernels[op].run(&call{in: []*Tensor{f32(t, []int{2}, 0.25, 4)}, out: float32Format})
		require.InDeltaSlice(t, want, y.V, 1e-6, "%s", op)
	}
	elu := Elu(x, 2, float32Format)
	require.InDeltaSlice(t, []float64{-1.26424112, 0.25, 4}, elu.V, 1e-6)
	swish := HardSwish(f32(t, []int{3}, -1, 0.25, 4), float32Format, Real)
	require.InDeltaSlice(t, []float64{-1.0 / 3, 0.13541667, 4}, swish.V, 1e-6)
	relu1 := Relu(raw(t, Format{nn.TensorQuant8Asymm, 0.25, 100}, []int{4}, 0, 97, 103, 200), nn.ActRelu1, Format{nn.TensorQuant8Asymm, 0.25, 100})
	require.Equal(t, []float64{96, 97, 103, 104}, relu1.V)
}

func TestCast(t *testing.T) {
	x := f32(t, []int{4}, -1.9, 1.9, 300, 255.5)
	i := Cast(x, int32Format)
	require.Equal(t, []float64{-1, 1, 300, 255}, i.V)
	q := Cast(x, Format{nn.TensorQuant8Asymm, 7, 3})
	require.Equal(t, []float64{0, 1, 255, 255}, q.V)
}

func TestSoftmax(t *testing.T) {
	x := f32(t, []int{2, 2}, 0, 1, 1, 0)
	y := Softmax(x, 2, 0, float32Format, Real)
	require.InDeltaSlice(t, []float64{0.11920292, 0.88079708, 0.88079708, 0.11920292}, y.V, 1e-7)
	z := LogSoftmax(x, 2, -1, float32Format)
	require.InDeltaSlice(t, []float64{-2.12692801, -0.12692801, -0.12692801, -2.12692801}, z.V, 1e-6)
	mustRefuse(t, func() { Softmax(x, 0, 0, float32Format, Real) })
}

func TestMean(t *testing.T) {
	x := f32(t, []int{2, 3}, 1, 2, 3, 4, 5, 9)
	for _, tc := range []struct {
		axes  []int
		keep  bool
		shape []int
		want  []float64
	}{
		{[]int{0}, false, []int{3}, []float64{2.5, 3.5, 6}},
		{[]int{-1, 1}, true, []int{2, 1}, []float64{2, 6}},
		{[]int{0, 1}, false, []int{1}, []float64{4}},
		{nil, false, []int{2, 3}, x.V},
	} {
		y := Mean(x, tc.axes, tc.keep, float32Format, Real)
		require.Equal(t, tc.shape, y.Shape)
		require.Equal(t, tc.want, y.V)
	}
}

func TestShapes(t *testing.T) {
	x := f32(t, []int{1, 2, 3}, 1, 2, 3, 4, 5, 6)
	for _, tc := range []struct {
		name  string
		f     func() *Tensor
		shape []int
		want  []float64
	}{
		{"reshape", func() *Tensor { return Reshape(x, []int{3, -1}) }, []int{3, 2}, x.V},
		{"squeeze all", func() *Tensor { return Squeeze(x, nil) }, []int{2, 3}, x.V},
		{"squeeze one", func() *Tensor { return Squeeze(x, []int{-3}) }, []int{2, 3}, x.V},
		{"expand", func() *Tensor { return ExpandDims(x, -1) }, []int{1, 2, 3, 1}, x.V},
		{"transpose", func() *Tensor { return Transpose(x, []int{0, 2, 1}) }, []int{1, 3, 2}, []float64{1, 4, 2, 5, 3, 6}},
		{"reverse", func() *Tensor { return Transpose(x, nil) }, []int{3, 2, 1}, []float64{1, 4, 2, 5, 3, 6}},
		{"concat", func() *Tensor {
			return Concatenation([]*Tensor{x, f32(t, []int{1, 2, 1}, 8, 9)}, -1, float32Format, Real)
		}, []int{1, 2, 4}, []float64{1, 2, 3, 8, 4, 5, 6, 9}},
		{"pad", func() *Tensor { return PadWith(x, [][2]int{{0, 0}, {0, 0}, {1, 2}}, 7) }, []int{1, 2, 6},
			[]float64{7, 1, 2, 3, 7, 7, 7, 4, 5, 6, 7, 7}},
		{"reflect", func() *Tensor { return MirrorPad(x, [][2]int{{0, 0}, {0, 1}, {2, 1}}, MirrorReflect) }, []int{1, 3, 6},
			[]float64{3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2}},
		{"symmetric", func() *Tensor { return MirrorPad(x, [][2]int{{0, 0}, {0, 0}, {3, 1}}, MirrorSymmetric) }, []int{1, 2, 7},
			[]float64{3, 2, 1, 1, 2, 3, 3, 6, 5, 4, 4, 5, 6, 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := tc.f()
			require.Equal(t, tc.shape, y.Shape)
			require.Equal(t, tc.want, y.V)
		})
	}
	for name, f := range map[string]func() *Tensor{
		"reshape":   func() *Tensor { return Reshape(x, []int{4, -1}) },
		"squeeze":   func() *Tensor { return Squeeze(x, []int{1}) },
		"expand":    func() *Tensor { return ExpandDims(x, 4) },
		"transpose": func() *Tensor { return Transpose(x, []int{0, 0, 1}) },
		"pad":       func() *Tensor { return Pad(x, [][2]int{{0, 0}}) },
		"reflect":   func() *Tensor { return MirrorPad(x, [][2]int{{0, 0}, {0, 0}, {3, 0}}, MirrorReflect) },
		"concat axes": func() *Tensor {
			return Concatenation([]*Tensor{x, f32(t, []int{1, 1, 1}, 8)}, 2, float32Format, Real)
		},
	} {
		mustRefuse(t, func() { f() }, name)
	}
}

func TestResize(t *testing.T) {
	x := f32(t, []int{1, 1, 2, 1}, 0, 8)
	for _, tc := range []struct {
		name              string
		p                 ResizeParams
		nearest, bilinear []float64
	}{
		{"plain", ResizeParams{OutH: 1, OutW: 4}, []float64{0, 0, 8, 8}, []float64{0, 4, 8, 8}},
		{"corners", ResizeParams{OutH: 1, OutW: 5, AlignCorners: true}, []float64{0, 0, 8, 8, 8}, []float64{0, 2, 4, 6, 8}},
		{"half pixel", ResizeParams{OutH: 1, OutW: 4, HalfPixel: true}, []float64{0, 0, 8, 8}, []float64{0, 2, 6, 8}},
	} {
		y := ResizeNearestNeighbor(x, tc.p, float32Format)
		require.Equal(t, tc.nearest, y.V, tc.name)
		y = ResizeBilinear(x, tc.p, float32Format)
		require.Equal(t, tc.bilinear, y.V, tc.name)
	}
	mustRefuse(t, func() {
		ResizeBilinear(x, ResizeParams{OutH: 1, OutW: 1, AlignCorners: true, HalfPixel: true}, float32Format)
	})
}

func TestQuantize(t *testing.T) {
	x := f32(t, []int{5}, 0, 0.25, -0.25, 1000, -1000)
	q := Quantize(x, Format{nn.TensorQuant8AsymmSigned, 0.5, 3}, DoubleRounding)
	require.Equal(t, []float64{3, 4, 2, 127, -128}, q.V) // half steps round away from zero
	d := Dequantize(q, float32Format)
	require.Equal(t, []float64{0, 0.5, -0.5, 62, -65.5}, d.V)
	again := Quantize(q, Format{nn.TensorQuant8Asymm, 1, 131}, DoubleRounding)
	require.Equal(t, []float64{131, 132, 131, 193, 66}, again.V) // -65.5 rounds up: the high multiply does
}
