package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// LSTM16Tensor is the place of a tensor among those of QUANTIZED_16BIT_LSTM (Row.Tensors).
type LSTM16Tensor int

// The tensors of QUANTIZED_16BIT_LSTM. A gate's are in the order of the gates: input, forget, cell, output.
const (
	LSTM16Input            LSTM16Tensor = 0
	LSTM16InputWeights     LSTM16Tensor = 1 // the first of four
	LSTM16RecurrentWeights LSTM16Tensor = 5 // the first of four
	LSTM16Bias             LSTM16Tensor = 9 // the first of four
	LSTM16CellState        LSTM16Tensor = 13
	LSTM16OutputState      LSTM16Tensor = 14
)

// Scales of QUANTIZED_16BIT_LSTM: of the inputs of its gates' activations, of the cell state, and of input and output.
const (
	LSTM16GateScale  = 1.0 / (1 << 12)
	LSTM16CellScale  = 1.0 / (1 << 11)
	LSTM16ValueScale = 1.0 / (1 << 7)
)

// lstm16Zero is the zero point of input and output.
const lstm16Zero = 128

var lstm16Tensors = []cellTensor{
	{"input", "BI", false},
	{"input-to-input weights", "OI", false}, {"input-to-forget weights", "OI", false},
	{"input-to-cell weights", "OI", false}, {"input-to-output weights", "OI", false},
	{"recurrent-to-input weights", "OO", false}, {"recurrent-to-forget weights", "OO", false},
	{"recurrent-to-cell weights", "OO", false}, {"recurrent-to-output weights", "OO", false},
	{"input gate bias", "O", false}, {"forget gate bias", "O", false}, {"cell gate bias", "O", false}, {"output gate bias", "O", false},
	{"cell state in", "BO", false}, {"output state in", "BO", false},
}

func init() {
	quant16 := fixed(of(nn.TensorQuant16Symm))
	inputs := operands(lstm16Tensors)
	for i := range inputs {
		switch t := LSTM16Tensor(i); {
		case t == LSTM16CellState:
			inputs[i].Types = quant16
		case t >= LSTM16Bias && t < LSTM16CellState:
			inputs[i].Types = fixed(of(nn.TensorInt32))
		default:
			inputs[i].Types = fixed(of(nn.TensorQuant8Asymm))
		}
	}
	state := like("cell state out", exactly(2))
	state.Types = quant16
	register(Row{
		Type: nn.OpQuantized16BitLstm, Since: 3,
		Forms:   one(inputs),
		Outputs: []Operand{state, like("result", exactly(2))},
		Rules:   []string{"as in the reference implementation of the HAL, a row of the input, with the output state behind it, is multiplied with the recurrent weights and the input weights behind those"},
		quant:   quantRule{text: "input, output state and result have the scale 1/128 and the zero point 128, cell states 1/2048; all weights have the same scale and zero point, and biases the scale scale(input) * scale(weights)", check: checkLSTM16},
		rules: untyped(func(p *params, _ *none) ([]nn.Dims, error) {
			sizes, err := cellShapes(p, lstm16Tensors, true)
			y := nn.Dims{sizes['B'], sizes['O']}
			return []nn.Dims{y, y}, err
		}),
	})
}

func checkLSTM16(c *Call) error {
	w := c.In(int(LSTM16InputWeights))
	product := float64(c.In(0).Scale) * float64(w.Scale)
	check := func(what string, o *nn.Operand, scale float32, zero int32) error {
		if o.Scale != scale || o.ZeroPoint != zero {
			return fmt.Errorf("%s has scale %v, zero point %d instead of %v, %d", what, o.Scale, o.ZeroPoint, scale, zero)
		}
		return nil
	}
	for i := range lstm16Tensors {
		o, name := c.In(i), lstm16Tensors[i].name
		var err error
		switch t := LSTM16Tensor(i); {
		case t == LSTM16Input || t == LSTM16OutputState:
			err = check(name, o, LSTM16ValueScale, lstm16Zero)
		case t < LSTM16Bias:
			err = check(name, o, w.Scale, w.ZeroPoint)
		case t == LSTM16CellState:
			err = check(name, o, LSTM16CellScale, 0)
		case o.ZeroPoint != 0 || math.Abs(float64(o.Scale)-product) > biasTolerance*product:
			err = fmt.Errorf("%s has scale %v, zero point %d instead of %v, 0", name, o.Scale, o.ZeroPoint, product)
		}
		if err != nil {
			return err
		}
	}
	if err := check("cell state out", c.Out(0), LSTM16CellScale, 0); err != nil {
		return err
	}
	return check("result", c.Out(1), LSTM16ValueScale, lstm16Zero)
}
