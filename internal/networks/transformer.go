package networks

import "github.com/nngpu/nngpu/driver/nn"

// Sizes of the encoder's layer in Vaswani et al., "Attention Is All You Need", table 3, base.
const (
	modelWidth   = 512
	heads        = 8
	headWidth    = modelWidth / heads
	hiddenWidth  = 2048
	tokens       = 128
	tokensSmall  = 16
	normEpsilon  = 1e-5
	scoreScaling = 0.125 // 1/sqrt(headWidth)
)

// transformerBlock is one layer of that encoder, for 128 tokens. Rows are the tokens of all examples, one behind the
// other; each head of each example attends in two products of activations.
func transformerBlock(n *network) {
	length := tokens
	if n.spec.Small {
		length = tokensSmall
	}
	batch := n.spec.Batch
	x := n.input(nn.Dims{uint32(batch * length), modelWidth})
	queries := n.dense("queries", x, modelWidth, linear, 1)
	keys := n.dense("keys", x, modelWidth, linear, 1)
	values := n.dense("values", x, modelWidth, linear, 1)
	var examples []uint32
	for i := range batch {
		examples = append(examples, n.attend(n.example(queries, i), n.example(keys, i), n.example(values, i), length))
	}
	context := examples[0]
	if batch > 1 {
		context = n.concatenate("context", 0, examples...)
	}
	y := n.add("attention/sum", x, n.dense("attention", context, modelWidth, linear, 1), linear)
	y = n.normalise("attention/norm", y)
	hidden := n.dense("hidden", y, hiddenWidth, relu, 1)
	z := n.add("feed/sum", y, n.dense("feed", hidden, modelWidth, linear, 1), linear)
	n.output(n.normalise("feed/norm", z))
}

// example is the rows of x that belong to the ith example.
func (n *network) example(x uint32, i int) uint32 {
	if n.spec.Batch == 1 {
		return x
	}
	rows := int(n.b.Operand(x).Dims[0]) / n.spec.Batch
	return n.b.Slice(x, []int{i * rows, 0}, []int{rows, modelWidth})
}

// attend mixes the values, rows of tokens, by how well queries and keys agree.
func (n *network) attend(queries, keys, values uint32, length int) uint32 {
	q, k := n.b.Split(queries, 1, heads), n.b.Split(keys, 1, heads)
	v := n.b.Split(n.b.Transpose(values, 1, 0), 0, heads)
	mixed := make([]uint32, heads)
	for i := range heads {
		agreement := n.product("agreement", q[i], k[i], length)
		weights := n.b.Softmax(agreement, scoreScaling, -1)
		mixed[i] = n.product("context", weights, v[i], headWidth)
	}
	return n.concatenate("context", 1, mixed...)
}

// product multiplies rows of x by the rows of y, whose number is rows.
func (n *network) product(name string, x, y uint32, rows int) uint32 {
	d := nn.Dims{uint32(rows)}
	var bias uint32
	switch n.spec.Type {
	case Float16:
		bias = n.halves(d, make([]float32, rows))
	case Int8:
		bias = n.b.Const(nn.TensorInt32, d, n.b.Operand(x).Scale*n.b.Operand(y).Scale, 0, make([]byte, 4*rows))
	default:
		bias = n.b.Floats(d, make([]float32, rows)...)
	}
	return n.result(name, n.b.FullyConnected(x, y, bias, linear, n.quant(name)...))
}

// normalise gives each row the mean 0 and the variance 1. In a network of int8 it computes in float32, as converters have
// it: 8 bits are too few for squares.
func (n *network) normalise(name string, x uint32) uint32 {
	b := &n.b
	if n.spec.Type == Int8 {
		x = b.Dequantize(x, nn.TensorFloat32)
	}
	d := b.Sub(x, b.Mean(x, []int{1}, true), nn.ActNone)
	variance := b.Mean(b.Mul(d, d, nn.ActNone), []int{1}, true)
	y := b.Mul(d, b.Rsqrt(b.Add(variance, n.constant(x, normEpsilon), nn.ActNone)), nn.ActNone)
	if n.spec.Type == Int8 {
		y = b.Quantize(y, nn.TensorQuant8AsymmSigned, n.ranges[name].quant())
	}
	return n.result(name, y)
}

// constant is a number that goes with x.
func (n *network) constant(x uint32, v float32) uint32 {
	if n.b.Operand(x).Type == nn.TensorFloat16 {
		return n.halves(nn.Dims{1}, []float32{v})
	}
	return n.b.Floats(nn.Dims{1}, v)
}
