package differential

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// lstmCase is an LSTM over a sequence. Weights are model inputs where fed is set, else constants.
type lstmCase struct {
	name                                string
	steps, batch, input, units, outputs int
	act                                 int
	cellClip, projClip                  float64
	batchMajor, coupled, peephole, fed  bool
	projection, projectionBias, norm    bool
	fedPeephole                         bool // peephole weights are model inputs
	withoutStates                       bool
	// Of two cells: size of the auxiliary input, 0 for none; whether it has weights; whether results are merged. The backward
	// cell has three units more.
	aux                  int
	auxWeighted, merging bool
}

// weights are the tensors of a cell from the input weights to the projection.
func (c *lstmCase) weights(input, units, outputs int) []any {
	var in []any
	for k := range 4 {
		in = append(in, tensorIf(k > 0 || !c.coupled, c.fed, units, input))
	}
	for k := range 4 {
		in = append(in, tensorIf(k > 0 || !c.coupled, c.fed, units, outputs))
	}
	for k := range 3 {
		in = append(in, tensorIf(c.fedPeephole || c.peephole && (k > 0 || !c.coupled), c.fed || c.fedPeephole, units))
	}
	for k := range 4 {
		in = append(in, tensorIf(k > 0 || !c.coupled, false, units))
	}
	return append(in, tensorIf(c.projection, false, outputs, units), tensorIf(c.projectionBias, false, outputs))
}

func (c *lstmCase) norms(units int) (in []any) {
	for k := range 4 {
		in = append(in, tensorIf(c.norm && (k > 0 || !c.coupled), false, units))
	}
	return in
}

// sequence are the dimensions of a tensor over the steps.
func (c *lstmCase) sequence(size int) []int {
	if c.batchMajor {
		return []int{c.batch, c.steps, size}
	}
	return []int{c.steps, c.batch, size}
}

// model builds the case on tensors of type typ.
func (c *lstmCase) model(typ nn.OperandType) *nn.Model {
	h, s := []int{c.batch, c.outputs}, []int{c.batch, c.units}
	in := slices.Concat([]any{c.sequence(c.input)}, c.weights(c.input, c.units, c.outputs),
		[]any{h, s, c.act, c.cellClip, c.projClip, !c.batchMajor}, c.norms(c.units))
	outs := [][]int{c.sequence(c.outputs), h, s}
	if c.withoutStates {
		outs = outs[:1]
	}
	return cellModel(typ, nn.OpUnidirectionalSequenceLstm, in, outs...)
}

// step builds an LSTM of a single step.
func (c *lstmCase) step(typ nn.OperandType) *nn.Model {
	h, s, gates := []int{c.batch, c.outputs}, []int{c.batch, c.units}, 4
	if c.coupled {
		gates = 3
	}
	in := slices.Concat([]any{[]int{c.batch, c.input}}, c.weights(c.input, c.units, c.outputs), []any{h, s, c.act, c.cellClip, c.projClip})
	if c.norm {
		in = append(in, c.norms(c.units)...)
	}
	return cellModel(typ, nn.OpLstm, in, []int{c.batch, gates * c.units}, h, s, h)
}

// both builds an LSTM of two cells.
func (c *lstmCase) both(typ nn.OperandType) *nn.Model {
	const more = 3
	units, outputs, input := c.units+more, c.outputs+more, c.input
	if c.aux > 0 && !c.auxWeighted {
		input = c.aux
	}
	in := slices.Concat([]any{c.sequence(c.input)}, c.weights(c.input, c.units, c.outputs), c.weights(input, units, outputs))
	states := [][]int{{c.batch, c.outputs}, {c.batch, c.units}, {c.batch, outputs}, {c.batch, units}}
	for _, s := range states {
		in = append(in, s)
	}
	in = append(in, tensorIf(c.aux > 0, true, c.sequence(c.aux)...))
	for k := range 8 {
		in = append(in, tensorIf(c.auxWeighted && (k%4 > 0 || !c.coupled), false, c.units+k/4*more, c.aux))
	}
	in = slices.Concat(in, []any{c.act, c.cellClip, c.projClip, c.merging, !c.batchMajor}, c.norms(c.units), c.norms(units))
	outs := [][]int{c.sequence(c.outputs), c.sequence(outputs)}
	if c.merging {
		outs = [][]int{c.sequence(c.outputs + outputs)}
	}
	if !c.withoutStates {
		outs = append(outs, states...)
	}
	return cellModel(typ, nn.OpBidirectionalSequenceLstm, in, outs...)
}

// TestSequenceLSTM runs every part of an LSTM, with sizes that fill no quad.
func TestSequenceLSTM(t *testing.T) {
	for _, tc := range []lstmCase{
		{name: "plain", steps: 5, batch: 3, input: 7, units: 13, outputs: 13, act: 4},
		{name: "one step of one", steps: 1, batch: 1, input: 1, units: 1, outputs: 1, act: 4},
		{name: "batch-major", steps: 5, batch: 3, input: 7, units: 5, outputs: 5, act: 4, batchMajor: true},
		{name: "batch-major, one row", steps: 11, batch: 1, input: 28, units: 20, outputs: 20, act: 4, batchMajor: true, withoutStates: true},
		{name: "coupled gates", steps: 4, batch: 2, input: 3, units: 6, outputs: 6, act: 4, coupled: true, withoutStates: true},
		{name: "peephole", steps: 4, batch: 2, input: 3, units: 9, outputs: 9, act: 4, peephole: true},
		{name: "coupled with peephole", steps: 3, batch: 5, input: 2, units: 7, outputs: 7, act: 4, coupled: true, peephole: true},
		{name: "projection", steps: 4, batch: 3, input: 5, units: 17, outputs: 6, act: 4, projection: true},
		{name: "projection with bias and clips", steps: 4, batch: 3, input: 5, units: 7, outputs: 11, act: 4, projection: true,
			projectionBias: true, cellClip: 0.3, projClip: 0.2},
		{name: "layer norm", steps: 4, batch: 3, input: 5, units: 19, outputs: 19, act: 4, norm: true},
		{name: "coupled layer norm", steps: 3, batch: 2, input: 5, units: 11, outputs: 11, act: 4, norm: true, coupled: true, batchMajor: true},
		{name: "everything", steps: 3, batch: 2, input: 41, units: 37, outputs: 23, act: 4, norm: true, peephole: true, projection: true,
			projectionBias: true, cellClip: 1, projClip: 1, batchMajor: true},
		{name: "weights known at run time", steps: 2, batch: 2, input: 5, units: 6, outputs: 6, act: 4, peephole: true, fed: true},
		{name: "no activation", steps: 3, batch: 2, input: 5, units: 6, outputs: 6, act: 0, cellClip: 2},
		{name: "RELU", steps: 3, batch: 2, input: 5, units: 6, outputs: 6, act: 1},
		{name: "RELU6", steps: 3, batch: 2, input: 5, units: 6, outputs: 6, act: 3},
		{name: "LOGISTIC", steps: 3, batch: 2, input: 5, units: 6, outputs: 6, act: 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			compareCells(t, tc.model)
		})
	}
}

// TestLSTM runs single steps.
func TestLSTM(t *testing.T) {
	for _, tc := range []lstmCase{
		{name: "plain", batch: 3, input: 7, units: 13, outputs: 13, act: 4},
		{name: "one of one", batch: 1, input: 1, units: 1, outputs: 1, act: 4},
		{name: "coupled gates", batch: 2, input: 3, units: 6, outputs: 6, act: 4, coupled: true},
		{name: "everything", batch: 2, input: 41, units: 37, outputs: 23, act: 4, norm: true, peephole: true, projection: true,
			projectionBias: true, cellClip: 1, projClip: 1},
		{name: "everything but an input gate", batch: 5, input: 4, units: 8, outputs: 5, act: 6, norm: true, peephole: true,
			projection: true, coupled: true},
		{name: "weights known at run time", batch: 2, input: 5, units: 6, outputs: 6, act: 4, peephole: true, fed: true},
	} {
		t.Run(tc.name, func(t *testing.T) { compareCells(t, tc.step) })
	}
}

// TestBidirectionalLSTM runs two cells, of different sizes.
func TestBidirectionalLSTM(t *testing.T) {
	for _, tc := range []lstmCase{
		{name: "plain", steps: 5, batch: 3, input: 7, units: 13, outputs: 13, act: 4},
		{name: "one step of one", steps: 1, batch: 1, input: 1, units: 1, outputs: 1, act: 4, withoutStates: true},
		{name: "batch-major, merged", steps: 5, batch: 3, input: 7, units: 5, outputs: 5, act: 4, batchMajor: true, merging: true},
		{name: "merged without states", steps: 2, batch: 2, input: 3, units: 4, outputs: 4, act: 4, merging: true, withoutStates: true},
		{name: "parallel", steps: 4, batch: 2, input: 3, units: 6, outputs: 6, act: 4, aux: 5},
		{name: "linked", steps: 4, batch: 2, input: 3, units: 6, outputs: 6, act: 4, aux: 5, auxWeighted: true},
		{name: "linked, coupled and batch-major", steps: 3, batch: 2, input: 3, units: 6, outputs: 6, act: 4, aux: 2, auxWeighted: true,
			coupled: true, batchMajor: true},
		{name: "everything", steps: 3, batch: 2, input: 11, units: 9, outputs: 7, act: 4, norm: true, peephole: true, projection: true,
			projectionBias: true, cellClip: 1, projClip: 1, batchMajor: true, aux: 3, auxWeighted: true, merging: true},
		{name: "weights known at run time", steps: 2, batch: 2, input: 5, units: 6, outputs: 6, act: 4, peephole: true, fed: true},
	} {
		t.Run(tc.name, func(t *testing.T) { compareCells(t, tc.both) })
	}
}

// TestSequenceLSTMPartsWithoutAValue: optional weights may be model inputs that requests give a value or not, each as it likes,
// as long as parts that belong together are there together.
func TestSequenceLSTMPartsWithoutAValue(t *testing.T) {
	const peephole = 9 // the place of the first of three where all weights are inputs
	tc := lstmCase{steps: 2, batch: 2, input: 3, units: 5, outputs: 5, act: 4, fedPeephole: true, withoutStates: true}
	constant, fed := tc, tc
	fed.fed, fed.peephole = true, true
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, x := range []struct {
			c     lstmCase
			first int // of the peephole weights
		}{{constant, 1}, {fed, peephole}} {
			m := x.c.model(nn.TensorFloat32)
			inputs := RandomInputs(m, rand.New(rand.NewPCG(3, 5)))
			CompareOn(t, d, m, inputs, Float32Tol)
			without := slices.Clone(inputs)
			clear(without[x.first : x.first+3])
			CompareOn(t, d, m, without, Float32Tol)

			client, err := d.NewClient(t.Name())
			require.NoError(t, err)
			pm, err := client.PrepareModel(t.Context(), m)
			require.NoError(t, err)
			for _, in := range [][][]byte{inputs, without, inputs} { // one prepared model for both
				comparePrepared(t, pm, m, in, Float32Tol)
			}
			half := slices.Clone(inputs)
			half[x.first+2] = nil
			_, err = pm.Run(t.Context(), half, pm.NewOutputs())
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
			require.NoError(t, client.Close())
		}
	})
}
