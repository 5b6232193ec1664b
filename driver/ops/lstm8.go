package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// LSTM8 are the attributes of QUANTIZED_LSTM, whose tensors have the places of LSTMTensor. A clip of 0 is none.
type LSTM8 struct {
	CellClip float32 `json:"cellClip,omitempty"`
	ProjClip float32 `json:"projClip,omitempty"`
	// Scales of the gates before their normalisation or activation; that of the input gate counts if there is one.
	Scales [4]float32 `json:"scales"`
	// HiddenScale and HiddenZero are those of the values before the projection.
	HiddenScale float32 `json:"hiddenScale"`
	HiddenZero  int32   `json:"hiddenZero,omitempty"`
}

func (LSTM8) attrs() {}

// lstm8CellBits bounds the scale of the cell state, a power of two: 2^-15 to 2^-9.
var lstm8CellBits = [2]int{9, 15}

// LSTM8CellBits is n for a cell state whose scale is 2^-n, or near that: models state it with few digits, and the HAL's
// reference implementation is as lenient. ok is false for a scale that it cannot have.
func LSTM8CellBits(scale float32) (n int, ok bool) {
	bits := -math.Log2(float64(scale))
	whole := math.Round(bits)
	ok = math.Abs(bits-whole) < 1e-3 && whole >= float64(lstm8CellBits[0]) && whole <= float64(lstm8CellBits[1])
	return int(whole), ok
}

// lstm8Type is the type of a tensor of QUANTIZED_LSTM.
func lstm8Type(t LSTMTensor) nn.OperandType {
	switch {
	case t == LSTMInput || t == LSTMOutputState:
		return nn.TensorQuant8AsymmSigned
	case t >= LSTMBias && t < LSTMProjectionWeights || t == LSTMProjectionBias:
		return nn.TensorInt32
	case t >= LSTMPeepholeInput && t <= LSTMPeepholeOutput || t >= LSTMCellState:
		return nn.TensorQuant16Symm
	}
	return nn.TensorQuant8Symm
}

// LSTM8Type is the type of tensor i of QUANTIZED_LSTM.
func LSTM8Type(i int) nn.OperandType { return lstm8Type(LSTMTensor(i)) }

func init() {
	inputs := operands(lstmTensors)
	for i := range inputs {
		inputs[i].Types = fixed(of(LSTM8Type(i)))
	}
	real := func(name, note string) Operand { return Operand{Name: name, Types: fixed(of(nn.Float32)), Note: note} }
	state := like("cell state out", exactly(2))
	state.Types = fixed(of(nn.TensorQuant16Symm))
	const gate = "of the gate before its normalisation or activation"
	register(Row{
		Type: nn.OpQuantizedLstm, Since: 4,
		Forms: one(inputs,
			real("cell clip", "bound of the cell state's magnitude; 0: none").omissible(),
			real("projection clip", "bound of the projected output's magnitude; 0: none").omissible(),
			real("input intermediate scale", gate), real("forget intermediate scale", gate),
			real("cell intermediate scale", gate), real("output intermediate scale", gate),
			int32Of("hidden state zero point", "-128 to 127"), real("hidden state scale", "of what is projected")),
		Outputs: []Operand{like("output state out", exactly(2)), state, like("result", exactly(2))},
		Rules: append(lstmRules[:len(lstmRules):len(lstmRules)],
			"a bias counts in steps of scale(input) * scale(weights of the gate), with layer normalisation in steps of 2^-10 * scale(layer norm weights); that of the projection in steps of hidden state scale * scale(projection weights)",
			"output state out and result are the same"),
		quant: quantRule{
			text:  "scales of cell states are alike, a power of two from 2^-15 to 2^-9; output states and the result have one scale and zero point",
			check: checkLSTM8,
		},
		rules: typed[LSTM8]{
			attrs: func(p *params, a *LSTM8) {
				a.read(p)
				checkLSTMParts(p, lstmTensors, func(t LSTMTensor) int { return int(t) })
			},
			shapes: func(p *params, _ *LSTM8) ([]nn.Dims, error) {
				sizes, err := cellShapes(p, lstmTensors, true)
				if err != nil {
					return nil, err
				}
				y := nn.Dims{sizes['B'], sizes['O']}
				return []nn.Dims{y, {sizes['B'], sizes['U']}, y}, projected(p, int(LSTMProjectionWeights), sizes['O'], sizes['U'])
			},
		},
	})
}

func (a *LSTM8) read(p *params) {
	positive := func(name string, least float64) float32 {
		v, ok := p.real(name)
		if ok && (v < least || least > 0 && float32(v) <= 0) {
			p.fail("%s is %v", name, v)
		}
		return float32(v)
	}
	a.CellClip, a.ProjClip = positive("cell clip", 0), positive("projection clip", 0)
	const least = math.SmallestNonzeroFloat32
	a.Scales = [4]float32{positive("input intermediate scale", 0), positive("forget intermediate scale", least),
		positive("cell intermediate scale", least), positive("output intermediate scale", least)}
	if a.Scales[GateInput] == 0 && p.Undecided() == nil && p.In(int(LSTMInputWeights)) != nil {
		if _, ok := p.real("input intermediate scale"); ok {
			p.fail("input intermediate scale is 0")
		}
	}
	a.HiddenScale = positive("hidden state scale", least)
	v, _ := p.int32("hidden state zero point")
	if a.HiddenZero = v; v < -128 || v > 127 {
		p.fail("hidden state zero point %d", v)
	}
}

func checkLSTM8(c *Call) error {
	cell, out := c.In(int(LSTMCellState)), c.In(int(LSTMOutputState))
	if _, ok := LSTM8CellBits(cell.Scale); !ok || cell.ZeroPoint != 0 {
		return fmt.Errorf("cell state in has scale %v, zero point %d", cell.Scale, cell.ZeroPoint)
	}
	if o := c.Out(1); o.Scale != cell.Scale || o.ZeroPoint != 0 {
		return fmt.Errorf("cell state out has scale %v, zero point %d instead of %v, 0", o.Scale, o.ZeroPoint, cell.Scale)
	}
	for _, k := range []int{0, 2} {
		if o := c.Out(k); o.Scale != out.Scale || o.ZeroPoint != out.ZeroPoint {
			return fmt.Errorf("output %d has scale %v, zero point %d instead of %v, %d", k, o.Scale, o.ZeroPoint, out.Scale, out.ZeroPoint)
		}
	}
	return nil
}
