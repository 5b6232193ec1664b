package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestRNN runs single steps, with every activation.
func TestRNN(t *testing.T) {
	for _, tc := range []struct {
		batch, input, units, act int
		fed                      bool
	}{
		{1, 1, 1, 0, false}, {3, 7, 13, 1, false}, {2, 5, 6, 2, false}, {5, 4, 8, 3, false}, {2, 41, 37, 4, false}, {3, 5, 7, 6, true},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			compareCells(t, func(typ nn.OperandType) *nn.Model {
				w := func(dims ...int) any { return tensorIf(true, tc.fed, dims...) }
				y := []int{tc.batch, tc.units}
				return cellModel(typ, nn.OpRnn, []any{[]int{tc.batch, tc.input}, w(tc.units, tc.input), w(tc.units, tc.units), w(tc.units), y,
					tc.act}, y, y)
			})
		})
	}
}

// rnnCase is an RNN over a sequence, or two of them of which the backward one has two units more.
type rnnCase struct {
	name                      string
	steps, batch, input       int
	units, act                int
	batchMajor, fed, stateful bool
	aux                       int // size of the auxiliary input, 0 for none
	auxWeighted, merging      bool
}

func (c *rnnCase) sequence(size int) []int {
	l := lstmCase{steps: c.steps, batch: c.batch, batchMajor: c.batchMajor}
	return l.sequence(size)
}

func (c *rnnCase) cell(input, units int) []any {
	return []any{tensorIf(true, c.fed, units, input), tensorIf(true, c.fed, units, units), tensorIf(true, c.fed, units), []int{c.batch, units}}
}

// one builds the case with one cell.
func (c *rnnCase) one(typ nn.OperandType) *nn.Model {
	major := 1
	if c.batchMajor {
		major = 0
	}
	in := append([]any{c.sequence(c.input)}, c.cell(c.input, c.units)...)
	outs := [][]int{c.sequence(c.units), {c.batch, c.units}}
	if !c.stateful {
		outs = outs[:1]
	}
	return cellModel(typ, nn.OpUnidirectionalSequenceRnn, append(in, c.act, major), outs...)
}

// two builds the case with two cells.
func (c *rnnCase) two(typ nn.OperandType) *nn.Model {
	units, input := c.units+2, c.input
	if c.aux > 0 && !c.auxWeighted {
		input = c.aux
	}
	in := append([]any{c.sequence(c.input)}, c.cell(c.input, c.units)...)
	in = append(in, c.cell(input, units)...)
	in = append(in, tensorIf(c.aux > 0, true, c.sequence(c.aux)...), tensorIf(c.auxWeighted, c.fed, c.units, c.aux),
		tensorIf(c.auxWeighted, c.fed, units, c.aux), c.act, !c.batchMajor, c.merging)
	outs := [][]int{c.sequence(c.units), c.sequence(units)}
	if c.merging {
		outs = [][]int{c.sequence(c.units + units)}
	}
	if c.stateful {
		outs = append(outs, []int{c.batch, c.units}, []int{c.batch, units})
	}
	return cellModel(typ, nn.OpBidirectionalSequenceRnn, in, outs...)
}

// TestSequenceRNN runs one and two cells over sequences, with sizes that fill no quad.
func TestSequenceRNN(t *testing.T) {
	for _, tc := range []rnnCase{
		{name: "plain", steps: 5, batch: 3, input: 7, units: 13, act: 4, stateful: true},
		{name: "one step of one", steps: 1, batch: 1, input: 1, units: 1, act: 4},
		{name: "batch-major", steps: 5, batch: 3, input: 7, units: 5, act: 6, batchMajor: true, stateful: true},
		{name: "batch-major, one row, merged", steps: 11, batch: 1, input: 28, units: 20, act: 4, batchMajor: true, merging: true},
		{name: "merged", steps: 4, batch: 2, input: 3, units: 6, act: 4, merging: true, stateful: true},
		{name: "parallel", steps: 4, batch: 2, input: 3, units: 9, act: 4, aux: 5},
		{name: "parallel and batch-major", steps: 4, batch: 2, input: 3, units: 9, act: 4, aux: 5, batchMajor: true, stateful: true},
		{name: "linked", steps: 3, batch: 5, input: 2, units: 7, act: 4, aux: 6, auxWeighted: true},
		{name: "linked, weights known at run time", steps: 3, batch: 2, input: 5, units: 6, act: 1, aux: 3, auxWeighted: true, fed: true,
			merging: true, stateful: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			compareCells(t, tc.one)
			compareCells(t, tc.two)
		})
	}
}

// TestSVDF runs steps of filters, with and without a bias.
func TestSVDF(t *testing.T) {
	for _, tc := range []struct {
		batch, input, units, rank, memory, act int
		bias, fed                              bool
	}{
		{1, 1, 1, 1, 1, 0, false, false}, {2, 3, 4, 1, 10, 0, true, false}, {3, 5, 7, 2, 6, 1, false, false}, {2, 13, 3, 3, 1, 4, true, false},
		{5, 4, 8, 2, 4, 6, true, true}, {1, 40, 33, 1, 5, 3, false, true}, {2, 6, 2, 5, 2, 2, true, false},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			compareCells(t, func(typ nn.OperandType) *nn.Model {
				filters := tc.units * tc.rank
				state := []int{tc.batch, filters * tc.memory}
				return cellModel(typ, nn.OpSvdf, []any{[]int{tc.batch, tc.input}, tensorIf(true, tc.fed, filters, tc.input),
					tensorIf(true, tc.fed, filters, tc.memory), tensorIf(tc.bias, tc.fed, tc.units), state, tc.rank, tc.act},
					state, []int{tc.batch, tc.units})
			})
		})
	}
}
