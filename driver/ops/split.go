package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpSplit, Since: 3,
		Forms: one(input(withInt32, AnyRank), int32Of("axis", "-rank to rank-1"),
			int32Of("number of parts", "that of the outputs; divides the size of the axis")),
		Outputs: []Operand{like("part", AnyRank).repeated()},
		quant:   sameQuant,
		rules:   typed[Split]{attrs: splitAttrs, shapes: splitShapes},
	})
}

// Split are the attributes of SPLIT.
type Split struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (Split) attrs() {}

func splitAttrs(p *params, a *Split) {
	a.Axis = p.axisOf(p.rank())
	if n, ok := p.int32("number of parts"); ok && int64(n) != int64(len(p.Op.Outputs)) {
		p.fail("%d outputs for %d parts", len(p.Op.Outputs), n)
	}
}

func splitShapes(p *params, a *Split) ([]nn.Dims, error) {
	x, n := p.In(0).Dims, uint32(len(p.Op.Outputs))
	if x[a.Axis]%n != 0 {
		return nil, fmt.Errorf("axis %d of %v does not divide into %d parts", a.Axis, []uint32(x), n)
	}
	part := append(nn.Dims(nil), x...)
	part[a.Axis] /= n
	shapes := make([]nn.Dims, n)
	for i := range shapes {
		shapes[i] = slices.Clone(part)
	}
	return shapes, nil
}
