package ref

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Options change how Evaluate computes. The zero value reproduces TFLite with double rounding.
type Options struct {
	// Arithmetic chooses the rounding of 8-bit results per operation type; nil means DoubleRounding.
	Arithmetic func(nn.OperationType) Arithmetic
	// InputDims completes open dimensions of main-graph inputs; a nil slice or entry leaves them.
	InputDims []nn.Dims
}

// SingleRoundingInMatrices is Options.Arithmetic for the TFLite builds that run convolutions and
// FULLY_CONNECTED of signed 8-bit data through ruy.
func SingleRoundingInMatrices(t nn.OperationType) Arithmetic {
	switch t {
	case nn.OpBatchMatmul, nn.OpConv2D, nn.OpFullyConnected, nn.OpGroupedConv2D, nn.OpTransposeConv2D:
		return SingleRounding
	}
	return DoubleRounding
}

// Always returns an Options.Arithmetic that chooses a for every operation.
func Always(a Arithmetic) func(nn.OperationType) Arithmetic {
	return func(nn.OperationType) Arithmetic { return a }
}

// ArithmeticOf is the Options.Arithmetic by which the driver rounds in m: that of TFLite, which rounds once in the
// convolutions and matrix products of signed 8-bit models and twice elsewhere.
func ArithmeticOf(m *nn.Model) func(nn.OperationType) Arithmetic {
	for _, o := range m.Main.Operands {
		if o.Type == nn.TensorQuant8AsymmSigned {
			return SingleRoundingInMatrices
		}
	}
	return Always(DoubleRounding)
}

// Evaluation is the result of Evaluate.
type Evaluation struct {
	// Outputs are the main graph's, in order.
	Outputs []*Tensor
	// Operands holds the value of every operand of the main graph; nil for one without a value.
	Operands []*Tensor
}

// Run evaluates m with TFLite's default arithmetic. inputs holds the dense bytes of each main-graph
// input, nil for an omitted one. The results are the dense bytes and dimensions of each output.
func Run(m *nn.Model, inputs [][]byte) (outputs [][]byte, shapes []nn.Dims, err error) {
	e, err := Evaluate(m, inputs, Options{})
	if err != nil {
		return nil, nil, err
	}
	for _, t := range e.Outputs {
		outputs = append(outputs, t.Bytes())
		shapes = append(shapes, dimsOf(t.Shape))
	}
	return outputs, shapes, nil
}

// Evaluate runs the operations of m's main graph in order. It keeps no reference to m.
//
// It is no validator: it refuses what it cannot compute, and results whose dimensions contradict the
// model.
func Evaluate(m *nn.Model, inputs [][]byte, o Options) (*Evaluation, error) {
	g := &m.Main
	if len(inputs) != len(g.Inputs) {
		return nil, fmt.Errorf("%d inputs, want %d", len(inputs), len(g.Inputs))
	}
	vals := make([]*Tensor, len(g.Operands))
	for i := range g.Operands {
		data, err := m.Value(&g.Operands[i])
		if err == nil && data != nil {
			vals[i], err = fromOperand(&g.Operands[i], g.Operands[i].Dims, data)
		}
		if err != nil {
			return nil, fmt.Errorf("operand %d: %w", i, err)
		}
	}
	for i, at := range g.Inputs {
		if inputs[i] == nil {
			continue
		}
		if int(at) >= len(g.Operands) {
			return nil, fmt.Errorf("input %d is operand %d of %d", i, at, len(g.Operands))
		}
		dims := g.Operands[at].Dims
		if i < len(o.InputDims) && o.InputDims[i] != nil {
			dims = o.InputDims[i]
		}
		t, err := fromOperand(&g.Operands[at], dims, inputs[i])
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		vals[at] = t
	}
	for i := range g.Operations {
		op := &g.Operations[i]
		arithmetic := DoubleRounding
		if o.Arithmetic != nil {
			arithmetic = o.Arithmetic(op.Type)
		}
		if err := apply(g, op, vals, arithmetic); err != nil {
			return nil, fmt.Errorf("operation %d (%s): %w", i, op.Type, err)
		}
	}
	e := &Evaluation{Operands: vals}
	for i, at := range g.Outputs {
		if int(at) >= len(vals) || vals[at] == nil {
			return nil, fmt.Errorf("output %d has no value", i)
		}
		e.Outputs = append(e.Outputs, vals[at])
	}
	return e, nil
}

// fromOperand decodes a value with o's type and quantisation.
func fromOperand(o *nn.Operand, dims nn.Dims, data []byte) (*Tensor, error) {
	t, err := FromBytes(o.Type, shapeOf(dims), float64(o.Scale), int(o.ZeroPoint), data)
	if err != nil {
		return nil, err
	}
	if o.Channel != nil {
		t.ChannelDim = int(o.Channel.ChannelDim)
		for _, s := range o.Channel.Scales {
			t.ChannelScales = append(t.ChannelScales, float64(s))
		}
	}
	return t, nil
}

// apply computes one operation into vals.
func apply(g *nn.Graph, op *nn.Operation, vals []*Tensor, ar Arithmetic) (err error) {
	defer refused(&err)
	k, ok := kernels[op.Type]
	if !ok {
		refuse("not known to the reference")
	}
	if !k.accepts(len(op.Inputs)) || len(op.Outputs) == 0 {
		refuse("%d inputs and %d outputs", len(op.Inputs), len(op.Outputs))
	}
	c := &call{ar: ar, results: len(op.Outputs)}
	for i, at := range op.Inputs {
		if int(at) >= len(vals) {
			refuse("input %d is operand %d of %d", i, at, len(vals))
		}
		if vals[at] == nil && !slices.Contains(k.optional, i) {
			refuse("input %d has no value", i)
		}
		c.in = append(c.in, vals[at])
	}
	for i, at := range op.Outputs {
		if int(at) >= len(vals) {
			refuse("output %d is operand %d of %d", i, at, len(vals))
		}
	}
	o := &g.Operands[op.Outputs[0]]
	c.out = Format{o.Type, float64(o.Scale), int(o.ZeroPoint)}
	if c.out.quantised() && !(c.out.Scale > 0) {
		refuse("output scale %v", c.out.Scale)
	}
	list := k.outputs(c)
	if len(list) != len(op.Outputs) {
		refuse("%d results for %d outputs", len(list), len(op.Outputs))
	}
	for i, at := range op.Outputs {
		fits(i, list[i], &g.Operands[at])
		vals[at] = list[i]
	}
	return nil
}

// fits refuses a value of output i that is not what the model declares.
func fits(i int, t *Tensor, o *nn.Operand) {
	if t.Type != o.Type {
		refuse("output %d: result is %s, the model declares %s", i, t.Type, o.Type)
	}
	if o.Type.IsTensor() && len(o.Dims) == 0 {
		return // unknown rank
	}
	bad := len(t.Shape) != len(o.Dims)
	for d := 0; !bad && d < len(t.Shape); d++ {
		bad = o.Dims[d] != 0 && int(o.Dims[d]) != t.Shape[d]
	}
	if bad {
		refuse("output %d: result has shape %v, the model declares %v", i, t.Shape, []uint32(o.Dims))
	}
}

func shapeOf(d nn.Dims) []int {
	s := make([]int, len(d))
	for i, n := range d {
		s[i] = int(n)
	}
	return s
}

func dimsOf(s []int) nn.Dims {
	d := make(nn.Dims, len(s))
	for i, n := range s {
		d[i] = uint32(n)
	}
	return d
}
