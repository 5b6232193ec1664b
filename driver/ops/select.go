package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	mask := Operand{Name: "mask", Types: fixed(of(nn.TensorBool8)), Ranks: AnyRank, Data: true}
	y := Operand{Name: "input where it is false", Types: sameAs(1), Ranks: AnyRank, Data: true}
	register(Row{
		Type: nn.OpSelect, Since: 3, Lead: 1,
		Forms:   one(mask, input(withInt32, AnyRank).named("input where the mask is true"), y),
		Outputs: []Operand{{Name: "result", Types: sameAs(1), Ranks: AnyRank, Data: true}},
		Rules:   []string{"all have the same dimensions"},
		quant:   quantRule{text: "8-bit inputs and the result may differ in scale and zero point"},
		relate: func(p *params, rel *Relations) {
			for _, i := range []uint32{p.Op.Inputs[1], p.Op.Inputs[2], p.Op.Outputs[0]} {
				rel.Shapes = append(rel.Shapes, [2]uint32{p.Op.Inputs[0], i})
			}
		},
		rules: untyped(single(func(p *params, _ *none) (nn.Dims, error) {
			mask := p.In(0).Dims
			for i := 1; i < 3; i++ {
				if d := p.In(i).Dims; !d.Equal(mask) {
					return nil, fmt.Errorf("input %d has dimensions %v, the mask %v", i, []uint32(d), []uint32(mask))
				}
			}
			return slices.Clone(mask), nil
		})),
	})
}
