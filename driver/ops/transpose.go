package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(Row{
		Type: nn.OpTranspose, Since: 2, Empty: AnyEmpty,
		Forms: one(input(numbers, extended),
			indices("permutation", exactly(1), "result dimension i is input dimension permutation[i]; without a value the dimensions are reversed").omissible().runtime()),
		Outputs: result(extended),
		quant:   sameQuant,
		relate:  relateTranspose,
		rules:   typed[Transpose]{attrs: transposeAttrs, shapes: single(transposeShape), runtime: transposeRuntime},
	})
}

// Transpose are the attributes of TRANSPOSE.
type Transpose struct {
	Perm []int `json:"perm,omitempty"` // output dimension i is input dimension Perm[i]
}

func (Transpose) attrs() {}

func transposeShape(p *params, a *Transpose) (nn.Dims, error) {
	x := p.In(0).Dims
	out := make(nn.Dims, len(x))
	for i, k := range a.Perm {
		out[i] = x[k]
	}
	return out, nil
}

// transposeAttrs: without a permutation the dimensions are reversed.
func transposeAttrs(p *params, a *Transpose) {
	rank := p.rank()
	if p.In(1) == nil {
		for i := rank - 1; i >= 0; i-- {
			a.Perm = append(a.Perm, i)
		}
		return
	}
	perm, ok := p.int32s("permutation")
	if !ok || rank == 0 {
		return
	}
	if len(perm) != rank {
		p.fail("permutation %v of rank %d", perm, rank)
		return
	}
	seen := make([]bool, rank)
	for _, v := range perm {
		if v < 0 || int(v) >= rank || seen[v] {
			p.fail("%v is no permutation", perm)
			return
		}
		seen[v] = true
		a.Perm = append(a.Perm, int(v))
	}
}
