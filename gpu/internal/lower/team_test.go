package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// teamOf is the team of a kernel; known: it has one.
func teamOf(k shaders.Kernel) (team family.Team, known bool) {
	switch key := k.Key().(type) {
	case family.Softmax:
		return key.Team, true
	case family.Sum:
		return key.Team, true
	}
	return family.Alone, false
}

// rowNode is an operation on x, [rows, c]; the mean drops the innermost dimension or, keep, leaves one element.
func rowNode(op nn.OperationType, typ nn.OperandType, rows, c int, keep bool) *ir.Graph {
	g := &ir.Graph{}
	n := ir.Node{Op: op, Attrs: ops.Softmax{Beta: 0.75, Axis: 1}}
	y := []int{rows, c}
	if op == nn.OpMean {
		n.Attrs, y = ops.Mean{Axes: []int{1}}, []int{rows}
		if keep {
			y = []int{rows, 1}
		}
	}
	in, out := ir.Tensor{Type: typ, Shape: []int{rows, c}}, ir.Tensor{Type: typ, Shape: y}
	if typ.IsQuant8() {
		in.Scale, in.Zero, out.Scale, out.Zero = 0.05, 3, 1.0/256, -128
	}
	g.Inputs, g.Outputs = []ir.ID{g.Add(in)}, []ir.ID{g.Add(out)}
	n.In, n.Out = g.Inputs, g.Outputs
	g.Nodes = []ir.Node{n}
	return g
}

// TestTeams: rows of one element to many rounds of a team, by one invocation and by teams; numbers that 16 bits hold have the
// same sums to the bit, and all have the same in every run.
func TestTeams(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts := d.Facts()
		if facts.SubgroupOps&family.SubgroupArithmetic == 0 {
			t.Skip("no arithmetic of subgroups")
		}
		facts.Class = plan.ClassGPU
		with := func(team family.Team) *plan.Facts {
			f := facts
			for k := shaders.Kernel(1); k.Valid(); k++ {
				if of, known := teamOf(k); known && of != team {
					f.Avoid.Add(k)
				}
			}
			return &f
		}
		shapes := [][2]int{{1, 1}, {3, 2}, {5, 4}, {9, 31}, {2, 67}, {33, 130}, {1, 1027}, {4, 5003}}
		for i, op := range []nn.OperationType{nn.OpSoftmax, nn.OpLogSoftmax, nn.OpMean} {
			for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8AsymmSigned} {
				for _, shape := range shapes {
					if op == nn.OpMean && shape[1] == 1 || op != nn.OpSoftmax && typ.IsQuant8() {
						continue // a copy; no teams
					}
					t.Run(fmt.Sprint(op, typ, shape), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(shape[1]), 3))
						g := rowNode(op, typ, shape[0], shape[1], i+shape[0]&1 == 0)
						x := matrixInput(g.T(g.Inputs[0]), rng)
						run := func(team family.Team) []float64 {
							p, weights := lowerFor(t, *with(team), g)
							last := p.Steps[len(p.Steps)-1]
							for _, s := range p.Steps {
								if _, ok := teamOf(s.Kernel); ok {
									last = s
								}
							}
							of, _ := teamOf(last.Kernel)
							require.Equal(t, team, of, last.Kernel)
							got := runPlan(t, d, p, weights, [][]byte{x})
							require.Equal(t, got, runPlan(t, d, p, weights, [][]byte{x}))
							return floatsOf(typ, got[0])
						}
						want := run(family.Alone)
						for _, team := range []family.Team{family.Subgroup, family.Workgroup} {
							tolerance := map[nn.OperandType]float64{nn.TensorFloat32: 1e-5, nn.TensorFloat16: 1e-3}[typ]
							least := 1e-9
							if typ.IsQuant8() {
								least = 1 // a step, where the sum decides how a result is rounded
							}
							for k, v := range run(team) {
								require.InDelta(t, want[k], v, tolerance*math.Abs(want[k])+least, "%v at %d", team, k)
							}
						}
					})
				}
			}
		}
	})
}

// floatsOf decodes a tensor of floats or signed bytes.
func floatsOf(typ nn.OperandType, data []byte) (list []float64) {
	for ; len(data) > 0; data = data[typ.Bytes():] {
		switch typ {
		case nn.TensorFloat32:
			list = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
		case nn.TensorFloat16:
			list = append(list, float64(nn.Half(binary.LittleEndian.Uint16(data)).Float32()))
		default:
			list = append(list, float64(int8(data[0])))
		}
	}
	return list
}

// TestTeamChoice: who goes through rows on a device, by their number and length.
func TestTeamChoice(t *testing.T) {
	gpu := softwareFacts
	gpu.Class, gpu.SubgroupSize, gpu.SubgroupOps, gpu.SharedBytes, gpu.ComputeUnits = plan.ClassGPU, 32, family.SubgroupArithmetic, 48<<10, 132
	software, without, quick := gpu, gpu, gpu
	software.Class, quick.Quick = plan.ClassCPU, true
	require.NoError(t, without.Without("subgroup"))
	for _, tc := range []struct {
		name    string
		f       plan.Facts
		rows, c int
		want    family.Team
	}{
		{"heads of attention", gpu, 8 * 128, 128, family.Subgroup},
		{"classes", gpu, 1, 1000, family.Workgroup},
		{"a vocabulary", gpu, 16, 32000, family.Workgroup},
		{"pixels with few classes", gpu, 1 << 20, 12, family.Alone},
		{"software", software, 8 * 128, 128, family.Alone},
		{"without subgroups", without, 8 * 128, 128, family.Alone},
		{"a quick compilation", quick, 8 * 128, 128, family.Alone},
	} {
		for _, op := range []nn.OperationType{nn.OpSoftmax, nn.OpMean} {
			t.Run(fmt.Sprint(tc.name, op), func(t *testing.T) {
				p, _ := lowerFor(t, tc.f, rowNode(op, nn.TensorFloat16, tc.rows, tc.c, true))
				s := p.Steps[0]
				team, ok := teamOf(s.Kernel)
				require.True(t, ok)
				require.Equal(t, tc.want, team, s.Why)
				if team == family.Workgroup && op == nn.OpSoftmax {
					require.Equal(t, emit.Grid(tc.rows), s.Groups)
				}
			})
		}
	}
}
