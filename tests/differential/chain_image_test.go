package differential

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// window is a random window over an image that is given as NHWC or NCHW.
type window struct {
	nchw       bool
	n, h, w, c uint32
	kh, kw     int
	strideH    int
	strideW    int
	same       bool
	outH, outW uint32
	dilation   int
	act        nn.Activation
}

func (c *chain) window(x *val, kernels ...int) window {
	w := window{nchw: c.chance(3), dilation: 1, act: c.activation(x.typ)}
	w.n, w.h, w.w, w.c = x.dims[0], x.dims[1], x.dims[2], x.dims[3]
	if w.nchw {
		w.c, w.h, w.w = x.dims[1], x.dims[2], x.dims[3]
	}
	w.kh, w.kw = kernels[c.rng.IntN(len(kernels))], kernels[c.rng.IntN(len(kernels))]
	w.strideH, w.strideW = 1+c.rng.IntN(2), 1+c.rng.IntN(2)
	w.same = c.chance(2)
	if !w.same {
		w.kh, w.kw = min(w.kh, int(w.h)), min(w.kw, int(w.w))
	}
	size := func(n uint32, k, stride int) uint32 {
		if w.same {
			return (n + uint32(stride) - 1) / uint32(stride)
		}
		return (n-uint32(k))/uint32(stride) + 1
	}
	w.outH, w.outW = size(w.h, w.kh, w.strideH), size(w.w, w.kw, w.strideW)
	return w
}

// image is a shape in the layout of the window's.
func (w *window) image(h, wd, c uint32) nn.Dims {
	if w.nchw {
		return nn.Dims{w.n, c, h, wd}
	}
	return nn.Dims{w.n, h, wd, c}
}

func (w *window) scheme() int {
	if w.same {
		return int(nn.PaddingSame)
	}
	return int(nn.PaddingValid)
}

func growPool(c *chain) bool {
	x := c.pick(isImage)
	if x == nil {
		return false
	}
	w := c.window(x, 1, 2, 3, 5)
	y := *x
	y.dims, y.mag = w.image(w.outH, w.outW, w.c), clamped(x.mag, w.act)
	op := nn.OpMaxPool2D
	if isExact(x) {
		ops := []nn.OperationType{nn.OpMaxPool2D, nn.OpAveragePool2D, nn.OpL2Pool2D}
		if x.typ.IsQuant8() {
			ops = ops[:2]
		}
		op = ops[c.rng.IntN(len(ops))]
	}
	return c.emit(op, y, x.id, c.b.Scalar(w.scheme()), c.b.Scalar(w.strideW), c.b.Scalar(w.strideH), c.b.Scalar(w.kw), c.b.Scalar(w.kh),
		c.b.Scalar(int(w.act)), c.b.Scalar(w.nchw))
}

func growResize(c *chain) bool {
	x := c.pick(isImage)
	if x == nil {
		return false
	}
	w := c.window(x, 1)
	y := *x
	h, wd := 1+c.rng.Uint32N(2*w.h), 1+c.rng.Uint32N(2*w.w)
	y.dims = w.image(h, wd, w.c)
	if elements(y.dims) > maxChainElements {
		return false
	}
	op, mode := nn.OpResizeNearestNeighbor, c.rng.IntN(3)
	if isExact(x) && c.chance(2) {
		op = nn.OpResizeBilinear
		y.rough = y.rough || x.typ.IsQuant8()
	}
	return c.emit(op, y, x.id, c.b.Scalar(int(wd)), c.b.Scalar(int(h)), c.b.Scalar(w.nchw), c.b.Scalar(mode == 1), c.b.Scalar(mode == 2))
}

// weights adds filter and bias for sums of terms products and fixes the quantisation or bound of y. channel
// is the dimension of the filter that counts the outputs.
func (c *chain) weights(x, y *val, dims nn.Dims, channel, terms int, perChannel bool) []uint32 {
	outputs := dims[channel]
	root := math.Sqrt(float64(terms))
	if x.typ.IsFloat() {
		amp := 1.5 / root
		y.mag = min(x.mag*amp*float64(terms), 2*x.mag+1)
		return []uint32{c.floats(x.typ, dims, amp), c.floats(x.typ, nn.Dims{outputs}, 0.5)}
	}
	const ws = 0.01
	y.scale, y.zero = c.someQuant(x.typ, float64(x.scale)*ws*root*100)
	bias := RandomValue(nn.TensorInt32, nn.Dims{outputs}, c.rng)
	if perChannel {
		scales := make([]float32, outputs)
		for i := range scales {
			scales[i] = ws * (0.5 + c.rng.Float32())
		}
		return []uint32{
			c.b.PerChannel(dims, scales, uint32(channel), RandomValue(nn.TensorQuant8PerChannel, dims, c.rng)),
			c.b.Const(nn.TensorInt32, nn.Dims{outputs}, 0, 0, bias),
		}
	}
	zero := int32(c.rng.IntN(256))
	if x.typ == nn.TensorQuant8AsymmSigned {
		zero -= 128
	}
	if c.chance(2) {
		zero = 0
	}
	return []uint32{
		c.b.Const(x.typ, dims, ws, zero, RandomValue(x.typ, dims, c.rng)),
		c.b.Const(nn.TensorInt32, nn.Dims{outputs}, x.scale*ws, 0, bias),
	}
}

func growConv(c *chain) bool {
	x := c.pick(func(v *val) bool { return isImage(v) && isExact(v) && small(v) })
	if x == nil {
		return false
	}
	if c.chance(4) { // a padding that the compiler may fold into the convolution
		x = c.padded(x)
	}
	w := c.window(x, 1, 1, 2, 3)
	co := 1 + c.rng.Uint32N(20)
	y := val{typ: x.typ, dims: w.image(w.outH, w.outW, co), rough: x.rough}
	terms := w.kh * w.kw * int(w.c)
	args := append([]uint32{x.id}, c.weights(x, &y, nn.Dims{co, uint32(w.kh), uint32(w.kw), w.c}, 0, terms, c.chance(3))...)
	y.mag = clamped(y.mag, w.act)
	for _, v := range []int{w.scheme(), w.strideW, w.strideH, int(w.act)} {
		args = append(args, c.b.Scalar(v))
	}
	return c.emit(nn.OpConv2D, y, append(args, c.b.Scalar(w.nchw))...) && c.maybeActivate()
}

// padded adds a PAD of height and width.
func (c *chain) padded(x *val) *val {
	y := *x
	y.dims = nn.Dims{x.dims[0], x.dims[1] + 2, x.dims[2] + 1, x.dims[3]}
	c.emit(nn.OpPad, y, x.id, c.b.Ints(nn.Dims{4, 2}, 0, 0, 1, 1, 0, 1, 0, 0))
	y = c.vals[len(c.vals)-1]
	return &y
}

// maybeActivate puts a RELU behind the newest tensor, which the compiler may fold.
func (c *chain) maybeActivate() bool {
	if !c.chance(4) {
		return true
	}
	x := c.vals[len(c.vals)-1]
	return c.emit([...]nn.OperationType{nn.OpRelu, nn.OpRelu1, nn.OpRelu6}[c.rng.IntN(3)], x, x.id)
}

func growDepthwise(c *chain) bool {
	x := c.pick(func(v *val) bool { return isImage(v) && isExact(v) && small(v) })
	if x == nil {
		return false
	}
	w := c.window(x, 2, 3, 3, 5)
	multiplier := 1 + uint32(c.rng.IntN(6)/4)
	co := w.c * multiplier
	y := val{typ: x.typ, dims: w.image(w.outH, w.outW, co), rough: x.rough}
	if elements(y.dims) > maxChainElements {
		return false
	}
	args := append([]uint32{x.id}, c.weights(x, &y, nn.Dims{1, uint32(w.kh), uint32(w.kw), co}, 3, w.kh*w.kw, c.chance(3))...)
	y.mag = clamped(y.mag, w.act)
	for _, v := range []int{w.scheme(), w.strideW, w.strideH, int(multiplier), int(w.act)} {
		args = append(args, c.b.Scalar(v))
	}
	return c.emit(nn.OpDepthwiseConv2D, y, append(args, c.b.Scalar(w.nchw))...) && c.maybeActivate()
}

func growFullyConnected(c *chain) bool {
	x := c.pick(func(v *val) bool { return notInt(v) && isExact(v) && small(v) && len(v.dims) >= 2 && len(v.dims) <= 4 })
	if x == nil {
		return false
	}
	width := x.dims[len(x.dims)-1]
	if c.chance(3) {
		width = uint32(elements(x.dims[1:]))
	}
	if width > 500 {
		return false
	}
	units := 1 + c.rng.Uint32N(20)
	y := val{typ: x.typ, dims: nn.Dims{uint32(elements(x.dims)) / width, units}, rough: x.rough}
	act := c.activation(x.typ)
	args := append([]uint32{x.id}, c.weights(x, &y, nn.Dims{units, width}, 0, int(width), false)...)
	y.mag = clamped(y.mag, act)
	return c.emit(nn.OpFullyConnected, y, append(args, c.b.Scalar(int(act)))...) && c.maybeActivate()
}
