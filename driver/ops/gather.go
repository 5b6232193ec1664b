package ops

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	lookups := Operand{Name: "lookups", Types: fixed(of(nn.TensorInt32)), Ranks: exactly(1), Data: true, Note: "[k]"}
	keys := Operand{Name: "keys", Types: fixed(of(nn.TensorInt32)), Ranks: exactly(1), Data: true, Note: "[n], ascending"}
	values := func(s Types) Operand {
		o := input(s, Ranks{2, limitlessRank}).named("values")
		o.Note = "[n, …]"
		return o
	}
	result := func(lead int) Operand {
		return Operand{Name: "result", Types: sameAs(lead), Ranks: Ranks{2, limitlessRank}, Data: true, Note: "[k, …]"}
	}
	const outside = "an index that is negative or beyond the last position counts as the last"
	register(
		Row{
			Type: nn.OpGather, Since: 3,
			Forms: one(input(withInt32, AnyRank), int32Of("axis", "-rank to rank-1"),
				Operand{Name: "indices", Types: fixed(of(nn.TensorInt32)), Ranks: AnyRank, Data: true, Note: "positions along the axis"}),
			Outputs: []Operand{like("result", AnyRank)},
			Rules:   []string{"the dimensions of the indices take the place of the axis", outside},
			quant:   sameQuant,
			rules:   typed[Gather]{attrs: func(p *params, a *Gather) { a.Axis = p.axisOf(p.rank()) }, shapes: single(gatherShape)},
		},
		Row{
			Type: nn.OpEmbeddingLookup, Since: 1, Lead: 1,
			Later:   map[nn.OperandType]Level{nn.TensorFloat16: 4, nn.TensorInt32: 3, nn.TensorQuant8Asymm: 3},
			Forms:   one(lookups, values(withInt32)),
			Outputs: []Operand{result(1)},
			Rules:   []string{"row i of the result is that of the values at lookups[i]", outside},
			quant:   quantOf(1),
			rules:   untyped(single(func(p *params, _ *none) (nn.Dims, error) { return lookedUp(p, 1), nil })),
		},
		Row{
			Type: nn.OpHashtableLookup, Since: 1, Lead: 2,
			Forms: one(lookups, keys, values(of(nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm))),
			Outputs: []Operand{result(2), {
				Name: "hits", Types: fixed(of(nn.TensorQuant8Asymm)), Ranks: exactly(1), Data: true, Note: "[k]: 1 where the key was found, else 0",
			}},
			Rules: []string{"row i of the result is that of the values whose key is lookups[i], zeros where there is none"},
			quant: quantRule{text: "an 8-bit result has the scale and zero point of input 2", check: func(c *Call) error {
				if x, y := c.In(2), c.Out(0); y.Type.IsQuant8() && (x.Scale != y.Scale || x.ZeroPoint != y.ZeroPoint) {
					return fmt.Errorf("result has scale %v, zero point %d instead of %v, %d", y.Scale, y.ZeroPoint, x.Scale, x.ZeroPoint)
				}
				return nil
			}},
			rules: untyped(hashtableShapes),
		},
	)
}

// Gather are the attributes of GATHER.
type Gather struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (Gather) attrs() {}

func gatherShape(p *params, a *Gather) (nn.Dims, error) {
	x := p.In(0).Dims
	d := slices.Concat(x[:a.Axis], p.In(2).Dims, x[a.Axis+1:])
	if len(d) > limitlessRank {
		return nil, fmt.Errorf("a result of rank %d", len(d))
	}
	return d, nil
}

// lookedUp are the dimensions of a result with a row of input i, the values, for each lookup.
func lookedUp(p *params, i int) nn.Dims {
	d := slices.Clone(p.In(i).Dims)
	d[0] = p.In(0).Dims[0]
	return d
}

func hashtableShapes(p *params, _ *none) ([]nn.Dims, error) {
	if keys, values := p.In(1).Dims[0], p.In(2).Dims[0]; keys != values {
		return nil, fmt.Errorf("%d keys for %d values", keys, values)
	}
	return []nn.Dims{lookedUp(p, 2), slices.Clone(p.In(0).Dims)}, nil
}
