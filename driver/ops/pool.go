package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func pool(t nn.OperationType, types Types) Row {
	return Row{
		Type: t, Since: 1, Empty: RowsEmpty,
		Forms:   windowed(list(input(types, exactly(4))), int32s("window width", "window height"), list(layout().trailing())),
		Outputs: result(exactly(4)),
		Rules:   []string{"padding is smaller than the window and counts in no window"},
		quant:   sameQuant,
		relate:  relateImage,
		rules:   typed[Pool]{attrs: poolAttrs, shapes: single(poolShape)},
	}
}

func init() {
	register(pool(nn.OpAveragePool2D, numbers), pool(nn.OpMaxPool2D, numbers), pool(nn.OpL2Pool2D, floats))
}

// Pool are the attributes of the pools. Pad is explicit, even if the operation names a scheme.
type Pool struct {
	Act    nn.Activation `json:"act,omitempty"`
	Stride [2]int        `json:"stride,omitzero"`
	Window [2]int        `json:"window,omitzero"`
	Pad    Pad           `json:"pad,omitzero"`
	NCHW   bool          `json:"nchw,omitempty"`
}

func (a Pool) attrs()                                 {}
func (a Pool) Activation() nn.Activation              { return a.Act }
func (a Pool) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }
func (a Pool) ChannelsFirst() bool                    { return a.NCHW }
func (a Pool) ChannelsLast() Attrs                    { a.NCHW = false; return a }
func (a Pool) Padding() Pad                           { return a.Pad }
func (a Pool) WithPadding(p Pad) Attrs                { a.Pad = p; return a }

// poolAttrs also makes sure that no window lies wholly in the padding, where a mean or maximum would be
// taken of nothing.
func poolAttrs(p *params, a *Pool) {
	w := windowOf(p)
	*a = Pool{Act: w.act, Stride: w.stride, Window: p.pair("window"), Pad: w.pad, NCHW: w.nchw}
	if p.err != nil {
		return
	}
	if h, w := a.Window[0], a.Window[1]; a.Pad.Top >= h || a.Pad.Bottom >= h || a.Pad.Left >= w || a.Pad.Right >= w {
		p.fail("padding %+v is not smaller than the window %v", a.Pad, a.Window)
	}
}

func poolShape(p *params, a *Pool) (nn.Dims, error) {
	x := p.In(0).Dims
	_, _, ch := spatial(a.NCHW)
	out, pad, err := window{stride: a.Stride, pad: a.Pad, nchw: a.NCHW}.slide(p, [2]int64{int64(a.Window[0]), int64(a.Window[1])})
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	a.Pad = pad
	return image(a.NCHW, x[0], out, x[ch]), nil
}
