package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkLSTM16, lower: lowerLSTM16, divide: divideLSTM16, scratch: lstm16Gates}, nn.OpQuantized16BitLstm)
}

// gateQuad is the size of a quad of a gate, as shaders/cell/gate.comp writes it.
const gateQuad = 16

func checkLSTM16(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	for i, id := range n.In {
		want := nn.TensorQuant8Asymm
		switch t := ops.LSTM16Tensor(i); {
		case t == ops.LSTM16CellState:
			want = nn.TensorQuant16Symm
		case t >= ops.LSTM16Bias && t < ops.LSTM16CellState:
			want = nn.TensorInt32
		}
		if t := g.T(id); t.Type != want {
			return fmt.Errorf("tensor %d is %v instead of %v", i, t.Type, want)
		}
	}
	y := g.T(n.Out[1])
	if g.T(n.Out[0]).Type != nn.TensorQuant16Symm || y.Type != nn.TensorQuant8Asymm {
		return fmt.Errorf("%v and %v", g.T(n.Out[0]).Type, y.Type)
	}
	if size := pack.LayoutOf(g.T(n.In[ops.LSTM16Input])).C + pack.LayoutOf(y).C; size > emit.MaxLoop {
		return fmt.Errorf("rows of %d elements", size)
	}
	if size := lstm16Gates(g, n); size > f.MaxStorageRange {
		return fmt.Errorf("the gates need %d bytes, more than the device binds", size)
	}
	return emit.CheckTensors(f, g, n)
}

// lstm16Gates is the size of all gates.
func lstm16Gates(g *ir.Graph, n *ir.Node) int64 {
	return 4 * plan.AlignUp(int64(pack.LayoutOf(g.T(n.Out[1])).TotalQuads())*gateQuad)
}

// divideLSTM16 divides among rows of the batch; weights and biases stay whole.
func divideLSTM16(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(i int) bool {
		return i >= int(ops.LSTM16InputWeights) && i < int(ops.LSTM16CellState)
	})
}

// lowerLSTM16 computes the gates, each by its own step, and from them the states.
func lowerLSTM16(b *emit.Builder, n *ir.Node) {
	x, w, bias := b.Graph.T(n.In[ops.LSTM16Input]), b.Graph.T(n.In[ops.LSTM16InputWeights]), b.Graph.T(n.In[ops.LSTM16Bias])
	l, inputs := b.Layout(n.Out[1]), b.Layout(n.In[ops.LSTM16Input]).C
	count := l.TotalQuads()
	pitch := plan.AlignUp(int64(count) * gateQuad)
	gates := b.Temp(4 * pitch)
	push := emit.Ints(count).Divisors(l.Quads).Ints(l.C, inputs, int(x.Zero), int(w.Zero))
	words := pack.MultiplierWords(float64(bias.Scale) / ops.LSTM16GateScale)
	push = push.Words(words[:]...)
	for g := range ops.LSTM16Tensor(4) {
		into := emit.Binding{Value: gates, Offset: int64(g) * pitch, Size: pitch, Write: true}
		b.Quads(shaders.CellGate, count, push, emit.Cost{FLOP: 2 * float64(l.Rows) * float64(l.C) * float64(inputs+l.C)},
			b.In(n.In[ops.LSTM16Input]), b.In(n.In[ops.LSTM16OutputState]), b.In(n.In[ops.LSTM16RecurrentWeights+g]),
			b.In(n.In[ops.LSTM16InputWeights+g]), b.In(n.In[ops.LSTM16Bias+g]), into)
	}
	b.Quads(shaders.CellQuant16, count, emit.Ints(count, int(pitch/gateQuad)), emit.Cost{},
		b.Read(gates, plan.FormatNone), b.In(n.In[ops.LSTM16CellState]), b.Out(n.Out[0]), b.Out(n.Out[1]))
}
