package compile

import "github.com/nngpu/nngpu/driver/nn"

// weightsOf returns filter and bias for input x.
func (g *generator) weightsOf(x generated, d nn.Dims, channels, dim uint32) (w, b uint32) {
	bias := nn.Dims{channels}
	if !x.typ.IsQuant8() {
		return g.data(x.typ, d, quant{}), g.data(x.typ, bias, quant{})
	}
	if n, err := d.Elements(); g.byte()%3 == 0 && err == nil && n <= maxConst && n > 0 {
		scales := make([]float32, channels)
		for i := range scales {
			scales[i] = g.scale()
		}
		return g.b.PerChannel(d, scales, dim, make([]byte, n)), g.data(nn.TensorInt32, bias, quant{})
	}
	wq := g.quantOf(x.typ)
	product := float64(x.q.scale) * float64(wq.scale)
	return g.data(x.typ, d, wq), g.data(nn.TensorInt32, bias, quant{scale: float32(product)})
}

// channels of x, a guess where they are not known.
func channels(x generated) uint32 {
	if len(x.dims) == 0 {
		return 1
	}
	return x.dims[len(x.dims)-1]
}

// scalars are integer parameters, most of them small; so that most windows are valid, one at a time is not.
func (g *generator) scalars(n int, small ...int32) []uint32 {
	odd := g.byte()
	ids := make([]uint32, n)
	for i := range ids {
		v := pick(&g.chooser, small...)
		if odd%8 == i {
			v = g.attr()
		}
		ids[i] = g.b.Scalar(v)
	}
	return ids
}

// side is a height or width of a filter.
func (g *generator) side() uint32 {
	if g.byte() > 230 {
		return g.dim()
	}
	return pick[uint32](&g.chooser, 1, 1, 2, 3, 3, 5)
}

// window are the parameters of a sliding window; size adds those that only pools have.
func (g *generator) window(size, multiplier bool, m int32) []uint32 {
	var p []uint32
	explicit := g.byte()%2 == 0
	if explicit {
		p = g.scalars(4, 0, 0, 1, 2)
	} else {
		p = append(p, g.b.Scalar(1+g.byte()%2))
	}
	p = append(p, g.scalars(2, 1, 1, 2, 3)...)
	if size {
		p = append(p, g.scalars(2, 1, 2, 3, 7)...)
	}
	if multiplier {
		p = append(p, g.b.Scalar(m))
	}
	p = append(p, g.act())
	if g.byte()%2 == 0 {
		p = append(p, g.b.Scalar(g.byte() > 230)) // NCHW
		if !size {
			p = append(p, g.scalars(2, 1, 1, 2)...) // dilation
		}
	}
	return p
}

func (g *generator) convolution(x generated) {
	q := g.quantOf(x.typ)
	ci := channels(x)
	if g.byte()%2 == 0 {
		d := nn.Dims{g.dim(), g.side(), g.side(), ci}
		w, b := g.weightsOf(x, d, d[0], 0)
		g.op(nn.OpConv2D, x.typ, q, append([]uint32{x.id, w, b}, g.window(false, false, 0)...)...)
		return
	}
	m := pick[int32](&g.chooser, 1, 1, 2, 3, g.attr())
	co := ci * uint32(m)
	d := nn.Dims{1, g.side(), g.side(), co}
	w, b := g.weightsOf(x, d, co, 3)
	g.op(nn.OpDepthwiseConv2D, x.typ, q, append([]uint32{x.id, w, b}, g.window(false, true, m)...)...)
}

func (g *generator) pool(x generated) {
	op := pick(&g.chooser, nn.OpAveragePool2D, nn.OpMaxPool2D, nn.OpL2Pool2D)
	g.op(op, x.typ, x.q, append([]uint32{x.id}, g.window(true, false, 0)...)...)
}

func (g *generator) binary(x generated) {
	op := pick(&g.chooser, nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum, nn.OpPow, nn.OpPrelu, nn.OpSquaredDifference)
	in := g.pair(x)
	switch op {
	case nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv:
		in = append(in, g.act())
	}
	g.op(op, x.typ, g.quantOf(x.typ), in...)
}

// pair is x and a tensor of its type whose shape may broadcast, in either order.
func (g *generator) pair(x generated) []uint32 {
	y := x.id
	switch g.byte() % 4 {
	case 0:
		y = g.tensor().id
	case 1, 2:
		d := append(nn.Dims(nil), x.dims...)
		for i := range d {
			if g.byte()%2 == 0 {
				d[i] = pick(&g.chooser, 1, 1, 1, g.dim())
			}
		}
		if len(d) > 0 {
			d = d[g.byte()%len(d):]
		} else {
			d = g.shape()
		}
		y = g.data(x.typ, d, g.quantOf(x.typ))
	}
	in := []uint32{x.id, y}
	if g.byte()%2 == 0 {
		in[0], in[1] = in[1], in[0]
	}
	return in
}

func (g *generator) comparison(x generated) {
	g.op(pick(&g.chooser, nn.OpEqual, nn.OpNotEqual, nn.OpLess, nn.OpLessEqual, nn.OpGreater, nn.OpGreaterEqual), nn.TensorBool8, quant{}, g.pair(x)...)
}

func (g *generator) topK(x generated) {
	k := pick(&g.chooser, 1, 2, 5, int32(channels(x)), int32(channels(x)), g.attr())
	g.b.Op(nn.OpTopkV2, []uint32{x.id, g.b.Scalar(k)}, []uint32{g.result(x.typ, x.q), g.result(nn.TensorInt32, quant{})})
}

func (g *generator) unary(x generated) {
	op := pick(&g.chooser, nn.OpRelu, nn.OpRelu1, nn.OpRelu6, nn.OpHardSwish, nn.OpTanh, nn.OpLogistic, nn.OpAbs, nn.OpExp, nn.OpRsqrt, nn.OpElu, nn.OpNeg)
	q := x.q
	switch op {
	case nn.OpHardSwish, nn.OpRsqrt:
		q = g.quantOf(x.typ)
	case nn.OpElu:
		g.op(op, x.typ, quant{}, x.id, g.real(x.typ))
		return
	case nn.OpTanh, nn.OpLogistic:
		q = fixedQuant(x.typ, op == nn.OpTanh)
	}
	g.op(op, x.typ, q, x.id)
}

// fixedQuant is what TANH, and LOGISTIC and SOFTMAX, demand of an 8-bit output.
func fixedQuant(t nn.OperandType, signed bool) quant {
	q := quant{1.0 / 256, 0}
	if signed {
		q = quant{1.0 / 128, 128}
	}
	switch {
	case !t.IsQuant8():
		return quant{}
	case t == nn.TensorQuant8AsymmSigned:
		q.zero -= 128
	}
	return q
}

func (g *generator) softmax(x generated) {
	op := pick(&g.chooser, nn.OpSoftmax, nn.OpSoftmax, nn.OpLogSoftmax)
	g.op(op, x.typ, fixedQuant(x.typ, false), x.id, g.real(x.typ), g.b.Scalar(g.byte()%5-4))
}

func (g *generator) mean(x generated) {
	axes := make([]int32, 1+g.byte()%4)
	for i := range axes {
		axes[i] = int32(g.byte() % 4)
	}
	g.op(nn.OpMean, x.typ, g.quantOf(x.typ), x.id, g.parameter(nn.Dims{uint32(len(axes))}, axes), g.b.Scalar(g.byte()%2))
}

func (g *generator) reshape(x generated) {
	switch g.byte() % 4 {
	case 0:
		g.op(nn.OpExpandDims, x.typ, x.q, x.id, g.b.Scalar(g.byte()%5-1))
	case 1:
		g.op(nn.OpSqueeze, x.typ, x.q, x.id, g.parameter(nn.Dims{1}, []int32{int32(g.byte() % 4)}))
	default:
		sizes := []int32{-1}
		for range g.byte() % 4 {
			sizes = append(sizes, pick[int32](&g.chooser, 1, 2, 3, 4, 5, 7, g.attr(), int32(channels(x))))
		}
		if k := g.byte() % len(sizes); k > 0 {
			sizes[0], sizes[k] = sizes[k], sizes[0]
		}
		g.op(nn.OpReshape, x.typ, x.q, x.id, g.parameter(nn.Dims{uint32(len(sizes))}, sizes))
	}
}

func (g *generator) transpose(x generated) {
	n := len(x.dims)
	if n == 0 {
		n = 4
	}
	perm := make([]int32, n)
	for i := range perm {
		perm[i] = int32(i)
	}
	for range 1 + g.byte()%4 {
		i, k := g.byte()%n, g.byte()%n
		perm[i], perm[k] = perm[k], perm[i]
	}
	g.op(nn.OpTranspose, x.typ, x.q, x.id, g.parameter(nn.Dims{uint32(n)}, perm))
}

func (g *generator) concat(x generated) {
	axis := g.byte() % 4
	in := []uint32{x.id}
	for range g.byte() % 5 {
		d := append(nn.Dims(nil), x.dims...)
		if axis < len(d) && g.byte()%2 == 0 {
			d[axis] = g.dim()
		}
		y := x.id
		if len(d) > 0 && g.byte()%3 > 0 {
			q := x.q
			if g.byte()%2 == 0 {
				q = g.quantOf(x.typ)
			}
			y = g.data(x.typ, d, q)
		}
		in = append(in, y)
	}
	g.op(nn.OpConcatenation, x.typ, pick(&g.chooser, x.q, g.quantOf(x.typ)), append(in, g.b.Scalar(axis))...)
}

func (g *generator) pad(x generated) {
	n := len(x.dims)
	if n == 0 {
		n = 4
	}
	pads := make([]int32, 2*n)
	for i := range pads {
		if g.byte()%2 == 0 {
			pads[i] = g.attr()
		}
	}
	in := []uint32{x.id, g.parameter(nn.Dims{uint32(n), 2}, pads)}
	op := pick(&g.chooser, nn.OpPad, nn.OpPadV2, nn.OpMirrorPad, nn.OpMirrorPad)
	switch op {
	case nn.OpPadV2:
		if x.typ.IsQuant8() {
			in = append(in, g.b.Scalar(g.byte()))
		} else {
			in = append(in, g.real(x.typ))
		}
	case nn.OpMirrorPad:
		in = append(in, g.b.Scalar(g.byte()%2))
	}
	g.op(op, x.typ, x.q, in...)
}

func (g *generator) resize(x generated) {
	op := pick(&g.chooser, nn.OpResizeBilinear, nn.OpResizeNearestNeighbor)
	in := []uint32{x.id, g.b.Scalar(int32(g.dim())), g.b.Scalar(int32(g.dim()))}
	if g.byte()%4 == 0 {
		in = []uint32{x.id, g.real(x.typ), g.real(x.typ)}
	}
	in = append(in, g.b.Scalar(g.byte() > 230))
	if k := g.byte() % 4; k > 0 {
		in = append(in, g.b.Scalar(k == 2), g.b.Scalar(k == 3))
	}
	g.op(op, x.typ, x.q, in...)
}

func (g *generator) fullyConnected(x generated) {
	units := g.dim()
	w, b := g.weightsOf(x, nn.Dims{units, pick(&g.chooser, channels(x), channels(x), g.dim())}, units, 0)
	g.op(nn.OpFullyConnected, x.typ, g.quantOf(x.typ), x.id, w, b, g.act())
}

func (g *generator) convert(x generated) {
	switch {
	case g.byte()%2 == 0:
		to := pick(&g.chooser, nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm)
		g.op(nn.OpCast, to, g.quantOf(to), x.id)
	case x.typ.IsQuant8() && g.byte()%2 == 0:
		to := pick(&g.chooser, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Asymm)
		g.op(nn.OpRequantize, to, g.quantOf(to), x.id)
	case x.typ.IsQuant8():
		g.op(nn.OpDequantize, pick(&g.chooser, nn.TensorFloat32, nn.TensorFloat16), quant{}, x.id)
	default:
		to := pick(&g.chooser, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Asymm)
		g.op(nn.OpQuantize, to, g.quantOf(to), x.id)
	}
}
