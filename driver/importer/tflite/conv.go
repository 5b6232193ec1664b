package tflite

import (
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Vtable slots of Conv2DOptions and DepthwiseConv2DOptions.
const (
	convPadding, convStrideW, convStrideH                                 = 0, 1, 2
	convActivation, convDilationW, convDilationH, convBiasType            = 3, 4, 5, 6
	transposeBiasType                                                     = 4
	depthMultiplier, depthActivation, depthDilationW, depthDilationH      = 3, 4, 5, 6
	paddingSame                                                      int8 = 0
	paddingValid                                                     int8 = 1
)

func (c *call) padding(slot int) int32 {
	switch p := c.options.int8(slot); p {
	case paddingSame:
		return nn.PaddingSame
	case paddingValid:
		return nn.PaddingValid
	default:
		c.fail(importer.Damaged("padding scheme %d", p))
		return 0
	}
}

// conv2D: filter [Co, Kh, Kw, Ci] as in the HAL.
func conv2D(c *call) error {
	if t := elementType(c.options.int8(convBiasType)); t != typeFloat32 && t != typeInt32 {
		return fmt.Errorf("bias of type %v", t) // 0, FLOAT32, is also the default
	}
	return c.convolution(0, convActivation, convDilationW, convDilationH, nil)
}

// transposeConv: TensorFlow Lite has the shape of the result first, then the filter, [Co, Kh, Kw, Ci] as in the HAL, and the
// input. The last of its options is the type of the bias.
func transposeConv(c *call) error {
	in := []int32{c.in[2], c.in[1], -1, c.in[0]}
	if len(c.in) > 3 {
		in[2] = c.in[3]
	}
	c.in = in
	if t := elementType(c.options.int8(transposeBiasType)); t != typeFloat32 && t != typeInt32 {
		return fmt.Errorf("bias of type %v", t)
	}
	x, w, b := c.filtered(0)
	y, scheme := c.data(3), c.padding(convPadding)
	act, tanh := c.activation(convActivation)
	return c.finishFused(nn.OpTransposeConv2D, tanh, x, w, b, y,
		scheme, c.options.int32(convStrideW, 0), c.options.int32(convStrideH, 0), act, false)
}

// depthwiseConv2D: filter [1, Kh, Kw, Co] as in the HAL. TensorFlow Lite takes the multiplier from the shapes;
// the option says the same or is left off.
func depthwiseConv2D(c *call) error {
	x := c.data(0)
	if !c.has(1) {
		return importer.Damaged("input 1 (filter) is missing")
	}
	in, filter := c.operand(x).Dims, c.tensor(1).shape
	if len(in) != 4 || len(filter) != 4 {
		return fmt.Errorf("input of rank %d, filter of rank %d", len(in), len(filter))
	}
	m := filter[3] / int32(min(in[3], math.MaxInt32))
	if o := c.options.int32(depthMultiplier, 0); o != 0 && o != m {
		return fmt.Errorf("depth multiplier %d with %d input and %d output channels", o, in[3], filter[3])
	}
	return c.convolution(3, depthActivation, depthDilationW, depthDilationH, []any{m})
}

// convolution emits the implicit-padding form. channelDim is the dimension of the filter that counts output
// channels; extra are the parameters between strides and activation.
func (c *call) convolution(channelDim, actSlot, dilationW, dilationH int, extra []any) error {
	x, w, b := c.filtered(channelDim)
	if c.err != nil {
		return c.err
	}
	d := c.operand(w).Dims
	groups := uint32(1)
	if in := c.operand(x).Dims; channelDim == 0 && len(in) == 4 && d[3] != 0 && in[3]%d[3] == 0 {
		groups = in[3] / d[3]
	}
	scheme := c.padding(convPadding)
	act, tanh := c.activation(actSlot)
	op := nn.OpConv2D
	if channelDim == 3 {
		op = nn.OpDepthwiseConv2D
	}
	if groups > 1 {
		op, extra = nn.OpGroupedConv2D, []any{int32(groups)}
	}
	list := append([]any{x, w, b, scheme, c.options.int32(convStrideW, 0), c.options.int32(convStrideH, 0)}, extra...)
	list = append(list, act)
	dw, dh := c.options.int32(dilationW, 1), c.options.int32(dilationH, 1)
	switch dilated := dw != 1 || dh != 1; {
	case dilated && groups > 1:
		return fmt.Errorf("grouped convolution with dilations %d and %d", dw, dh)
	case dilated:
		list = append(list, false, dw, dh) // NHWC
	case groups > 1:
		list = append(list, false)
	}
	return c.finishFused(op, tanh, list...)
}

// filtered returns input, filter and bias of a convolution.
func (c *call) filtered(channelDim int) (x, w, b uint32) {
	x = c.data(0)
	w = c.weights(x, channelDim)
	d := c.operand(w).Dims
	if len(d) != 4 {
		c.fail(fmt.Errorf("filter of rank %d", len(d)))
		return x, w, 0
	}
	return x, w, c.bias(x, w, d[channelDim])
}

// weights returns the filter, input 1. Signed 8-bit filters are symmetric with a scale for each channel.
func (c *call) weights(x uint32, channelDim int) uint32 {
	if !c.has(1) {
		c.fail(importer.Damaged("input 1 (filter) is missing"))
		return 0
	}
	typ, w := c.operand(x).Type, c.tensor(1)
	if typ.IsFloat() && (w.typ == typeInt8 || w.typ == typeUInt8) {
		c.fail(fmt.Errorf("%v weights for float activations", w.typ))
	}
	if c.err != nil || typ != nn.TensorQuant8AsymmSigned || w.typ != typeInt8 {
		return c.data(1)
	}
	y, err := c.perChannel(c.in[1], channelDim)
	if err != nil {
		c.err = fmt.Errorf("filter: %w", err)
	}
	return y
}

// bias returns input 2 as a vector of n elements, zeros when it is absent. An integer bias counts in units of
// scale(input) * scale(filter), whatever the file says its scale is.
func (c *call) bias(x, w uint32, n uint32) uint32 {
	if c.err != nil {
		return 0
	}
	in, filter := importer.TypeOf(c.operand(x)), *c.operand(w)
	s := spec{Of: in.Of}
	if in.Of.IsQuant8() {
		s = intType
		if filter.Channel == nil {
			s.Scale = float32(float64(in.Scale) * float64(filter.Scale))
			if !validScale(s.Scale) {
				c.err = fmt.Errorf("scale of the bias is %v * %v", in.Scale, filter.Scale)
				return 0
			}
		}
	}
	if !c.has(2) {
		return c.zeros(s, nn.Dims{n})
	}
	t := c.tensor(2)
	switch {
	case in.Of.IsQuant8() && t.typ != typeInt32, !in.Of.IsQuant8() && elementOperands[t.typ] != in.Of:
		c.err = fmt.Errorf("bias of type %v", t.typ)
		return 0
	case in.Of.IsQuant8():
		c.err = c.biasScales(&t.quant, in, &filter)
	default:
		if y := c.values[c.in[2]].operand; y >= 0 { // computed, or widened from float16
			o := *c.operand(uint32(y))
			if have, err := o.Dims.Elements(); err != nil || have != n || o.Lifetime != nn.ConstantCopy {
				return uint32(y)
			}
			o.Dims = nn.Dims{n}
			return c.Add(o)
		}
	}
	if c.err != nil {
		return 0
	}
	y, err := c.view(c.in[2], s, n)
	if err != nil {
		c.err = fmt.Errorf("bias: %w", err)
	}
	return y
}

// biasScales checks the scale of an integer bias as TensorFlow Lite does: it may be off by 2 % of an output step
// (GetQuantizedConvolutionMultipler in kernel_util.cc, there only with one scale for the filter). Files share one bias
// of zeros between convolutions, so with a scale for each channel nothing is checked.
func (c *call) biasScales(q *quantization, in spec, filter *nn.Operand) error {
	out := &c.output().quant
	if q.scales.n != 1 || out.scales.n != 1 || filter.Channel != nil {
		return nil
	}
	product := float64(in.Scale) * float64(filter.Scale)
	if diff := math.Abs(product - float64(q.scales.float32(0))); !(diff <= 0.02*float64(out.scales.float32(0))) {
		return errors.New("scale of the bias is not scale(input) * scale(filter)")
	}
	return nil
}
