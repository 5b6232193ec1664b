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
	for _, op := range []nn.OperationType{nn.OpReduceMax, nn.OpReduceMin} {
		register(reduction(op, numbers, sameQuant))
	}
	for _, op := range []nn.OperationType{nn.OpReduceProd, nn.OpReduceSum} {
		register(reduction(op, floats, quantRule{}))
	}
	for _, op := range []nn.OperationType{nn.OpReduceAll, nn.OpReduceAny} {
		register(reduction(op, of(nn.TensorBool8), quantRule{}, "anything but 0 is true; results are 0 and 1"))
	}
	for _, op := range []nn.OperationType{nn.OpArgmax, nn.OpArgmin} {
		register(Row{
			Type: op, Since: 3,
			Forms:   one(input(withInt32, AnyRank), int32Of("axis", "-rank to rank-1; it is dropped")),
			Outputs: resultOf(fixed(of(nn.TensorInt32)), AnyRank),
			Rules: []string{"of equal ones the first; -0 equals 0, and a NaN is larger than infinity",
				"the result of one dimension is [1]"},
			rules: typed[Arg]{attrs: func(p *params, a *Arg) { a.Axis = p.axisOf(p.rank()) }, shapes: single(argShape)},
		})
	}
}

// reduction is the row of an operation of the REDUCE family.
func reduction(op nn.OperationType, types Types, quant quantRule, rules ...string) Row {
	return Row{
		Type: op, Since: 3,
		Forms: one(input(types, atMost(4)), indices("axes", exactly(1), "each -rank to rank-1; may be named twice"),
			flag("keep dims", "true: reduced dimensions stay, of size 1")),
		Outputs: result(atMost(4)),
		Rules:   append(rules, "a result without dimensions is [1]"),
		quant:   quant,
		rules:   typed[Mean]{attrs: meanAttrs, shapes: single(meanShape)},
	}
}

// Arg are the attributes of ARGMAX and ARGMIN.
type Arg struct {
	Axis int `json:"axis,omitempty"` // 0 <= axis < rank
}

func (Arg) attrs() {}

func argShape(p *params, a *Arg) (nn.Dims, error) {
	return without(p.In(0).Dims, []int{a.Axis}, false), nil
}

// Mean are the attributes of MEAN and of the REDUCE family.
type Mean struct {
	Axes []int `json:"axes,omitempty"` // 0 <= axis < rank, ascending
}

func (Mean) attrs() {}

// meanAttrs: axes may be negative and named twice.
func meanAttrs(p *params, a *Mean) {
	keepDims(p)
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

// keepDims reads whether reduced dimensions stay: a number for MEAN, a flag for others.
func keepDims(p *params) bool {
	if p.row.Type == nn.OpMean {
		keep, _ := p.int32("keep dims")
		return keep > 0
	}
	return p.flag("keep dims")
}

func meanShape(p *params, a *Mean) (nn.Dims, error) {
	return without(p.In(0).Dims, a.Axes, keepDims(p)), nil
}

// without drops the axes, or makes their sizes 1 if they are kept. A result without dimensions is [1].
func without(x nn.Dims, axes []int, keep bool) nn.Dims {
	var out nn.Dims
	next := 0
	for i, n := range x {
		if next < len(axes) && axes[next] == i {
			next++
			if !keep {
				continue
			}
			n = 1
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		out = nn.Dims{1}
	}
	return out
}
