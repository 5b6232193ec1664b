package ops

import "github.com/nngpu/nngpu/driver/nn"

// ranked are all types of tensors that hold numbers or booleans.
var ranked = withInt32 | of(nn.TensorBool8, nn.TensorQuant16Symm, nn.TensorQuant16Asymm, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel)

func init() {
	register(Row{
		Type: nn.OpRank, Since: 4,
		Forms:   one(input(ranked, AnyRank)),
		Outputs: []Operand{{Name: "result", Types: fixed(of(nn.Int32)), Note: "the number of dimensions"}},
		rules:   typed[Rank]{attrs: func(p *params, a *Rank) { a.Rank = p.rank() }, shapes: single(func(*params, *Rank) (nn.Dims, error) { return nil, nil })},
	})
}

// Rank are the attributes of RANK.
type Rank struct {
	Rank int `json:"rank,omitempty"` // of the input
}

func (Rank) attrs() {}
