package differential

import (
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// slide is a random window with explicit padding, as convolutions and pools have it.
type slide struct {
	kernel, stride, dilation int
	before, after            int
	in, out                  int
}

// randomSlide draws a window over an image of at most 40 pixels. Paddings stay below the window.
func randomSlide(rng *rand.Rand, kernels []int, dilations int) slide {
	for {
		s := slide{
			in: 1 + rng.IntN(40), kernel: oneOf(rng, kernels),
			stride: 1 + rng.IntN(3), dilation: 1 + rng.IntN(dilations),
		}
		reach := (s.kernel-1)*s.dilation + 1
		if rng.IntN(2) == 0 {
			s.before = rng.IntN(reach)
		}
		if rng.IntN(2) == 0 {
			s.after = rng.IntN(reach)
		}
		room := s.in + s.before + s.after - reach
		if room < 0 {
			continue
		}
		s.out = room/s.stride + 1
		return s
	}
}

// imageDims are NHWC or NCHW dimensions.
func imageDims(nchw bool, n, h, w, c int) nn.Dims {
	if nchw {
		return nn.Dims{uint32(n), uint32(c), uint32(h), uint32(w)}
	}
	return nn.Dims{uint32(n), uint32(h), uint32(w), uint32(c)}
}

func scalars(b *nn.Builder, values ...int) []uint32 {
	var args []uint32
	for _, v := range values {
		args = append(args, b.Scalar(v))
	}
	return args
}

func TestPoolSweep(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		ops := []nn.OperationType{nn.OpAveragePool2D, nn.OpMaxPool2D, nn.OpL2Pool2D}
		op := ops[seed%3]
		types := asymmTypes
		if op == nn.OpL2Pool2D {
			types = floatTypes
		}
		typ := oneOf(rng, types)
		kernels := []int{1, 2, 3, 4, 5, 7, 13}
		y, x := randomSlide(rng, kernels, 1), randomSlide(rng, kernels, 1)
		n, c, nchw, act := 1+rng.IntN(2), int(oneOf(rng, sizes)), rng.IntN(3) == 0, rng.IntN(4)
		m := oneOp(op, []tensor{of(typ, 0, imageDims(nchw, n, y.in, x.in, c))}, of(typ, 0, imageDims(nchw, n, y.out, x.out, c)), rng,
			func(b *nn.Builder) []uint32 {
				args := scalars(b, x.before, x.after, y.before, y.after, x.stride, y.stride, x.kernel, y.kernel, act)
				return append(args, b.Scalar(nchw))
			})
		t.Log(describe(m))
		Compare(t, d, m, elementTolerance(typ), seed)
	})
}

func TestResizeSweep(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		op := nn.OpResizeBilinear
		if seed%2 == 1 {
			op = nn.OpResizeNearestNeighbor
		}
		n, h, w, c := 1+rng.IntN(2), 1+rng.IntN(30), 1+rng.IntN(30), int(oneOf(rng, sizes))
		nchw, mode := rng.IntN(3) == 0, rng.IntN(3)
		outH, outW := 1+rng.IntN(60), 1+rng.IntN(60)
		factor := float32(0)
		if rng.IntN(3) == 0 {
			factor = oneOf(rng, []float32{0.5, 0.75, 1.5, 2, 3})
			outH, outW = int(float32(h)*factor), int(float32(w)*factor)
			if outH == 0 || outW == 0 {
				outH, outW, factor = h, w, 1
			}
		}
		m := oneOp(op, []tensor{of(typ, 0, imageDims(nchw, n, h, w, c))}, of(typ, 0, imageDims(nchw, n, outH, outW, c)), rng,
			func(b *nn.Builder) []uint32 {
				args := scalars(b, outW, outH)
				if factor != 0 {
					args = []uint32{beta(b, typ, float64(factor)), beta(b, typ, float64(factor))}
				}
				return append(args, b.Scalar(nchw), b.Scalar(mode == 1), b.Scalar(mode == 2))
			})
		t.Log(describe(m))
		tol := elementTolerance(typ)
		switch {
		case op == nn.OpResizeNearestNeighbor:
			tol = Exact
		case typ.IsQuant8():
			tol = OneStep // halves fall either way in float32
		}
		Compare(t, d, m, tol, seed)
	})
}

// TestConvSweep draws convolutions of all kinds with explicit padding.
func TestConvSweep(t *testing.T) {
	eachSeed(t, 700, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		c := convCase{depthwise: seed%3 == 0, fed: rng.IntN(6) == 0, act: nn.Activation(rng.IntN(4))}
		kernels := []int{1, 1, 3, 3, 5, 2, 4, 7}
		y, x := randomSlide(rng, kernels, 2), randomSlide(rng, kernels, 2)
		if rng.IntN(2) == 0 { // the windows that have kernels of their own
			k := x
			x.in = y.in
			x.kernel, x.stride, x.dilation, x.before, x.after, x.out = y.kernel, y.stride, y.dilation, y.before, y.after, y.out
			if rng.IntN(2) == 0 {
				x.in, x.out = k.in, (k.in+x.before+x.after-(x.kernel-1)*x.dilation-1)/x.stride+1
				if k.in+x.before+x.after < (x.kernel-1)*x.dilation+1 {
					x.in, x.out = y.in, y.out
				}
			}
		}
		c.in = nn.Dims{1 + rng.Uint32N(2), uint32(y.in), uint32(x.in), oneOf(rng, sizes)}
		c.kh, c.kw = y.kernel, x.kernel
		c.co = int(oneOf(rng, sizes))
		if c.depthwise {
			c.co = 1 + rng.IntN(3)/2*rng.IntN(5)
		}
		f := oneOf(rng, formats)
		if f.filter == nn.TensorQuant8PerChannel {
			c.fed = false
		}
		m := c.explicit(f, rng.IntN(4) == 0, y, x, rng)
		t.Log(describe(m))
		Compare(t, d, m, convTolerance(&c, f), seed)
	})
}

// explicit is a model with windows of explicit padding; strides and dilations of c do not count.
func (c *convCase) explicit(f format, nchw bool, y, x slide, rng *rand.Rand) *nn.Model {
	var b nn.Builder
	n, ci := int(c.in[0]), int(c.in[3])
	channels, filter, dim := c.co, nn.Dims{uint32(c.co), uint32(c.kh), uint32(c.kw), c.in[3]}, 0
	if c.depthwise {
		channels = ci * c.co
		filter, dim = nn.Dims{1, uint32(c.kh), uint32(c.kw), uint32(channels)}, 3
	}
	data := of(f.data, 0, imageDims(nchw, n, y.in, x.in, ci))
	in := b.Input(data.typ, data.dims, data.scale, data.zero)
	bias := tensor{typ: f.data, dims: nn.Dims{uint32(channels)}}
	weights := tensor{typ: f.filter, dims: filter}
	if f.data.IsQuant8() {
		weights = of(f.data, 1, filter)
		bias.typ, bias.scale = nn.TensorInt32, data.scale*weights.scale
	}
	args := []uint32{in}
	switch {
	case f.filter == nn.TensorQuant8PerChannel:
		scales := make([]float32, channels)
		for i := range scales {
			scales[i] = 0.001 + 0.03*rng.Float32()
		}
		args = append(args, b.PerChannel(filter, scales, uint32(dim), RandomValue(f.filter, filter, rng)))
		bias.scale = 0
	case c.fed:
		args = append(args, b.Input(weights.typ, filter, weights.scale, weights.zero))
	default:
		args = append(args, b.Const(weights.typ, filter, weights.scale, weights.zero, RandomValue(weights.typ, filter, rng)))
	}
	if c.fed {
		args = append(args, b.Input(bias.typ, bias.dims, bias.scale, 0))
	} else {
		args = append(args, b.Const(bias.typ, bias.dims, bias.scale, 0, RandomValue(bias.typ, bias.dims, rng)))
	}
	args = append(args, scalars(&b, x.before, x.after, y.before, y.after, x.stride, y.stride)...)
	op := nn.OpConv2D
	if c.depthwise {
		op = nn.OpDepthwiseConv2D
		args = append(args, b.Scalar(c.co))
	}
	args = append(args, b.Scalar(int(c.act)), b.Scalar(nchw), b.Scalar(x.dilation), b.Scalar(y.dilation))
	result := of(f.data, 2, imageDims(nchw, n, y.out, x.out, channels))
	out := b.Temp(result.typ, result.dims, result.scale, result.zero)
	b.Op(op, args, []uint32{out})
	b.Output(out)
	return nntest.Build(&b)
}
