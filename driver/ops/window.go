package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Pad is explicit padding in elements.
type Pad struct {
	Top    int `json:"top,omitempty"`
	Bottom int `json:"bottom,omitempty"`
	Left   int `json:"left,omitempty"`
	Right  int `json:"right,omitempty"`
}

// window are the parameters that all operations on windows have. Dilation 0 counts as 1.
type window struct {
	act              nn.Activation
	stride, dilation [2]int
	pad              Pad
	nchw             bool
}

// windowOf reads them except for the dilation.
func windowOf(p *params) (a window) {
	if p.has("padding scheme") {
		if v, ok := p.int32("padding scheme"); ok && v != nn.PaddingSame && v != nn.PaddingValid {
			p.fail("padding scheme %d", v)
		}
	} else {
		a.pad.Left = p.atLeast("left padding", 0)
		a.pad.Right = p.atLeast("right padding", 0)
		a.pad.Top = p.atLeast("top padding", 0)
		a.pad.Bottom = p.atLeast("bottom padding", 0)
	}
	a.stride = p.pair("stride")
	a.act = p.activation()
	a.nchw = p.flag("layout")
	return a
}

// spatial returns the indexes of height, width and channels of a rank 4 tensor.
func spatial(nchw bool) (h, w, ch int) {
	if nchw {
		return 2, 3, 1
	}
	return 1, 2, 3
}

// slide places windows of the given size over input 0, and returns the output's height and width and the
// explicit padding. From NN HAL types.hal and the implicit padding rule of the reference implementation:
//
//	eff   = (size - 1) * dilation + 1
//	SAME:  out = ceil(in / stride); pad = max((out-1)*stride + eff - in, 0), head = pad / 2
//	VALID: pad = 0
//	out   = (in + pad - eff) / stride + 1
func (a window) slide(p *params, size [2]int64) (out [2]uint32, pad Pad, err error) {
	scheme, _ := p.int32("padding scheme")
	pad = a.pad
	h, wd, _ := spatial(a.nchw)
	heads, tails := [2]*int{&pad.Top, &pad.Left}, [2]*int{&pad.Bottom, &pad.Right}
	for i, dim := range [2]int{h, wd} {
		in, stride, dilation := int64(p.In(0).Dims[dim]), int64(a.stride[i]), int64(max(a.dilation[i], 1))
		if size[i] > maxWindow || dilation > maxWindow {
			return out, pad, fmt.Errorf("window of %d with dilation %d exceeds %d", size[i], dilation, int64(maxWindow))
		}
		eff := (size[i]-1)*dilation + 1
		if scheme == nn.PaddingSame {
			n := (in + stride - 1) / stride
			total := max((n-1)*stride+eff-in, 0)
			*heads[i], *tails[i] = int(total/2), int(total-total/2)
		}
		room := in + int64(*heads[i]) + int64(*tails[i]) - eff
		if room < 0 {
			return out, pad, fmt.Errorf("window of %d (dilation %d) does not fit into %d with padding %d, %d",
				size[i], dilation, in, *heads[i], *tails[i])
		}
		if out[i], err = toDim(room/stride + 1); err != nil {
			return out, pad, err
		}
	}
	return out, pad, nil
}

// maxWindow bounds window sizes and dilations, so that their products cannot overflow.
const maxWindow = 1 << 30

// image returns the dimensions [n, h, w, ch], in NCHW where that is set.
func image(nchw bool, n uint32, hw [2]uint32, ch uint32) nn.Dims {
	if nchw {
		return nn.Dims{n, ch, hw[0], hw[1]}
	}
	return nn.Dims{n, hw[0], hw[1], ch}
}
