package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// convForms are the two input lists of a convolution. They share a length (10 for CONV_2D, 11 for
// DEPTHWISE_CONV_2D): then an INT32 where the implicit form has its layout flag means the explicit one.
type convForms struct {
	explicit, implicit         form
	explicitArgs, implicitArgs windowArgs
}

func newConvForms(depthwise bool) *convForms {
	scalars := func(pads ...string) []arg {
		names := append(pads, "stride width", "stride height")
		if depthwise {
			names = append(names, "depth multiplier")
		}
		return int32s(append(names, "activation")...)
	}
	lead := list(input(numbers, exactly(4)), weights(exactly(4)), bias())
	tail := list(flag("layout"), int32s("dilation width", "dilation height"))
	k := 0
	multiplier := func(i int) int { return -1 }
	if depthwise {
		k = 1
		multiplier = func(i int) int { return i }
	}
	return &convForms{
		explicit: form{
			args:   list(lead, scalars("left padding", "right padding", "top padding", "bottom padding"), tail),
			counts: []int{10 + k, 11 + k, 13 + k},
		},
		implicit: form{
			args:   list(lead, scalars("padding scheme"), tail),
			counts: []int{7 + k, 8 + k, 10 + k},
		},
		explicitArgs: windowArgs{scheme: -1, pads: 3, stride: 7, window: -1, multiplier: multiplier(9), act: 9 + k, nchw: 10 + k, dilation: 11 + k},
		implicitArgs: windowArgs{scheme: 3, stride: 4, window: -1, multiplier: multiplier(6), act: 6 + k, nchw: 7 + k, dilation: 8 + k},
	}
}

func (f *convForms) isExplicit(c *Call) bool {
	n := len(c.Op.Inputs)
	if !f.explicit.takes(n) {
		return false
	}
	return !f.implicit.takes(n) || c.inputType(f.implicitArgs.nchw) != nn.Bool
}

func (f *convForms) form(c *Call) *form {
	if f.isExplicit(c) {
		return &f.explicit
	}
	return &f.implicit
}

func (f *convForms) window(c *Call) *windowArgs {
	if f.isExplicit(c) {
		return &f.explicitArgs
	}
	return &f.implicitArgs
}

func (f *convForms) attrs(c *Call, p *params, a *Attrs) { f.window(c).decode(c, p, a) }

var (
	convs      = newConvForms(false)
	depthwises = newConvForms(true)
)

func init() {
	register(rows(
		definition{
			t: nn.OpConv2D, form: convs.form, out: like("output", exactly(4)),
			quant: weightQuant(0), attrs: convs.attrs, shape: convShape,
		},
		definition{
			t: nn.OpDepthwiseConv2D, form: depthwises.form, out: like("output", exactly(4)),
			quant: weightQuant(3), attrs: depthwises.attrs, shape: depthwiseShape,
		},
	)...)
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
	out, err := convs.window(c).slide(c, a, [2]int64{int64(filter[1]), int64(filter[2])})
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
	out, err := depthwises.window(c).slide(c, a, [2]int64{int64(filter[1]), int64(filter[2])})
	if err != nil {
		return nil, err
	}
	return image(a, x[0], out, filter[3]), nil
}
