package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Weights of TENSOR_QUANT8_SYMM_PER_CHANNEL along dimension 0, with a bias of scale 0, are the driver's
// extension: TFLite models have them.
func init() {
	register(rows(definition{
		t:     nn.OpFullyConnected,
		form:  one(nil, input(numbers, ranks{2, 4}), weights(exactly(2)), bias(), int32s("activation")),
		out:   like("output", exactly(2)),
		quant: weightQuant(0),
		attrs: func(c *Call, p *params, a *Attrs) { a.Act = p.activation(3) },
		shape: fullyConnectedShape,
	})...)
}

// fullyConnectedShape: weights [U, I], bias [U]; the input counts as [elements / I, I].
func fullyConnectedShape(c *Call, _ *Attrs) (nn.Dims, error) {
	w, bias := c.In(1).Dims, c.In(2).Dims
	if bias[0] != w[0] {
		return nil, fmt.Errorf("bias has %d elements, the weights %d units", bias[0], w[0])
	}
	n, err := c.In(0).Dims.Elements()
	if err != nil {
		return nil, err
	}
	if n%w[1] != 0 {
		return nil, fmt.Errorf("input of %d elements is no whole number of rows of %d", n, w[1])
	}
	return nn.Dims{n / w[1], w[0]}, nil
}
