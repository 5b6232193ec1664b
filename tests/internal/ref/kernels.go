package ref

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// kernel decodes the operands of an operation, by the lists of the NNAPI documentation, and computes it.
type kernel struct {
	counts   []int // legal numbers of inputs; nil for any above 1
	optional int   // 1 + index of the input that may be omitted; 0 for none
	run      func(*call) (*Tensor, error)
	runs     func(*call) ([]*Tensor, error) // instead, of an operation with several outputs
}

// outputs computes all of them.
func (k *kernel) outputs(c *call) ([]*Tensor, error) {
	if k.runs != nil {
		return k.runs(c)
	}
	t, err := k.run(c)
	return []*Tensor{t}, err
}

func (k *kernel) accepts(n int) bool {
	if k.counts == nil {
		return n > 1
	}
	return slices.Contains(k.counts, n)
}

var kernels = map[nn.OperationType]kernel{}

func init() {
	poolCounts := []int{7, 8, 10, 11}
	kernels = map[nn.OperationType]kernel{
		nn.OpConv2D:          {counts: []int{7, 8, 10, 11, 13}, run: conv2D},
		nn.OpDepthwiseConv2D: {counts: []int{8, 9, 11, 12, 14}, run: depthwiseConv2D},
		nn.OpFullyConnected: {counts: []int{4}, run: func(c *call) (*Tensor, error) {
			return FullyConnected(c.in[0], c.in[1], c.in[2], c.activation(3), c.out, c.ar)
		}},
		nn.OpAveragePool2D: {counts: poolCounts, run: func(c *call) (*Tensor, error) {
			return AveragePool2D(c.in[0], c.poolParams(), c.out, c.ar)
		}},
		nn.OpMaxPool2D: {counts: poolCounts, run: func(c *call) (*Tensor, error) {
			return MaxPool2D(c.in[0], c.poolParams(), c.out)
		}},
		nn.OpL2Pool2D: {counts: poolCounts, run: func(c *call) (*Tensor, error) {
			return L2Pool2D(c.in[0], c.poolParams(), c.out)
		}},
		nn.OpAdd: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return Add(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
		}},
		nn.OpSub: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return Sub(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
		}},
		nn.OpMul: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return Mul(c.in[0], c.in[1], c.activation(2), c.out, c.ar)
		}},
		nn.OpDiv: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return Div(c.in[0], c.in[1], c.activation(2), c.out)
		}},
		nn.OpMaximum: {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Maximum(c.in[0], c.in[1], c.out) }},
		nn.OpMinimum: {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Minimum(c.in[0], c.in[1], c.out) }},
		nn.OpPow:     {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Pow(c.in[0], c.in[1], c.out) }},
		nn.OpPrelu:   {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Prelu(c.in[0], c.in[1], c.out, c.ar) }},
		nn.OpSquaredDifference: {counts: []int{2}, run: func(c *call) (*Tensor, error) {
			return SquaredDifference(c.in[0], c.in[1], c.out, c.ar)
		}},
		nn.OpElu:       {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Elu(c.in[0], c.real(1), c.out) }},
		nn.OpHardSwish: {counts: []int{1}, run: func(c *call) (*Tensor, error) { return HardSwish(c.in[0], c.out, c.ar) }},
		nn.OpCast:      {counts: []int{1}, run: cast},
		nn.OpSoftmax: {counts: []int{2, 3}, run: func(c *call) (*Tensor, error) {
			return Softmax(c.in[0], c.real(1), c.axisOr(2, -1), c.out, c.ar)
		}},
		nn.OpLogSoftmax: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return LogSoftmax(c.in[0], c.real(1), c.int(2), c.out)
		}},
		nn.OpMean: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			return Mean(c.in[0], c.ints(1), c.int(2) > 0, c.out, c.ar)
		}},
		nn.OpReshape:    {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Reshape(c.in[0], c.ints(1)) }},
		nn.OpSqueeze:    {counts: []int{2}, optional: 2, run: func(c *call) (*Tensor, error) { return Squeeze(c.in[0], c.ints(1)) }},
		nn.OpExpandDims: {counts: []int{2}, run: func(c *call) (*Tensor, error) { return ExpandDims(c.in[0], c.int(1)) }},
		nn.OpTranspose:  {counts: []int{2}, optional: 2, run: func(c *call) (*Tensor, error) { return Transpose(c.in[0], c.ints(1)) }},
		nn.OpConcatenation: {run: func(c *call) (*Tensor, error) {
			last := len(c.in) - 1
			// The one limit of rank that an invalid conformance model trespasses.
			if len(c.in[0].Shape) > 4 {
				return nil, fmt.Errorf("rank %d", len(c.in[0].Shape))
			}
			return Concatenation(c.in[:last], c.int(last), c.out, c.ar)
		}},
		nn.OpSplit: {counts: []int{3}, runs: func(c *call) ([]*Tensor, error) { return Split(c.in[0], c.int(1), c.int(2)) }},
		nn.OpPad:   {counts: []int{2}, run: func(c *call) (*Tensor, error) { return Pad(c.in[0], c.pads(1)) }},
		nn.OpPadV2: {counts: []int{3}, run: func(c *call) (*Tensor, error) {
			value := c.scalar(2, nn.Int32, nn.Float32, nn.Float16)
			return PadWith(c.in[0], c.pads(1), value)
		}},
		nn.OpMirrorPad: {counts: []int{3}, run: func(c *call) (*Tensor, error) { return MirrorPad(c.in[0], c.pads(1), c.int(2)) }},
		nn.OpResizeBilinear: {counts: []int{3, 4, 5, 6}, run: func(c *call) (*Tensor, error) {
			return ResizeBilinear(c.in[0], c.resizeParams(), c.out)
		}},
		nn.OpResizeNearestNeighbor: {counts: []int{4, 5, 6}, run: func(c *call) (*Tensor, error) {
			return ResizeNearestNeighbor(c.in[0], c.resizeParams(), c.out)
		}},
		nn.OpRequantize: {counts: []int{1}, run: func(c *call) (*Tensor, error) { return Quantize(c.in[0], c.out, c.ar) }},
		nn.OpQuantize:   {counts: []int{1}, run: func(c *call) (*Tensor, error) { return Quantize(c.in[0], c.out, c.ar) }},
		nn.OpDequantize: {counts: []int{1}, run: func(c *call) (*Tensor, error) { return Dequantize(c.in[0], c.out) }},
	}
	for op, act := range map[nn.OperationType]nn.Activation{nn.OpRelu: nn.ActRelu, nn.OpRelu1: nn.ActRelu1, nn.OpRelu6: nn.ActRelu6} {
		kernels[op] = kernel{counts: []int{1}, run: func(c *call) (*Tensor, error) { return Relu(c.in[0], act, c.out) }}
	}
	for op := range functions {
		kernels[op] = kernel{counts: []int{1}, run: func(c *call) (*Tensor, error) { return Unary(op, c.in[0], c.out, c.ar) }}
	}
}

// Known reports whether the reference has operation t.
func Known(t nn.OperationType) bool { _, ok := kernels[t]; return ok }

func conv2D(c *call) (*Tensor, error) {
	var p ConvParams
	w, i := c.window(3, c.explicitForm(10, 7))
	p.Activation, p.NCHW = c.activation(i), c.flag(i+1)
	c.dilations(i+2, &w)
	p.Window = w
	if c.err != nil {
		return nil, c.err
	}
	return Conv2D(c.in[0], c.in[1], c.in[2], p, c.out, c.ar)
}

func depthwiseConv2D(c *call) (*Tensor, error) {
	var p ConvParams
	w, i := c.window(3, c.explicitForm(11, 8))
	p.Multiplier, p.Activation, p.NCHW = c.int(i), c.activation(i+1), c.flag(i+2)
	c.dilations(i+3, &w)
	p.Window = w
	if c.err != nil {
		return nil, c.err
	}
	return DepthwiseConv2D(c.in[0], c.in[1], c.in[2], p, c.out, c.ar)
}

// poolParams reads all inputs but the first of a pool.
func (c *call) poolParams() PoolParams {
	w, i := c.window(1, len(c.in) >= 10)
	return PoolParams{Window: w, FilterW: c.int(i), FilterH: c.int(i + 1), Activation: c.activation(i + 2), NCHW: c.flag(i + 3)}
}

func (c *call) axisOr(i, missing int) int {
	if i >= len(c.in) {
		return missing
	}
	return c.int(i)
}

// resizeParams reads all inputs but the first of a resize: sizes or, where they are floats, factors.
func (c *call) resizeParams() ResizeParams {
	p := ResizeParams{NCHW: c.flag(3), AlignCorners: c.flag(4), HalfPixel: c.flag(5)}
	if c.in[1].Type == nn.Int32 {
		p.OutW, p.OutH = c.int(1), c.int(2)
		return p
	}
	x := c.in[0]
	if len(x.Shape) != 4 {
		c.fail(0, "rank %d", len(x.Shape))
		return p
	}
	h, w := x.Shape[1], x.Shape[2]
	if p.NCHW {
		h, w = x.Shape[2], x.Shape[3]
	}
	p.OutW, p.OutH = ScaledSize(w, c.real(1)), ScaledSize(h, c.real(2))
	return p
}

// cast checks the pairs of types that NNAPI allows; others convert only to themselves.
func cast(c *call) (*Tensor, error) {
	free := []nn.OperandType{nn.TensorFloat16, nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm}
	from, to := c.in[0].Type, c.out.Type
	if from != to && !(slices.Contains(free, from) && slices.Contains(free, to)) {
		return nil, fmt.Errorf("cast from %s to %s", from, to)
	}
	return Cast(c.in[0], c.out)
}
