package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/devices"
)

// lstm16Model is a QUANTIZED_16BIT_LSTM whose weights have this scale and zero point and are inputs if fed is set.
func lstm16Model(batch, input, units uint32, scale float32, zero int32, fed bool) *nn.Model {
	var b nn.Builder
	rng := rand.New(rand.NewPCG(5, 23))
	tensor := func(t nn.OperandType, scale float32, zero int32, dims ...uint32) uint32 {
		if fed {
			return b.Input(t, dims, scale, zero)
		}
		return b.Const(t, dims, scale, zero, RandomValue(t, dims, rng))
	}
	in := []uint32{b.Input(nn.TensorQuant8Asymm, nn.Dims{batch, input}, ops.LSTM16ValueScale, 128)}
	for _, columns := range []uint32{input, units} {
		for range 4 {
			in = append(in, tensor(nn.TensorQuant8Asymm, scale, zero, units, columns))
		}
	}
	for range 4 {
		in = append(in, tensor(nn.TensorInt32, ops.LSTM16ValueScale*scale, 0, units))
	}
	state := nn.Dims{batch, units}
	in = append(in, b.Input(nn.TensorQuant16Symm, state, ops.LSTM16CellScale, 0), b.Input(nn.TensorQuant8Asymm, state, ops.LSTM16ValueScale, 128))
	c, y := b.Temp(nn.TensorQuant16Symm, state, ops.LSTM16CellScale, 0), b.Temp(nn.TensorQuant8Asymm, state, ops.LSTM16ValueScale, 128)
	b.Op(nn.OpQuantized16BitLstm, in, []uint32{c, y})
	b.Output(c)
	b.Output(y)
	return nntest.Build(&b)
}

// TestLSTM16: every bit of both states, over cell states of 16 random bits, and gates that are small, of all sizes and saturated.
func TestLSTM16(t *testing.T) {
	for _, tc := range []struct {
		batch, input, units uint32
		scale               float32
		zero                int32
		fed                 bool
	}{
		{1, 1, 1, 0.01, 128, false},
		{3, 7, 13, 0.003, 100, false},
		{2, 41, 37, 0.05, 0, false},
		{5, 4, 8, 1, 255, false},
		{64, 16, 64, 0.0078125, 127, false},
		{2, 5, 6, 0.02, 130, true},
		{1, 32, 130, 1e-5, 77, false},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				Compare(t, d, lstm16Model(tc.batch, tc.input, tc.units, tc.scale, tc.zero, tc.fed), Exact, 29)
			})
		})
	}
}
