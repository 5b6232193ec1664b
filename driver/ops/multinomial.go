package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Multinomial are the attributes of RANDOM_MULTINOMIAL.
type Multinomial struct {
	Samples int `json:"samples"` // of each row, at least 1
}

func (Multinomial) attrs() {}

func init() {
	logits := input(floats, exactly(2)).named("logits")
	logits.Note = "[n, classes]: logarithms of probabilities, up to a term that is the same for all of a row"
	register(Row{
		Type: nn.OpRandomMultinomial, Since: 3,
		Forms: one(logits, int32Of("samples", "1 or more"),
			Operand{Name: "seeds", Types: fixed(of(nn.TensorInt32)), Ranks: exactly(1), Data: true, Note: "[2]"}),
		Outputs: resultOf(fixed(of(nn.TensorInt32)), exactly(2)),
		Rules: []string{
			"the result is [n, samples]; the same seeds draw the same samples, at every execution: two of 0 are seeds like any others",
			"a class whose logit is no number is not drawn where there are others",
		},
		rules: typed[Multinomial]{
			attrs: func(p *params, a *Multinomial) { a.Samples = p.atLeast("samples", 1) },
			shapes: single(func(p *params, a *Multinomial) (nn.Dims, error) {
				if n := p.In(2).Dims[0]; n != 2 {
					return nil, fmt.Errorf("%d seeds", n)
				}
				return nn.Dims{p.In(0).Dims[0], uint32(a.Samples)}, nil
			}),
		},
	})
}
