package differential

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

type convCase struct {
	name       string
	in         nn.Dims // NHWC
	co, kh, kw int     // co: the depth multiplier of a depthwise convolution
	stride     int
	dilation   int
	same       bool
	act        nn.Activation
	depthwise  bool
	fed        bool // filter and bias are inputs of the model
}

var convCases = []convCase{
	{name: "1x1", in: nn.Dims{1, 7, 5, 3}, co: 4, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "1x1 one pixel", in: nn.Dims{1, 1, 1, 37}, co: 41, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu},
	{name: "1x1 tile edges", in: nn.Dims{2, 9, 7, 19}, co: 35, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu6},
	{name: "1x1 strided", in: nn.Dims{1, 9, 8, 8}, co: 16, kh: 1, kw: 1, stride: 2, dilation: 1},
	{name: "3x3 prime dims", in: nn.Dims{1, 41, 37, 11}, co: 29, kh: 3, kw: 3, stride: 2, dilation: 1, same: true, act: nn.ActRelu6},
	{name: "3x3 valid", in: nn.Dims{2, 8, 9, 4}, co: 8, kh: 3, kw: 3, stride: 1, dilation: 1},
	{name: "5x2 dilated", in: nn.Dims{1, 19, 23, 5}, co: 7, kh: 5, kw: 2, stride: 1, dilation: 3, same: true, act: nn.ActRelu1},
	{name: "image", in: nn.Dims{1, 32, 32, 3}, co: 32, kh: 3, kw: 3, stride: 2, dilation: 1, same: true, act: nn.ActRelu},
	{name: "many channels", in: nn.Dims{1, 7, 7, 700}, co: 50, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "fed filter", in: nn.Dims{1, 6, 5, 7}, co: 9, kh: 3, kw: 3, stride: 1, dilation: 1, same: true, fed: true},
	{name: "depthwise 3x3", in: nn.Dims{1, 13, 17, 11}, co: 1, kh: 3, kw: 3, stride: 1, dilation: 1, same: true, act: nn.ActRelu6, depthwise: true},
	{name: "depthwise 3x3 stride 2", in: nn.Dims{2, 14, 15, 8}, co: 1, kh: 3, kw: 3, stride: 2, dilation: 1, same: true, depthwise: true},
	{name: "depthwise 5x5", in: nn.Dims{1, 12, 9, 6}, co: 1, kh: 5, kw: 5, stride: 1, dilation: 1, same: true, depthwise: true},
	{name: "depthwise 5x5 stride 2", in: nn.Dims{1, 12, 9, 6}, co: 1, kh: 5, kw: 5, stride: 2, dilation: 1, same: true, depthwise: true},
	{name: "depthwise dilated", in: nn.Dims{1, 21, 20, 4}, co: 1, kh: 3, kw: 3, stride: 1, dilation: 4, same: true, depthwise: true},
	{name: "depthwise 10x8", in: nn.Dims{1, 49, 40, 1}, co: 8, kh: 10, kw: 8, stride: 2, dilation: 1, same: true, act: nn.ActRelu, depthwise: true},
	{name: "depthwise multiplier", in: nn.Dims{1, 6, 7, 3}, co: 5, kh: 2, kw: 3, stride: 1, dilation: 1, depthwise: true},
	{name: "depthwise fed", in: nn.Dims{1, 6, 7, 3}, co: 1, kh: 3, kw: 3, stride: 1, dilation: 1, depthwise: true, fed: true},
}

// format is an element type of data with that of its filter.
type format struct {
	name         string
	data, filter nn.OperandType
}

var formats = []format{
	{"f32", nn.TensorFloat32, nn.TensorFloat32},
	{"f16", nn.TensorFloat16, nn.TensorFloat16},
	{"u8", nn.TensorQuant8Asymm, nn.TensorQuant8Asymm},
	{"s8", nn.TensorQuant8AsymmSigned, nn.TensorQuant8AsymmSigned},
	{"u8 per channel", nn.TensorQuant8Asymm, nn.TensorQuant8PerChannel},
	{"s8 per channel", nn.TensorQuant8AsymmSigned, nn.TensorQuant8PerChannel},
}

func (c *convCase) model(f format, nchw bool, rng *rand.Rand) *nn.Model {
	var b nn.Builder
	in := c.in
	ci := int(in[3])
	channels := c.co
	filterDims := nn.Dims{uint32(c.co), uint32(c.kh), uint32(c.kw), in[3]}
	channelDim := uint32(0)
	if c.depthwise {
		channels = ci * c.co
		filterDims = nn.Dims{1, uint32(c.kh), uint32(c.kw), uint32(channels)}
		channelDim = 3
	}
	size := func(n uint32, k int) uint32 {
		if c.same {
			return (n + uint32(c.stride) - 1) / uint32(c.stride)
		}
		return (n-uint32((k-1)*c.dilation+1))/uint32(c.stride) + 1
	}
	out := nn.Dims{in[0], size(in[1], c.kh), size(in[2], c.kw), uint32(channels)}
	if nchw {
		in, out = nn.Dims{in[0], in[3], in[1], in[2]}, nn.Dims{out[0], out[3], out[1], out[2]}
	}

	quant := f.data.IsQuant8()
	xScale, xZero, wScale, wZero, yScale, yZero := float32(0), int32(0), float32(0), int32(0), float32(0), int32(0)
	biasType, biasScale := f.data, float32(0)
	if quant {
		xScale, wScale, yScale = 0.02, 0.01, 0.05
		xZero, wZero, yZero = 117, 131, 121
		if f.data == nn.TensorQuant8AsymmSigned {
			xZero, wZero, yZero = -11, 3, -7
		}
		biasType, biasScale = nn.TensorInt32, xScale*wScale
	}
	x := b.Input(f.data, in, xScale, xZero)
	var w, bias uint32
	scales := make([]float32, channels)
	for i := range scales {
		scales[i] = 0.005 + 0.002*float32(i%5)
	}
	if f.filter == nn.TensorQuant8PerChannel {
		w = b.PerChannel(filterDims, scales, channelDim, RandomValue(f.filter, filterDims, rng))
		biasScale = 0
	} else if c.fed {
		w = b.Input(f.filter, filterDims, wScale, wZero)
	} else {
		w = b.Const(f.filter, filterDims, wScale, wZero, RandomValue(f.filter, filterDims, rng))
	}
	biasDims := nn.Dims{uint32(channels)}
	if c.fed {
		bias = b.Input(biasType, biasDims, biasScale, 0)
	} else {
		bias = b.Const(biasType, biasDims, biasScale, 0, RandomValue(biasType, biasDims, rng))
	}
	y := b.Temp(f.data, out, yScale, yZero)
	args := []uint32{x, w, bias}
	scheme := int(nn.PaddingValid)
	if c.same {
		scheme = int(nn.PaddingSame)
	}
	args = append(args, b.Scalar(scheme), b.Scalar(c.stride), b.Scalar(c.stride))
	op := nn.OpConv2D
	if c.depthwise {
		op = nn.OpDepthwiseConv2D
		args = append(args, b.Scalar(c.co))
	}
	args = append(args, b.Scalar(int(c.act)), b.Scalar(nchw), b.Scalar(c.dilation), b.Scalar(c.dilation))
	b.Op(op, args, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

func TestConv(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range convCases {
			for _, f := range formats {
				for _, nchw := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/nchw=%v", tc.name, f.name, nchw), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(i), 1))
						Compare(t, d, tc.model(f, nchw, rng), convTolerance(&tc, f), uint64(i))
					})
				}
			}
		}
	})
}

// convTolerance grows with the number of products of a float sum.
func convTolerance(c *convCase, f format) Tolerance {
	tol := ToleranceOf(f.data)
	if f.data == nn.TensorFloat32 {
		terms := float64(c.kh * c.kw)
		if !c.depthwise {
			terms *= float64(c.in[3])
		}
		tol.Abs += 1e-6 * terms
	}
	return tol
}

func TestFullyConnected(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range []struct {
			name  string
			in    nn.Dims
			units uint32
			width uint32
			act   nn.Activation
		}{
			{"one row", nn.Dims{1, 19}, 7, 19, nn.ActRelu},
			{"many rows", nn.Dims{37, 64}, 33, 64, nn.ActNone},
			{"image", nn.Dims{2, 3, 5, 4}, 10, 60, nn.ActRelu6},
			{"image, narrow rows", nn.Dims{2, 3, 5, 3}, 5, 9, nn.ActNone},
		} {
			for _, f := range formats[:4] {
				t.Run(tc.name+"/"+f.name, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 2))
					c := convCase{in: nn.Dims{1, 1, 1, tc.width}, kh: 1, kw: 1}
					m := fullyConnected(tc.in, tc.units, tc.width, tc.act, f, rng)
					Compare(t, d, m, convTolerance(&c, f), uint64(i))
					feed(m, m.Main.Operations[0].Inputs[1])
					Compare(t, d, m, convTolerance(&c, f), uint64(i))
				})
			}
		}
	})
}

func fullyConnected(in nn.Dims, units, width uint32, act nn.Activation, f format, rng *rand.Rand) *nn.Model {
	var b nn.Builder
	n, _ := in.Elements()
	xs, xz, ws, wz, ys, yz := float32(0), int32(0), float32(0), int32(0), float32(0), int32(0)
	biasType := f.data
	if f.data.IsQuant8() {
		xs, ws, ys, xz, wz, yz, biasType = 0.02, 0.01, 0.04, 100, 140, 90, nn.TensorInt32
		if f.data == nn.TensorQuant8AsymmSigned {
			xz, wz, yz = -20, 12, 5
		}
	}
	x := b.Input(f.data, in, xs, xz)
	w := b.Const(f.filter, nn.Dims{units, width}, ws, wz, RandomValue(f.filter, nn.Dims{units, width}, rng))
	bias := b.Const(biasType, nn.Dims{units}, xs*ws, 0, RandomValue(biasType, nn.Dims{units}, rng))
	y := b.Temp(f.data, nn.Dims{n / width, units}, ys, yz)
	b.Op(nn.OpFullyConnected, []uint32{x, w, bias, b.Scalar(int(act))}, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// TestLargestSums feeds filters and inputs whose products are the largest that there are: sums must stay
// exact.
func TestLargestSums(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, width := range []uint32{256, 260, 1024, 5000} {
			var b nn.Builder
			x := b.Input(nn.TensorQuant8Asymm, nn.Dims{9, width}, 1, 0)
			filter := bytes.Repeat([]byte{255}, int(width)*3)
			for i := range width {
				filter[i] = byte(i) // a row that is not all the same
			}
			w := b.Const(nn.TensorQuant8Asymm, nn.Dims{3, width}, 1, 0, filter)
			bias := b.Const(nn.TensorInt32, nn.Dims{3}, 1, 0, []byte{1, 0, 0, 0, 255, 255, 255, 255, 57, 48, 0, 0})
			// 255 * 255 * width is 250 on the output.
			y := b.Temp(nn.TensorQuant8Asymm, nn.Dims{9, 3}, 255*255*float32(width)/250, 0)
			b.Op(nn.OpFullyConnected, []uint32{x, w, bias, b.Scalar(0)}, []uint32{y})
			b.Output(y)
			m := nntest.Build(&b)
			for _, fill := range []byte{255, 254} {
				CompareOn(t, d, m, [][]byte{bytes.Repeat([]byte{fill}, 9*int(width))}, Exact)
			}
			feed(m, w)
			CompareOn(t, d, m, [][]byte{bytes.Repeat([]byte{255}, 9*int(width)), filter}, Exact)
		}
	})
}
