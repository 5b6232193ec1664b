package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpConcatenation, Since: 1, Empty: AnyEmpty,
		Forms:   one(inputs(numbers, atMost(4)), int32Of("axis", "-rank to rank-1")),
		Outputs: result(atMost(4)),
		Rules:   []string{"the sizes of the inputs differ along the axis only", "8-bit inputs may differ in scale and zero point since 1.2"},
		relate:  relateConcat,
		rules:   typed[Concatenation]{attrs: concatAttrs, shapes: single(concatShape)},
	})
}

// Concatenation are the attributes of CONCATENATION.
type Concatenation struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (Concatenation) attrs() {}

func concatAttrs(p *params, a *Concatenation) {
	a.Axis = p.axisOf(p.rank())
}

// concatShape adds up the sizes along the axis; all others must agree.
func concatShape(p *params, a *Concatenation) (nn.Dims, error) {
	axis := a.Axis
	out := append(nn.Dims(nil), p.In(0).Dims...)
	sum := int64(0)
	for i := 0; i < len(p.Op.Inputs)-1; i++ {
		x := p.In(i).Dims
		if len(x) != len(out) {
			return nil, fmt.Errorf("input %d has rank %d, input 0 has %d", i, len(x), len(out))
		}
		for k := range x {
			if k != axis && x[k] != out[k] {
				return nil, fmt.Errorf("input %d has dimensions %v, input 0 %v", i, []uint32(x), []uint32(p.In(0).Dims))
			}
		}
		sum += int64(x[axis])
	}
	var err error
	out[axis], err = p.dim(sum)
	return out, err
}
