package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// windowed are the forms of an operation on windows of an image. lead are its tensors, middle the operands between the
// strides and the activation, tail those that may be left off.
func windowed(lead, middle, tail []Operand) []Form {
	strides := int32s("stride width", "stride height")
	return []Form{
		{"implicit padding", list(lead, int32Of("padding scheme", "1 SAME, 2 VALID"), strides, middle, activation(), tail)},
		{"explicit padding", list(lead, int32s("left padding", "right padding", "top padding", "bottom padding"), strides, middle, activation(), tail)},
	}
}

// convLead are the tensors of a convolution.
func convLead(filter string) []Operand {
	return list(input(numbers, exactly(4)), weights("filter", exactly(4), filter), bias("[Co]"))
}

func convForms(filter string, middle ...Operand) []Form {
	dilation := int32s("dilation width", "dilation height")
	dilation[0], dilation[1] = dilation[0].since(3).trailing(), dilation[1].since(3)
	return windowed(convLead(filter), middle, list(layout().trailing(), dilation))
}

func init() {
	register(
		Row{
			Type: nn.OpConv2D, Since: 1, Empty: RowsEmpty, Forms: convForms("[Co, Kh, Kw, Ci]"), Outputs: result(exactly(4)),
			quant:  weightQuant(0),
			relate: relateConv,
			rules:  typed[Conv]{attrs: convAttrs, shapes: single(convShape)},
		},
		Row{
			Type: nn.OpDepthwiseConv2D, Since: 1, Empty: RowsEmpty, Forms: convForms("[1, Kh, Kw, Co]", int32Of("depth multiplier", "Co / Ci")),
			Outputs: result(exactly(4)),
			quant:   weightQuant(3),
			relate:  relateDepthwise,
			rules:   typed[DepthwiseConv]{attrs: depthwiseAttrs, shapes: single(depthwiseShape)},
		},
		Row{
			Type: nn.OpGroupedConv2D, Since: 3,
			Forms:   windowed(convLead("[Co, Kh, Kw, Ci/groups]"), list(int32Of("groups", "divides Ci and Co")), list(layout())),
			Outputs: result(exactly(4)),
			quant:   weightQuant(0),
			relate:  relateGroupedConv,
			rules:   typed[GroupedConv]{attrs: groupedConvAttrs, shapes: single(groupedConvShape)},
		},
	)
}

// Conv are the attributes of CONV_2D. Pad is explicit, even if the operation names a scheme.
type Conv struct {
	Act      nn.Activation `json:"act,omitempty"`
	Stride   [2]int        `json:"stride,omitzero"`
	Dilation [2]int        `json:"dilation,omitzero"`
	Pad      Pad           `json:"pad,omitzero"`
	NCHW     bool          `json:"nchw,omitempty"`
}

func (a Conv) attrs()                                 {}
func (a Conv) Activation() nn.Activation              { return a.Act }
func (a Conv) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }
func (a Conv) ChannelsFirst() bool                    { return a.NCHW }
func (a Conv) ChannelsLast() Attrs                    { a.NCHW = false; return a }
func (a Conv) Padding() Pad                           { return a.Pad }
func (a Conv) WithPadding(p Pad) Attrs                { a.Pad = p; return a }

// DepthwiseConv are the attributes of DEPTHWISE_CONV_2D: those of a Conv, and Co / Ci.
type DepthwiseConv struct {
	Conv
	Multiplier int `json:"multiplier,omitempty"`
}

func (a DepthwiseConv) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }
func (a DepthwiseConv) ChannelsLast() Attrs                    { a.NCHW = false; return a }
func (a DepthwiseConv) WithPadding(p Pad) Attrs                { a.Pad = p; return a }

// GroupedConv are the attributes of GROUPED_CONV_2D: those of a Conv, and the number of groups of channels.
type GroupedConv struct {
	Conv
	Groups int `json:"groups,omitempty"`
}

func (a GroupedConv) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }
func (a GroupedConv) ChannelsLast() Attrs                    { a.NCHW = false; return a }
func (a GroupedConv) WithPadding(p Pad) Attrs                { a.Pad = p; return a }

func convAttrs(p *params, a *Conv) {
	a.undilated(p)
	if p.has("dilation width") {
		a.Dilation = p.pair("dilation")
	}
}

// undilated reads the parameters that all convolutions have.
func (a *Conv) undilated(p *params) {
	w := windowOf(p)
	*a = Conv{Act: w.act, Stride: w.stride, Dilation: [2]int{1, 1}, Pad: w.pad, NCHW: w.nchw}
}

func depthwiseAttrs(p *params, a *DepthwiseConv) {
	a.Multiplier = p.atLeast("depth multiplier", 1)
	convAttrs(p, &a.Conv)
}

func groupedConvAttrs(p *params, a *GroupedConv) {
	a.Groups = p.atLeast("groups", 1)
	a.undilated(p)
}

// convShape: filter [Co, Kh, Kw, Ci] whatever the layout of the image, bias [Co].
func convShape(p *params, a *Conv) (nn.Dims, error) {
	if err := filterFits(p, a.NCHW, 1); err != nil {
		return nil, err
	}
	return a.slide(p, p.In(1).Dims[0])
}

// groupedConvShape: filter [Co, Kh, Kw, Ci/groups] whatever the layout of the image, bias [Co].
func groupedConvShape(p *params, a *GroupedConv) (nn.Dims, error) {
	if err := filterFits(p, a.NCHW, a.Groups); err != nil {
		return nil, err
	}
	co := p.In(1).Dims[0]
	if int64(co)%int64(a.Groups) != 0 {
		return nil, fmt.Errorf("%d output channels in %d groups", co, a.Groups)
	}
	return a.slide(p, co)
}

// filterFits compares the channels of input, filter [Co, Kh, Kw, Ci/groups] and bias [Co].
func filterFits(p *params, nchw bool, groups int) error {
	x, filter, bias := p.In(0).Dims, p.In(1).Dims, p.In(2).Dims
	_, _, ch := spatial(nchw)
	if uint64(x[ch]) != uint64(filter[3])*uint64(groups) {
		return fmt.Errorf("input has %d channels, the filter %d for each of %d groups", x[ch], filter[3], groups)
	}
	if bias[0] != filter[0] {
		return fmt.Errorf("bias has %d elements, the filter %d output channels", bias[0], filter[0])
	}
	return nil
}

// depthwiseShape: filter [1, Kh, Kw, Co] with Co = Ci * multiplier, bias [Co].
func depthwiseShape(p *params, a *DepthwiseConv) (nn.Dims, error) {
	x, filter, bias := p.In(0).Dims, p.In(1).Dims, p.In(2).Dims
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
	return a.slide(p, filter[3])
}

// slide moves the window over the image, makes Pad explicit and returns the shape of a result with that many channels.
func (a *Conv) slide(p *params, channels uint32) (nn.Dims, error) {
	filter := p.In(1).Dims
	out, pad, err := window{stride: a.Stride, dilation: a.Dilation, pad: a.Pad, nchw: a.NCHW}.slide(p, [2]int64{int64(filter[1]), int64(filter[2])})
	if err != nil {
		return nil, err
	}
	a.Pad = pad
	return image(a.NCHW, p.In(0).Dims[0], out, channels), nil
}
