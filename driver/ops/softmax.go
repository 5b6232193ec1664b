package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	beta, axis := realNumber("beta", "positive"), int32Of("axis", "-rank to rank-1; without it the last")
	register(
		Row{
			Type: nn.OpSoftmax, Since: 1, Empty: AnyEmpty,
			Forms: one(input(numbers, atMost(4)), beta, axis.since(3).trailing()), Outputs: result(atMost(4)), relate: relateSame,
			quant: fixedQuant(256, 0, -128),
			rules: typed[Softmax]{attrs: softmaxAttrs, shapes: keepShape[Softmax]},
		},
		Row{
			Type: nn.OpLogSoftmax, Since: 3, Empty: AnyEmpty,
			Forms: one(input(floats, AnyRank), beta, axis), Outputs: result(AnyRank), relate: relateSame,
			rules: typed[Softmax]{attrs: softmaxAttrs, shapes: keepShape[Softmax]},
		},
	)
}

// Softmax are the attributes of SOFTMAX and LOG_SOFTMAX.
type Softmax struct {
	Axis int     `json:"axis,omitempty"` // 0 <= axis < rank
	Beta float64 `json:"beta,omitempty"`
}

func (Softmax) attrs() {}

func softmaxAttrs(p *params, a *Softmax) {
	beta, ok := p.real("beta")
	if ok && beta <= 0 {
		p.fail("beta %v is not positive", beta)
	}
	a.Beta = beta
	a.Axis = p.lastAxis()
}
