package lower

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// outputsCases are graphs of one operation, some with several outputs, with tensors beyond a limit.
func outputsCases() map[string]struct {
	graph *ir.Graph
	limit int64
} {
	f32 := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	i32 := func(n int) ir.Tensor { return ir.Tensor{Type: nn.TensorInt32, Shape: []int{n}} }
	list := func(t ...ir.Tensor) []ir.Tensor { return t }
	graph := func(op nn.OperationType, a ops.Attrs, in, out []ir.Tensor) *ir.Graph {
		g := &ir.Graph{}
		n := ir.Node{Op: op, Attrs: a}
		for _, t := range in {
			n.In = append(n.In, g.Add(t))
		}
		for _, t := range out {
			n.Out = append(n.Out, g.Add(t))
		}
		g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
		return g
	}
	hits := ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: []int{999}, Scale: 1}
	roi := ops.Roi{Size: [2]int{3, 2}, Ratio: [2]float32{0.5, 1}}
	lstm16, _ := lstm16Graph(300, 20, 17)
	lstm8, n := lstm8Graph(300, 20, 17)
	for _, id := range n.In {
		if id != ir.None {
			lstm8.Inputs = append(lstm8.Inputs, id)
		}
	}
	lstm8.Outputs = n.Out
	return map[string]struct {
		graph *ir.Graph
		limit int64
	}{
		"looked up":       {graph(nn.OpHashtableLookup, nil, list(i32(999), i32(50), f32(50, 8)), list(f32(999, 8), hits)), 8192},
		"aligned regions": {graph(nn.OpRoiAlign, ops.RoiAlign{Roi: roi}, list(f32(2, 5, 7, 3), f32(700, 4), i32(700)), list(f32(700, 3, 2, 3))), 8192},
		"pooled regions":  {graph(nn.OpRoiPooling, ops.RoiPooling{Roi: roi}, list(f32(2, 5, 7, 3), f32(700, 4), i32(700)), list(f32(700, 3, 2, 3))), 8192},
		"moved boxes":     {graph(nn.OpAxisAlignedBboxTransform, nil, list(f32(700, 4), f32(700, 12), i32(700), f32(5, 2)), list(f32(700, 12))), 8192},
		"keypoints":       {graph(nn.OpHeatmapMaxKeypoint, ops.Keypoint{}, list(f32(160, 6, 6, 5), f32(160, 4)), list(f32(160, 5), f32(160, 5, 2))), 32768},
		"cells":           {graph(nn.OpLstm, ops.SequenceLSTM{Act: ops.CellTanh}, list(f32(300, 60), f32(300, 60), f32(300, 20)), list(f32(300, 20), f32(300, 20))), 32768},
		"16-bit cells":    {lstm16, 32768},
		"8-bit cells":     {lstm8, 8192},
	}
}

// TestPiecesOfOutputsGiveTheSame bytes as the whole.
func TestPiecesOfOutputsGiveTheSame(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for name, c := range outputsCases() {
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(8, 9))
				var inputs [][]byte
				for _, id := range c.graph.Inputs {
					x := *c.graph.T(id)
					if x.Type == nn.TensorQuant16Symm { // two bytes an element
						x.Type, x.Shape = nn.TensorQuant8Asymm, append([]int{2}, x.Shape...)
					}
					v := randomBytes(rng, &x)
					if x.Type == nn.TensorInt32 { // of boxes, keys and biases
						for i := range v {
							if i%4 != 0 {
								v[i] = 0
							}
						}
					}
					inputs = append(inputs, v)
				}
				p, weights := lowerFor(t, d.Facts(), c.graph)
				want := runPlan(t, d, p, weights, inputs)
				f := d.Facts()
				f.MaxStorageRange = c.limit
				parts, weights := lowerFor(t, f, c.graph)
				require.Greater(t, computing(parts), computing(p))
				require.Equal(t, want, runPlan(t, d, parts, weights, inputs))
			})
		}
	})
}
