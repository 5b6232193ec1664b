package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpTopkV2, Since: 3,
		Forms: one(input(withInt32, AnyRank), int32Of("k", "1 to the size of the last dimension")),
		Outputs: []Operand{like("values", AnyRank),
			{Name: "indices", Types: fixed(of(nn.TensorInt32)), Ranks: AnyRank, Data: true, Note: "along the last dimension"}},
		Rules: []string{"the k largest along the last dimension, the largest first; equal ones in the order of their indices",
			"-0 equals 0; a NaN is larger than infinity, and equal to any other"},
		quant: sameQuant,
		rules: typed[TopK]{attrs: func(p *params, a *TopK) { a.K = p.atLeast("k", 1) }, shapes: topKShapes},
	})
}

// TopK are the attributes of TOPK_V2.
type TopK struct {
	K int `json:"k,omitempty"` // at least 1
}

func (TopK) attrs() {}

func topKShapes(p *params, a *TopK) ([]nn.Dims, error) {
	d := slices.Clone(p.In(0).Dims)
	last := len(d) - 1
	if int64(a.K) > int64(d[last]) {
		return nil, fmt.Errorf("the %d largest of %d", a.K, d[last])
	}
	d[last] = uint32(a.K)
	return []nn.Dims{d, slices.Clone(d)}, nil
}
