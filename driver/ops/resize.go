package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// resize has two forms, told apart by the type of inputs 1 and 2: sizes or factors, width first.
func resize(t nn.OperationType, minInputs int) definition {
	var counts []int
	for n := minInputs; n <= 6; n++ {
		counts = append(counts, n)
	}
	lead := input(numbers, exactly(4))
	tail := list(flag("layout"), flag("align corners"), flag("half pixel centers"))
	sizes := &form{args: list(lead, int32s("output width", "output height"), tail), counts: counts}
	factors := &form{args: list(lead, realNumber("width factor"), realNumber("height factor"), tail), counts: counts}
	return definition{
		t: t,
		form: func(c *Call) *form {
			if resizeByFactor(c) {
				return factors
			}
			return sizes
		},
		out:   like("output", exactly(4)),
		quant: sameQuant,
		attrs: resizeAttrs,
		shape: resizeShape,
	}
}

func init() {
	register(rows(
		resize(nn.OpResizeBilinear, 3),
		resize(nn.OpResizeNearestNeighbor, 4),
	)...)
}

func resizeByFactor(c *Call) bool { return c.inputType(1).IsFloat() }

func resizeAttrs(c *Call, p *params, a *Attrs) {
	a.NCHW, a.AlignCorners, a.HalfPixel = p.flag(3), p.flag(4), p.flag(5)
	if a.AlignCorners && a.HalfPixel {
		p.fail("align corners and half pixel centers exclude each other")
	}
	if !resizeByFactor(c) {
		p.pair(1, "output")
		return
	}
	for i := 1; i <= 2; i++ {
		if v, ok := p.real(i); ok && v <= 0 {
			p.fail("factor %v is not positive", v)
		}
	}
}

func resizeShape(c *Call, a *Attrs) (nn.Dims, error) {
	x, p := c.In(0).Dims, &params{c: c}
	h, w, ch := spatial(a.NCHW)
	var out [2]uint32
	var err error
	if !resizeByFactor(c) {
		size := p.pair(1, "output")
		if p.err != nil {
			return nil, p.err
		}
		out = [2]uint32{uint32(size[0]), uint32(size[1])}
		return image(a, x[0], out, x[ch]), nil
	}
	for i, at := range [2]struct{ dim, arg int }{{h, 2}, {w, 1}} {
		factor, ok := p.real(at.arg)
		if !ok {
			return nil, p.err
		}
		// The reference multiplies in float32: 7 * 0.7f must give what it gives there.
		n := math.Floor(float64(float32(x[at.dim]) * float32(factor)))
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("size %d times %v is too large", x[at.dim], factor)
		}
		if out[i], err = toDim(int64(n)); err != nil {
			return nil, err
		}
	}
	return image(a, x[0], out, x[ch]), nil
}
