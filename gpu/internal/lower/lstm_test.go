package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// lstmGraph is the step of an LSTM with so many gates.
func lstmGraph(a ops.SequenceLSTM, rows, units, gates int) *ir.Graph {
	g := &ir.Graph{}
	n := ir.Node{Op: nn.OpLstm, Attrs: a}
	for _, columns := range []int{gates * units, gates * units, units} {
		n.In = append(n.In, g.Add(floatTensor(rows, columns)))
	}
	n.Out = []ir.ID{g.Add(floatTensor(rows, units)), g.Add(floatTensor(rows, units))}
	g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
	return g
}

// TestLSTMStep against the formula, in float64.
func TestLSTMStep(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	logistic := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	activations := map[ops.CellActivation]func(float64) float64{
		ops.CellNone:     func(v float64) float64 { return v },
		ops.CellRelu:     func(v float64) float64 { return max(v, 0) },
		ops.CellRelu6:    func(v float64) float64 { return min(max(v, 0), 6) },
		ops.CellTanh:     math.Tanh,
		ops.CellLogistic: logistic,
	}
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		rng := rand.New(rand.NewPCG(1, 2))
		for act, f := range activations {
			for _, gates := range []int{3, 4} {
				for _, clip := range []float64{0, 1.5} {
					const rows, units = 7, 12
					g := lstmGraph(ops.SequenceLSTM{Act: act, CellClip: clip}, rows, units, gates)
					var values [3][]float32
					var data [][]byte
					for i, id := range g.Inputs {
						values[i] = make([]float32, g.T(id).Elements())
						for k := range values[i] {
							values[i][k] = rng.Float32()*12 - 6
						}
						data = append(data, pack.FloatBytes(values[i]))
					}
					require.NoError(t, Check(&softwareFacts, g, &g.Nodes[0]))
					var hidden, cells []float32
					for i := range rows * units {
						gate := func(k int) float64 { // from the last one
							at := (i/units*gates+gates-k)*units + i%units
							return float64(values[0][at]) + float64(values[1][at])
						}
						forget := logistic(gate(3))
						take := 1 - forget
						if gates == 4 {
							take = logistic(gate(4))
						}
						c := forget*float64(values[2][i]) + take*f(gate(2))
						if clip != 0 {
							c = min(max(c, -clip), clip)
						}
						hidden, cells = append(hidden, float32(logistic(gate(1))*f(c))), append(cells, float32(c))
					}
					got := runGraph(t, d, g, data...)
					require.InDeltaSlice(t, hidden, f32OfBytes(got[0]), 1e-5, "%v of %d gates", act, gates)
					require.InDeltaSlice(t, cells, f32OfBytes(got[1]), 1e-5, "%v of %d gates", act, gates)
				}
			}
		}
	})
}

func TestLSTMRefusals(t *testing.T) {
	for name, change := range map[string]func(g *ir.Graph){
		"broken quads":     func(g *ir.Graph) { *g = *lstmGraph(ops.SequenceLSTM{}, 3, 6, 4) },
		"two gates":        func(g *ir.Graph) { *g = *lstmGraph(ops.SequenceLSTM{}, 3, 8, 2) },
		"other rows":       func(g *ir.Graph) { g.Tensors[1].Shape = []int{4, 32} },
		"half floats":      func(g *ir.Graph) { g.Tensors[0].Type = nn.TensorFloat16 },
		"another output":   func(g *ir.Graph) { g.Tensors[3].Shape = []int{3, 4} },
		"too many tensors": func(g *ir.Graph) { g.Nodes[0].In = append(g.Nodes[0].In, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			g := lstmGraph(ops.SequenceLSTM{}, 3, 8, 4)
			require.NoError(t, Check(&softwareFacts, g, &g.Nodes[0]))
			change(g)
			require.Error(t, Check(&softwareFacts, g, &g.Nodes[0]))
		})
	}
}
