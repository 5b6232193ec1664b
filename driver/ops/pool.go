package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func pool(t nn.OperationType, types Types) Row {
	return Row{
		Type: t, Since: 1,
		Forms:   windowed(list(input(types, exactly(4))), int32s("window width", "window height"), list(layout().trailing())),
		Outputs: result(exactly(4)),
		Rules:   []string{"padding is smaller than the window and counts in no window"},
		quant:   sameQuant,
		attrs:   poolAttrs,
		shapes:  single(poolShape),
	}
}

func init() {
	register(pool(nn.OpAveragePool2D, numbers), pool(nn.OpMaxPool2D, numbers), pool(nn.OpL2Pool2D, floats))
}

// poolAttrs also makes sure that no window lies wholly in the padding, where a mean or maximum would be
// taken of nothing.
func poolAttrs(c *Call, p *params, a *Attrs) {
	windowAttrs(c, p, a)
	a.Window = p.pair("window")
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
	out, err := slide(c, a, [2]int64{int64(a.Window[0]), int64(a.Window[1])})
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	return image(a, x[0], out, x[ch]), nil
}
