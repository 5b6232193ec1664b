package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(rows(
		definition{
			t:     nn.OpSoftmax,
			form:  one([]int{2, 3}, input(numbers, atMost(4)), realNumber("beta"), int32s("axis")),
			out:   like("output", atMost(4)),
			quant: fixedQuant(1.0/256, 0, -128),
			attrs: softmaxAttrs,
			shape: keepShape,
		},
		definition{
			t:     nn.OpLogSoftmax,
			form:  one(nil, input(floats, anyRank), realNumber("beta"), int32s("axis")),
			out:   like("output", anyRank),
			attrs: softmaxAttrs,
			shape: keepShape,
		},
	)...)
}

// softmaxAttrs: the axis is the last one where it is left off.
func softmaxAttrs(c *Call, p *params, a *Attrs) {
	beta, ok := p.real(1)
	if ok && beta <= 0 {
		p.fail("beta %v is not positive", beta)
	}
	a.Beta = beta
	axis := int32(-1)
	if len(c.Op.Inputs) > 2 {
		if axis, ok = p.int32(2); !ok {
			return
		}
	}
	if rank := c.rank(); rank > 0 {
		a.Axes = []int{p.axis(axis, rank)}
	}
}
