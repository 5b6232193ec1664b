package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// The input lists of a pool: 10 or 11 inputs have explicit padding, 7 or 8 a scheme.
var (
	poolExplicitArgs = windowArgs{scheme: -1, pads: 1, stride: 5, window: 7, multiplier: -1, act: 9, nchw: 10, dilation: -1}
	poolImplicitArgs = windowArgs{scheme: 1, stride: 2, window: 4, multiplier: -1, act: 6, nchw: 7, dilation: -1}
)

func pool(t nn.OperationType, types typeSet) definition {
	tail := list(int32s("stride width", "stride height", "window width", "window height", "activation"), flag("layout"))
	explicit := &form{
		args:   list(input(types, exactly(4)), int32s("left padding", "right padding", "top padding", "bottom padding"), tail),
		counts: []int{10, 11},
	}
	implicit := &form{
		args:   list(input(types, exactly(4)), int32s("padding scheme"), tail),
		counts: []int{7, 8},
	}
	return definition{
		t: t,
		form: func(c *Call) *form {
			if len(c.Op.Inputs) >= 10 {
				return explicit
			}
			return implicit
		},
		out:   like("output", exactly(4)),
		quant: sameQuant,
		attrs: poolAttrs,
		shape: poolShape,
	}
}

func poolWindow(c *Call) *windowArgs {
	if len(c.Op.Inputs) >= 10 {
		return &poolExplicitArgs
	}
	return &poolImplicitArgs
}

func init() {
	register(rows(
		pool(nn.OpAveragePool2D, numbers),
		pool(nn.OpMaxPool2D, numbers),
		pool(nn.OpL2Pool2D, floats),
	)...)
}

// poolAttrs also makes sure that no window lies wholly in the padding, where a mean or maximum would be
// taken of nothing.
func poolAttrs(c *Call, p *params, a *Attrs) {
	poolWindow(c).decode(c, p, a)
	if p.err != nil {
		return
	}
	if h, w := a.Window[0], a.Window[1]; a.Pad.Top >= h || a.Pad.Bottom >= h || a.Pad.Left >= w || a.Pad.Right >= w {
		p.fail("padding %+v is not smaller than the window %v", a.Pad, a.Window)
	}
}

func poolShape(c *Call, a *Attrs) (nn.Dims, error) {
	x := c.In(0).Dims
	_, _, ch := spatial(a.NCHW)
	out, err := poolWindow(c).slide(c, a, [2]int64{int64(a.Window[0]), int64(a.Window[1])})
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	return image(a, x[0], out, x[ch]), nil
}
