package ops

import (
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(Row{
		Type: nn.OpMean, Since: 2,
		Forms: one(input(numbers, atMost(4)), indices("axes", exactly(1), "each -rank to rank-1; may be named twice").runtime(),
			int32Of("keep dims", "positive: reduced dimensions stay, of size 1")),
		Outputs: result(atMost(4)),
		Extends: []string{"an 8-bit result of any scale and zero point; the HAL wants those of the input"},
		rules:   typed[Mean]{attrs: meanAttrs, shapes: single(meanShape), runtime: meanRuntime},
	})
}

// Mean are the attributes of MEAN.
type Mean struct {
	Axes []int `json:"axes,omitempty"` // 0 <= axis < rank, ascending
}

func (Mean) attrs() {}

// meanAttrs: axes may be negative and named twice.
func meanAttrs(p *params, a *Mean) {
	p.int32("keep dims")
	axes, ok := p.int32s("axes")
	rank := p.rank()
	if !ok || rank == 0 {
		return
	}
	seen := map[int]bool{}
	for _, v := range axes {
		if n := p.axis(v, rank); !seen[n] {
			seen[n] = true
			a.Axes = append(a.Axes, n)
		}
	}
	sort.Ints(a.Axes)
}

// meanShape drops the axes, or makes them 1 when keep_dims is positive. A result without dimensions is [1].
func meanShape(p *params, a *Mean) (nn.Dims, error) {
	keep, _ := p.int32("keep dims")
	x := p.In(0).Dims
	var out nn.Dims
	next := 0
	for i, n := range x {
		if next < len(a.Axes) && a.Axes[next] == i {
			next++
			if keep <= 0 {
				continue
			}
			n = 1
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		out = nn.Dims{1}
	}
	return out, nil
}
