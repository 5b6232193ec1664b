package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpFullyConnected, Since: 1, Empty: RowsEmpty,
		Forms:   one(input(numbers, Ranks{2, 4}), weights("weights", exactly(2), "[units, I]"), bias("[units]"), activation()),
		Outputs: result(exactly(2)),
		Rules:   []string{"the input counts as [elements / I, I]"},
		Extends: []string{"weights of TENSOR_QUANT8_SYMM_PER_CHANNEL, as TFLite models have them"},
		quant:   weightQuant(0),
		relate:  relateFullyConnected,
		rules: typed[FullyConnected]{
			attrs:  func(p *params, a *FullyConnected) { a.Act = p.activation() },
			shapes: single(fullyConnectedShape),
		},
	})
}

// FullyConnected are the attributes of FULLY_CONNECTED.
type FullyConnected struct {
	Act nn.Activation `json:"act,omitempty"`
}

func (a FullyConnected) attrs()                                 {}
func (a FullyConnected) Activation() nn.Activation              { return a.Act }
func (a FullyConnected) WithActivation(act nn.Activation) Attrs { a.Act = act; return a }

// fullyConnectedShape: weights [U, I], bias [U]; the input counts as [elements / I, I].
func fullyConnectedShape(p *params, _ *FullyConnected) (nn.Dims, error) {
	w, bias := p.In(1).Dims, p.In(2).Dims
	if bias[0] != w[0] {
		return nil, fmt.Errorf("bias has %d elements, the weights %d units", bias[0], w[0])
	}
	n, err := p.In(0).Dims.Elements()
	if err != nil {
		return nil, err
	}
	if n%w[1] != 0 {
		return nil, fmt.Errorf("input of %d elements is no whole number of rows of %d", n, w[1])
	}
	return nn.Dims{n / w[1], w[0]}, nil
}
