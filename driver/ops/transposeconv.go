package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	lead := convLead("[Co, Kh, Kw, Ci]")
	forms := windowed(lead, nil, list(layout()))
	shape := indices("output shape", exactly(1), "[4]: the dimensions of the result").runtime()
	forms[0].Inputs = list(lead, shape, forms[0].Inputs[len(lead):])
	register(Row{
		Type: nn.OpTransposeConv2D, Since: 3, Empty: RowsEmpty, Forms: forms, Outputs: result(exactly(4)),
		Rules: []string{
			"input pixel i meets element k of the filter at output pixel i*stride + k - padding before it",
			"explicit padding: a result of (size-1)*stride + filter - padding; a scheme pads as a convolution from the result to the input would",
		},
		quant:  weightQuant(0),
		relate: relateConv,
		rules:  typed[TransposeConv]{attrs: transposeConvAttrs, shapes: single(transposeConvShape), runtime: transposeConvRuntime},
	})
}

// TransposeConv are the attributes of TRANSPOSE_CONV_2D. Pad is the padding of a convolution from the output to the
// input; its lower and right parts are already in the shape of the output.
type TransposeConv struct {
	Act    nn.Activation `json:"act,omitempty"`
	Stride [2]int        `json:"stride,omitzero"`
	Pad    Pad           `json:"pad,omitzero"`
	NCHW   bool          `json:"nchw,omitempty"`
}

func (a TransposeConv) attrs()                                 {}
func (a TransposeConv) Activation() nn.Activation              { return a.Act }
func (a TransposeConv) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }
func (a TransposeConv) ChannelsFirst() bool                    { return a.NCHW }
func (a TransposeConv) ChannelsLast() Attrs                    { a.NCHW = false; return a }

func transposeConvAttrs(p *params, a *TransposeConv) {
	w := windowOf(p)
	*a = TransposeConv{Act: w.act, Stride: w.stride, Pad: w.pad, NCHW: w.nchw}
	outputShape(p)
}

// outputShape reads and tests the operand of this name; nil where it is not known.
func outputShape(p *params) nn.Dims {
	if !p.has("output shape") {
		return nil
	}
	sizes, ok := p.int32s("output shape")
	if !ok {
		return nil
	}
	if len(sizes) != 4 || sizes[0] < 0 || min(sizes[1], sizes[2], sizes[3]) < 1 { // there may be no image
		p.fail("output shape %v", sizes)
		return nil
	}
	return nn.Dims{uint32(sizes[0]), uint32(sizes[1]), uint32(sizes[2]), uint32(sizes[3])}
}

func transposeConvShape(p *params, a *TransposeConv) (nn.Dims, error) {
	if err := filterFits(p, a.NCHW, 1); err != nil {
		return nil, err
	}
	x, filter := p.In(0).Dims, p.In(1).Dims
	if p.has("output shape") {
		y := outputShape(p)
		return y, a.resolve(p, y)
	}
	h, w, _ := spatial(a.NCHW)
	var out [2]uint32
	pads := [2]int{a.Pad.Top + a.Pad.Bottom, a.Pad.Left + a.Pad.Right}
	for i, dim := range [2]int{h, w} {
		if filter[1+i] > maxWindow {
			return nil, fmt.Errorf("window of %d exceeds %d", filter[1+i], maxWindow)
		}
		var err error
		out[i], err = toDim((int64(x[dim])-1)*int64(a.Stride[i]) + int64(filter[1+i]) - int64(pads[i]))
		if err != nil {
			return nil, err
		}
	}
	a.Pad.Bottom, a.Pad.Right = 0, 0
	return image(a.NCHW, x[0], out, filter[0]), nil
}

func transposeConvRuntime(p *params, a *TransposeConv, y nn.Dims) (nn.Dims, error) {
	if n := p.In(p.runtime).Dims; len(n) == 1 && n[0] != 0 && n[0] != 4 {
		return nil, fmt.Errorf("a shape of %d sizes", n[0])
	}
	if err := filterFits(p, a.NCHW, 1); err != nil {
		return nil, err
	}
	return nil, a.resolve(p, y)
}

// resolve makes the padding for a result of shape y explicit. A convolution of y with the same stride and scheme must
// give the size of the input, or with VALID a smaller one, so that every part of the input has a place.
func (a *TransposeConv) resolve(p *params, y nn.Dims) error {
	x, filter := p.In(0).Dims, p.In(1).Dims
	h, w, ch := spatial(a.NCHW)
	if len(y) != 4 || y[0] != x[0] || y[ch] != filter[0] {
		return fmt.Errorf("output %v of an input %v with a filter %v", []uint32(y), []uint32(x), []uint32(filter))
	}
	scheme, _ := p.int32("padding scheme")
	for i, dim := range [2]int{h, w} {
		if filter[1+i] > maxWindow {
			return fmt.Errorf("window of %d exceeds %d", filter[1+i], maxWindow)
		}
		in, out, stride, size := int64(x[dim]), int64(y[dim]), int64(a.Stride[i]), int64(filter[1+i])
		least := (in-1)*stride + size
		if scheme == nn.PaddingSame {
			least = (in-1)*stride + 1
			head := [2]*int{&a.Pad.Top, &a.Pad.Left}[i]
			*head = int(max(least-1+size-out, 0) / 2)
		}
		if most := max(in*stride, least); out < least || out > most {
			return fmt.Errorf("dimension %d of the output is %d, with stride %d from %d to %d", dim, out, stride, least, most)
		}
	}
	return nil
}
