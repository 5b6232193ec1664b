package differential

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/tests/internal/devices"
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
}

// model builds the case on tensors of type typ.
func (c *lstmCase) model(typ nn.OperandType) *nn.Model {
	var b nn.Builder
	rng := rand.New(rand.NewPCG(11, 13))
	tensor := func(there, fed bool, dims ...int) uint32 {
		d, n := nn.Dims{}, 1
		for _, k := range dims {
			d, n = append(d, uint32(k)), n*k
		}
		switch {
		case !there:
			return b.Omitted(typ)
		case fed:
			return b.Input(typ, d, 0, 0)
		}
		var value []byte
		for range n {
			v := rng.Float32() - 0.5
			if typ == nn.TensorFloat16 {
				value = binary.LittleEndian.AppendUint16(value, uint16(nn.HalfOf(v)))
			} else {
				value = binary.LittleEndian.AppendUint32(value, math.Float32bits(v))
			}
		}
		return b.Const(typ, d, 0, 0, value)
	}
	scalar := func(v float64) uint32 {
		if typ == nn.TensorFloat16 {
			return b.Scalar(nn.HalfOf(float32(v)))
		}
		return b.Scalar(v)
	}
	first, second := c.steps, c.batch
	if c.batchMajor {
		first, second = second, first
	}
	in := []uint32{tensor(true, true, first, second, c.input)}
	for k := range 4 {
		in = append(in, tensor(k > 0 || !c.coupled, c.fed, c.units, c.input))
	}
	for k := range 4 {
		in = append(in, tensor(k > 0 || !c.coupled, c.fed, c.units, c.outputs))
	}
	for k := range 3 {
		in = append(in, tensor(c.fedPeephole || c.peephole && (k > 0 || !c.coupled), c.fed || c.fedPeephole, c.units))
	}
	for k := range 4 {
		in = append(in, tensor(k > 0 || !c.coupled, false, c.units))
	}
	in = append(in, tensor(c.projection, false, c.outputs, c.units), tensor(c.projectionBias, false, c.outputs),
		tensor(true, true, c.batch, c.outputs), tensor(true, true, c.batch, c.units),
		b.Scalar(c.act), scalar(c.cellClip), scalar(c.projClip), b.Scalar(!c.batchMajor))
	for k := range 4 {
		in = append(in, tensor(c.norm && (k > 0 || !c.coupled), false, c.units))
	}
	out := func(dims ...uint32) uint32 {
		y := b.Temp(typ, dims, 0, 0)
		b.Output(y)
		return y
	}
	outs := []uint32{out(uint32(first), uint32(second), uint32(c.outputs))}
	if !c.withoutStates {
		outs = append(outs, out(uint32(c.batch), uint32(c.outputs)), out(uint32(c.batch), uint32(c.units)))
	}
	b.Op(nn.OpUnidirectionalSequenceLstm, in, outs)
	return nntest.Build(&b)
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
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for _, typ := range floatTypes {
					t.Run(typ.String(), func(t *testing.T) {
						Compare(t, d, tc.model(typ), ToleranceOf(typ), 17)
					})
				}
			})
		})
	}
}

// TestSequenceLSTMPartsWithoutAValue: optional weights may be model inputs that requests give no value. Which they are is
// settled when the model is compiled, and a request that says otherwise is refused.
func TestSequenceLSTMPartsWithoutAValue(t *testing.T) {
	const peephole = 9 // the place of the first of three
	tc := lstmCase{steps: 2, batch: 2, input: 3, units: 5, outputs: 5, act: 4, fedPeephole: true, withoutStates: true}
	constant, fed := tc, tc
	fed.fed, fed.peephole = true, true
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()

		m := constant.model(nn.TensorFloat32) // inputs: the sequence, three peephole weights, two states
		inputs := RandomInputs(m, rand.New(rand.NewPCG(3, 5)))
		require.Len(t, inputs, 6)
		without := slices.Clone(inputs)
		without[1], without[2], without[3] = nil, nil, nil
		CompareOn(t, d, m, without, Float32Tol)
		pm, err := client.PrepareModel(t.Context(), m)
		require.NoError(t, err)
		_, err = pm.Run(t.Context(), inputs, pm.NewOutputs())
		require.Error(t, err, "peephole weights that the plan does not read")

		m = fed.model(nn.TensorFloat32) // every weight is an input
		inputs = RandomInputs(m, rand.New(rand.NewPCG(3, 5)))
		CompareOn(t, d, m, inputs, Float32Tol)
		pm, err = client.PrepareModel(t.Context(), m)
		require.NoError(t, err)
		inputs[peephole] = nil
		_, err = pm.Run(t.Context(), inputs, pm.NewOutputs())
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
	})
}
