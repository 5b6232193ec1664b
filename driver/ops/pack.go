package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpPack, Since: 6, Lead: 1,
		Forms:   one(int32Of("axis", "of the result: 0 to the rank of an input"), inputs(withInt32, AnyRank)),
		Outputs: []Operand{{Name: "result", Types: sameAs(1), Ranks: AnyRank, Data: true}},
		Rules:   []string{"all inputs have the same dimensions; the axis is new, and has a position for each of them"},
		quant: quantRule{text: "8-bit inputs and the result have one scale and zero point", check: func(c *Call) error {
			for _, i := range slices.Concat(c.Op.Inputs[1:], c.Op.Outputs) {
				if x, y := c.In(1), &c.Graph.Operands[i]; x.Type.IsQuant8() && (x.Scale != y.Scale || x.ZeroPoint != y.ZeroPoint) {
					return fmt.Errorf("operand %d has scale %v, zero point %d instead of %v, %d", i, y.Scale, y.ZeroPoint, x.Scale, x.ZeroPoint)
				}
			}
			return nil
		}},
		relate: func(p *params, rel *Relations) {
			for _, x := range p.Op.Inputs[2:] {
				rel.Shapes = append(rel.Shapes, [2]uint32{p.Op.Inputs[1], x})
			}
		},
		rules: typed[Pack]{attrs: packAttrs, shapes: single(packShape)},
	})
}

// Pack are the attributes of PACK.
type Pack struct {
	Axis int `json:"axis,omitempty"` // of the result, which has one dimension more than the inputs
}

func (Pack) attrs() {}

func packAttrs(p *params, a *Pack) {
	v, _ := p.int32("axis")
	if rank := len(p.In(1).Dims); v < 0 || rank > 0 && int(v) > rank {
		p.fail("axis %d for inputs of rank %d", v, rank)
		return
	}
	a.Axis = int(v)
}

func packShape(p *params, a *Pack) (nn.Dims, error) {
	x, n := p.In(1).Dims, len(p.Op.Inputs)-1
	for i := 1; i <= n; i++ {
		if d := p.In(i).Dims; !d.Equal(x) {
			return nil, fmt.Errorf("input %d has dimensions %v, input 1 %v", i, []uint32(d), []uint32(x))
		}
	}
	if len(x) == limitlessRank {
		return nil, fmt.Errorf("a result of rank %d", len(x)+1)
	}
	return slices.Insert(slices.Clone(x), a.Axis, uint32(n)), nil
}
