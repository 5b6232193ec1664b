package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// windowed are the forms of an operation on windows of an image. lead are its tensors, middle what stands between the
// strides and the activation, tail what may be left off.
func windowed(lead, middle, tail []Operand) []Form {
	strides := int32s("stride width", "stride height")
	return []Form{
		{"implicit padding", list(lead, int32Of("padding scheme", "1 SAME, 2 VALID"), strides, middle, activation(), tail)},
		{"explicit padding", list(lead, int32s("left padding", "right padding", "top padding", "bottom padding"), strides, middle, activation(), tail)},
	}
}

func convForms(filter string, middle ...Operand) []Form {
	lead := list(input(numbers, exactly(4)), weights("filter", exactly(4), filter), bias("[Co]"))
	dilation := int32s("dilation width", "dilation height")
	dilation[0], dilation[1] = dilation[0].since(3).trailing(), dilation[1].since(3)
	return windowed(lead, middle, list(layout().trailing(), dilation))
}

func init() {
	register(
		Row{
			Type: nn.OpConv2D, Since: 1, Forms: convForms("[Co, Kh, Kw, Ci]"), Outputs: result(exactly(4)),
			quant: weightQuant(0), attrs: convAttrs, shapes: single(convShape),
		},
		Row{
			Type: nn.OpDepthwiseConv2D, Since: 1, Forms: convForms("[1, Kh, Kw, Co]", int32Of("depth multiplier", "Co / Ci")),
			Outputs: result(exactly(4)),
			quant:   weightQuant(3), attrs: depthwiseAttrs, shapes: single(depthwiseShape),
		},
	)
}

func convAttrs(c *Call, p *params, a *Attrs) {
	windowAttrs(c, p, a)
	a.Dilation = [2]int{1, 1}
	if p.has("dilation width") {
		a.Dilation = p.pair("dilation")
	}
}

func depthwiseAttrs(c *Call, p *params, a *Attrs) {
	a.Multiplier = p.atLeast("depth multiplier", 1)
	convAttrs(c, p, a)
}

// convShape: filter [Co, Kh, Kw, Ci] whatever the layout of the image, bias [Co].
func convShape(c *Call, a *Attrs) (nn.Dims, error) {
	x, filter, bias := c.In(0).Dims, c.In(1).Dims, c.In(2).Dims
	_, _, ch := spatial(a.NCHW)
	if x[ch] != filter[3] {
		return nil, fmt.Errorf("input has %d channels, the filter %d", x[ch], filter[3])
	}
	if bias[0] != filter[0] {
		return nil, fmt.Errorf("bias has %d elements, the filter %d output channels", bias[0], filter[0])
	}
	out, err := slide(c, a, [2]int64{int64(filter[1]), int64(filter[2])})
	if err != nil {
		return nil, err
	}
	return image(a, x[0], out, filter[0]), nil
}

// depthwiseShape: filter [1, Kh, Kw, Co] with Co = Ci * multiplier, bias [Co].
func depthwiseShape(c *Call, a *Attrs) (nn.Dims, error) {
	x, filter, bias := c.In(0).Dims, c.In(1).Dims, c.In(2).Dims
	_, _, ch := spatial(a.NCHW)
	if filter[0] != 1 {
		return nil, fmt.Errorf("filter has dimensions %v; the first must be 1", []uint32(filter))
	}
	if uint64(filter[3]) != uint64(x[ch])*uint64(a.Multiplier) {
		return nil, fmt.Errorf("filter has %d output channels instead of %d * %d", filter[3], x[ch], a.Multiplier)
	}
	if bias[0] != filter[3] {
		return nil, fmt.Errorf("bias has %d elements, the filter %d output channels", bias[0], filter[3])
	}
	out, err := slide(c, a, [2]int64{int64(filter[1]), int64(filter[2])})
	if err != nil {
		return nil, err
	}
	return image(a, x[0], out, filter[3]), nil
}
