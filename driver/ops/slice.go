package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpSlice, Since: 3, Empty: AnyEmpty,
		Forms: one(input(withInt32, AnyRank), indices("begin", exactly(1), "[rank]: the first position in each dimension"),
			indices("size", exactly(1), "[rank]: how many positions; -1 for all from begin on")),
		Outputs: result(AnyRank),
		quant:   sameQuant,
		rules:   typed[Slice]{attrs: sliceAttrs, shapes: single(sliceShape)},
	})
}

// Slice are the attributes of SLICE.
type Slice struct {
	Begin []int `json:"begin,omitempty"` // the first position in each dimension
	Size  []int `json:"size,omitempty"`  // how many; -1 for all that follow
}

func (Slice) attrs() {}

// perDimension reads a TENSOR_INT32 with a number for each dimension of input 0; nil if either is not known.
func (p *params) perDimension(name string) []int32 {
	v, ok := p.int32s(name)
	rank := p.rank()
	if !ok || rank == 0 {
		return nil
	}
	if len(v) != rank {
		p.fail("%s has %d elements for rank %d", name, len(v), rank)
		return nil
	}
	return v
}

func sliceAttrs(p *params, a *Slice) {
	a.Begin, a.Size = p.positions("begin", 0), p.positions("size", -1)
	for _, n := range a.Size {
		if n == 0 {
			p.fail("size %v: the result is empty", a.Size)
		}
	}
}

// positions reads a number of at least min for each dimension of input 0; nil if either is not known.
func (p *params) positions(name string, min int32) (list []int) {
	v := p.perDimension(name)
	for _, n := range v {
		if n < min {
			p.fail("%s %v is below %d", name, v, min)
			return nil
		}
		list = append(list, int(n))
	}
	return list
}

// leastTaken is the smallest size of a part of n positions: if there are any, at least one is taken, except by
// TakeRows.
func (c *Call) leastTaken(n uint32) int {
	switch {
	case !c.Sized:
		return 1
	case c.Op.Type == TakeRows:
		return 0
	}
	return int(min(n, 1))
}

// sliceShape replaces sizes of -1.
func sliceShape(p *params, a *Slice) (nn.Dims, error) {
	out := make(nn.Dims, len(a.Begin))
	for i, n := range p.In(0).Dims {
		if a.Size[i] < 0 {
			a.Size[i] = int(n) - a.Begin[i]
		}
		if a.Size[i] < p.leastTaken(n) || a.Begin[i]+a.Size[i] > int(n) {
			return nil, fmt.Errorf("%d positions from %d on of %d in dimension %d", a.Size[i], a.Begin[i], n, i)
		}
		out[i] = uint32(a.Size[i])
	}
	return out, nil
}
