package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkLSTM8, lower: lowerLSTM8, divide: divideLSTM8, scratch: lstm8Gate}, nn.OpQuantizedLstm)
}

func checkLSTM8(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	for i, id := range n.In {
		if id == ir.None {
			continue
		}
		if t, want := g.T(id), ops.LSTM8Type(i); t.Type != want {
			return fmt.Errorf("tensor %d is %v instead of %v", i, t.Type, want)
		}
	}
	state, y := g.T(n.In[ops.LSTMCellState]), g.T(n.Out[2])
	if _, ok := ops.LSTM8CellBits(state.Scale); !ok || g.T(n.Out[1]).Type != state.Type || y.Type != nn.TensorQuant8AsymmSigned ||
		g.T(n.Out[0]).Type != y.Type || !y.SameQuant(g.T(n.Out[0])) {
		return fmt.Errorf("cell state of scale %v to %v, results of %v and %v", state.Scale, g.T(n.Out[1]).Type, g.T(n.Out[0]).Type, y.Type)
	}
	if err := checkScales(g.T(n.In[ops.LSTMInput]), y); err != nil {
		return err
	}
	units := pack.LayoutOf(state)
	// Sums of 16-bit numbers of a row also stay below 2^31.
	if size := pack.LayoutOf(g.T(n.In[ops.LSTMInput])).C + pack.LayoutOf(y).C + units.C; size > emit.MaxLoop {
		return fmt.Errorf("rows of %d elements", size)
	}
	if size := lstm8Gate(g, n); size > f.MaxStorageRange {
		return fmt.Errorf("a gate needs %d bytes, more than the device binds", size)
	}
	return emit.CheckTensors(f, g, n)
}

// lstm8Gate is the size of a gate.
func lstm8Gate(g *ir.Graph, n *ir.Node) int64 {
	return int64(pack.LayoutOf(g.T(n.In[ops.LSTMCellState])).TotalQuads()) * gateQuad
}

// divideLSTM8 divides among rows of the batch; weights and biases stay whole.
func divideLSTM8(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(i int) bool {
		t := ops.LSTMTensor(i)
		return i < len(n.In) && t != ops.LSTMInput && t != ops.LSTMOutputState && t != ops.LSTMCellState
	})
}

// lstm8 lowers a QUANTIZED_LSTM.
type lstm8 struct {
	*emit.Builder
	node  *ir.Node
	attrs ops.LSTM8
	// units is the layout of cell states.
	units pack.Layout
}

// lowerLSTM8 computes the gates, each in one or more steps, from them the cell state, and with that the output gate and
// the result.
func lowerLSTM8(b *emit.Builder, n *ir.Node) {
	c := &lstm8{b, n, n.Attrs.(ops.LSTM8), b.Layout(n.In[ops.LSTMCellState])}
	state, next := n.In[ops.LSTMCellState], n.Out[1]
	count := c.units.TotalQuads()

	forget := c.gate(ops.GateForget, ops.LSTMPeepholeForget, state)
	cell := c.gate(ops.GateCell, -1, state)
	input, coupled := forget, 1
	if c.has(ops.LSTMInputWeights) {
		input, coupled = c.gate(ops.GateInput, ops.LSTMPeepholeInput, state), 0
	}
	bits, _ := ops.LSTM8CellBits(b.Graph.T(state).Scale)
	clip := quantClip(c.attrs.CellClip, b.Graph.T(state).Scale, math.MaxInt16)
	b.Quads(shaders.CellState8, count, emit.Ints(count, coupled, 30-bits, clip), emit.Cost{},
		b.Read(input, plan.FormatNone), b.Read(forget, plan.FormatNone), b.Read(cell, plan.FormatNone), b.In(state), b.Out(next))

	output := c.gate(ops.GateOutput, ops.LSTMPeepholeOutput, next)
	result := n.Out[2]
	hidden := b.Tensor(result)
	projected := c.has(ops.LSTMProjectionWeights)
	if projected {
		hidden = b.Temp(int64(count) * 4)
	}
	push := emit.Ints(count, 15-bits).Words(multiplierWords(float32(math.Ldexp(math.Ldexp(1, -15)/float64(c.attrs.HiddenScale), -15)))...)
	b.Quads(shaders.CellHidden8, count, push.Ints(int(c.attrs.HiddenZero)), emit.Cost{},
		b.Read(output, plan.FormatNone), b.In(next), b.Write(hidden, plan.FormatNone))
	if projected {
		c.project(result, hidden)
	}
	b.Forward(n.Out[0], result)
}

func (c *lstm8) has(t ops.LSTMTensor) bool { return c.node.In[t] != ir.None }

func (c *lstm8) tensor(t ops.LSTMTensor) *ir.Tensor { return c.Graph.T(c.node.In[t]) }

func (c *lstm8) in(t ops.LSTMTensor) emit.Binding { return c.In(c.node.In[t]) }

// gate computes gate g with its peephole connection to a cell state, where there is one (never with peephole < 0),
// normalised if the cell normalises.
func (c *lstm8) gate(g ops.LSTMTensor, peephole ops.LSTMTensor, state ir.ID) emit.Value {
	count, rows := c.units.TotalQuads(), c.units.Rows
	x, h := c.tensor(ops.LSTMInput), c.tensor(ops.LSTMOutputState)
	inputs, outputs := pack.LayoutOf(x).C, pack.LayoutOf(h).C
	scale := c.attrs.Scales[g]
	norm := c.has(ops.LSTMNormWeights + ops.GateForget)
	push := emit.Ints(count).Divisors(c.units.Quads).Ints(c.units.C, inputs, outputs, int(x.Zero), int(h.Zero))
	push = push.Words(multiplierWords(c.tensor(ops.LSTMInputWeights+g).Scale * x.Scale / scale)...)
	push = push.Words(multiplierWords(c.tensor(ops.LSTMRecurrentWeights+g).Scale * h.Scale / scale)...)
	push = push.Ints(flagInt(!norm))
	gate := c.Temp(int64(count) * gateQuad)
	c.Quads(shaders.CellGate8, count, push, emit.Cost{FLOP: 2 * float64(rows) * float64(c.units.C) * float64(inputs+outputs)},
		c.in(ops.LSTMInput), c.in(ops.LSTMOutputState), c.in(ops.LSTMInputWeights+g), c.in(ops.LSTMRecurrentWeights+g),
		c.in(ops.LSTMBias+g), c.Write(gate, plan.FormatNone))

	if peephole >= 0 && c.has(peephole) {
		w := c.tensor(peephole)
		bits, _ := ops.LSTM8CellBits(c.Graph.T(state).Scale)
		m := float32(math.Ldexp(float64(w.Scale), -bits) / float64(scale))
		sum := c.Temp(int64(count) * gateQuad)
		c.Quads(shaders.CellPeephole, count, emit.Ints(count).Divisors(c.units.Quads).Words(multiplierWords(m)...), emit.Cost{},
			c.Read(gate, plan.FormatNone), c.In(state), c.in(peephole), c.Write(sum, plan.FormatNone))
		gate = sum
	}
	if norm {
		gate = c.normalise(gate, g)
	}
	return gate
}

// normalise is layer normalisation of gate g.
func (c *lstm8) normalise(gate emit.Value, g ops.LSTMTensor) emit.Value {
	count, rows, w := c.units.TotalQuads(), c.units.Rows, c.tensor(ops.LSTMNormWeights+g)
	stats, normal := c.Temp(int64(rows)*16), c.Temp(int64(count)*gateQuad)
	least := max(int(min(10_000*w.Scale, math.MaxInt32/2)), 1)
	c.Quads(shaders.CellDeviation, rows, emit.Ints(rows, c.units.Quads, c.units.C, least), emit.Cost{FLOP: 4 * float64(rows) * float64(c.units.C)},
		c.Read(gate, plan.FormatNone), c.Write(stats, plan.FormatNone))
	push := emit.Ints(count).Divisors(c.units.Quads).Words(multiplierWords(w.Scale * (1 << 12))...)
	c.Quads(shaders.CellNormalize, count, push, emit.Cost{}, c.Read(gate, plan.FormatNone), c.Read(stats, plan.FormatNone),
		c.in(ops.LSTMNormWeights+g), c.in(ops.LSTMBias+g), c.Write(normal, plan.FormatNone))
	return normal
}

// project makes the result from the hidden values.
func (c *lstm8) project(result ir.ID, hidden emit.Value) {
	l, y, w := c.Layout(result), c.Graph.T(result), c.tensor(ops.LSTMProjectionWeights)
	bias := c.in(ops.LSTMProjectionWeights) // not read
	if c.has(ops.LSTMProjectionBias) {
		bias = c.in(ops.LSTMProjectionBias)
	}
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(l.Quads).Ints(l.C, c.units.C, int(c.attrs.HiddenZero), int(y.Zero))
	push = push.Words(multiplierWords(w.Scale * c.attrs.HiddenScale / y.Scale)...)
	clip := quantClip(c.attrs.ProjClip, y.Scale, math.MaxInt8)
	push = push.Ints(flagInt(c.has(ops.LSTMProjectionBias)), max(-clip, math.MinInt8), min(clip, math.MaxInt8))
	c.Quads(shaders.CellProject8, count, push, emit.Cost{FLOP: 2 * float64(l.Rows) * float64(l.C) * float64(c.units.C)},
		c.Read(hidden, plan.FormatNone), c.in(ops.LSTMProjectionWeights), bias, c.Out(result))
}

// quantClip is a clip in steps of a scale, as in the HAL's reference implementation: one of less than a step is no
// clip, for which the result is beyond largest.
func quantClip(clip, scale float32, largest int) int {
	if q := int(min(clip/scale, float32(largest))); q > 0 {
		return q
	}
	return largest + 1
}

// multiplierWords are the words of a multiplier that the HAL's reference implementation computes in float32.
func multiplierWords(real float32) []uint32 {
	words := pack.MultiplierWords(float64(real))
	return words[:]
}

func flagInt(on bool) int {
	if on {
		return 1
	}
	return 0
}
