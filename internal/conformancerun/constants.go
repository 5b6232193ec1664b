package conformancerun

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

// constantsAsInputs derives a model in which constant tensors of the main graph (weights, biases, parameters) are
// inputs with the same bytes, where the rules of the model still hold. ok is false where there is none.
func constantsAsInputs(c *conformancedata.Case) (derived *conformancedata.Case, ok bool) {
	if c.ExpectFailure {
		return nil, false
	}
	m := *c.Model
	g := &m.Main
	g.Operands, g.Inputs = slices.Clone(g.Operands), slices.Clone(g.Inputs)
	d := *c
	d.Name, d.Model, d.Inputs = c.Name+"_constants_as_inputs", &m, slices.Clone(c.Inputs)
	for i := range g.Operands {
		o := &g.Operands[i]
		if o.Lifetime != nn.ConstantCopy && o.Lifetime != nn.ConstantReference || !o.Type.IsTensor() {
			continue
		}
		before := *o
		value, err := c.Model.Value(o)
		if err != nil || len(value) == 0 {
			continue
		}
		o.Lifetime, o.Location = nn.SubgraphInput, nn.Location{}
		g.Inputs = append(g.Inputs, uint32(i))
		if validate.Model(&m) != nil {
			*o, g.Inputs = before, g.Inputs[:len(g.Inputs)-1]
			continue
		}
		d.Inputs = append(d.Inputs, value)
	}
	return &d, len(g.Inputs) > len(c.Model.Main.Inputs)
}
