package lower

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// fed makes inputs of the constants of g and returns their values.
func fed(g *ir.Graph) (values [][]byte) {
	for _, id := range g.Nodes[0].In[1:] {
		t := g.T(id)
		values = append(values, t.Const)
		t.Const = nil
		g.Inputs = append(g.Inputs, id)
	}
	return values
}

// turnedTaps is filter w of 3x3 taps with these in the opposite order.
func turnedTaps(typ nn.OperandType, channels int, w []byte) []byte {
	size := channels * typ.Bytes()
	w = slices.Clone(w)
	for at := 0; at < len(w); at += 9 * size {
		taps := slices.Collect(slices.Chunk(slices.Clone(w[at:at+9*size]), size))
		slices.Reverse(taps)
		copy(w[at:], slices.Concat(taps...))
	}
	return w
}

// TestWinogradOfInputs: filters that the device brings to the points itself, with their taps in either order.
func TestWinogradOfInputs(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		f := d.Facts()
		for i, c := range windowCases {
			for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16} {
				for _, m := range []int{2, 4} {
					for _, turned := range []bool{false, true} {
						t.Run(fmt.Sprintf("%v %v F(%d,3) turned=%v", c, typ, m, turned), func(t *testing.T) {
							g, x := c.graph(typ, rand.New(rand.NewPCG(uint64(i), 5)))
							want := c.want(g, x)
							inputs := append([][]byte{floatBytes(typ, x)}, fed(g)...)
							if turned {
								inputs[1] = turnedTaps(typ, c.ci, inputs[1])
							}
							p, weights := lowerBy(t, f, g, func(b *emit.Builder, c *conv) bool {
								c.turned = turned
								w, ok := winogradOf(&f, c, m)
								return ok && lowerWinograd(b, w)
							})
							got := floatValues(typ, runPlan(t, d, p, weights, inputs)[0])
							delta := map[int]float64{2: 4e-6, 4: 1e-5}[m]
							if typ == nn.TensorFloat16 {
								delta = 4e-3
							}
							require.InDeltaSlice(t, want, got, delta)
						})
					}
				}
			}
		}
	})
}

// rowsNode is a FULLY_CONNECTED of float32 whose filter is an input.
func rowsNode(rows, in, out int) *ir.Graph {
	float := func(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }
	return singleNode(ir.Node{Op: nn.OpFullyConnected, Attrs: ops.FullyConnected{}}, float(rows, out), float(rows, in), float(out, in), float(out))
}

// TestFilterRows: which filters that are inputs are read where they lie, and that the products are right: several tiles, the
// last of which begins within the one before, and terms that end within a quad.
func TestFilterRows(t *testing.T) {
	narrow, gpu, quick := softwareFacts, softwareFacts, softwareFacts
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	gpu.Class, quick.Quick = plan.ClassGPU, true
	for _, tc := range []struct {
		name          string
		f             plan.Facts
		rows, in, out int
		want          bool
	}{
		{"two tiles and a half", softwareFacts, 9, 13, 40, true},
		{"one tile", softwareFacts, 4, 64, 16, true},
		{"most rows", softwareFacts, 256, 5, 20, true},
		{"more rows", softwareFacts, 257, 5, 20, false},
		{"few rows", softwareFacts, 3, 13, 40, false},
		{"no whole tile", softwareFacts, 9, 13, 12, false},
		{"no whole quads", softwareFacts, 9, 13, 42, false},
		{"quads of invocations", narrow, 9, 13, 40, false},
		{"a gpu", gpu, 9, 13, 40, false},
		{"a quick form", quick, 9, 13, 40, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := lowerFor(t, tc.f, rowsNode(tc.rows, tc.in, tc.out))
			var kernels []string
			for i := range p.Steps {
				kernels = append(kernels, p.Steps[i].Kernel.String())
			}
			require.Equal(t, tc.want, strings.Contains(strings.Join(kernels, " "), "_rows_texel"), kernels)
		})
	}
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, tc := range [][3]int{{9, 13, 40}, {4, 64, 16}, {67, 37, 100}} {
			rows, in, out := tc[0], tc[1], tc[2]
			g, rng := rowsNode(rows, in, out), rand.New(rand.NewPCG(9, uint64(in)))
			var values [3][]float64
			var inputs [][]byte
			for i, id := range g.Inputs {
				for range g.T(id).Elements() {
					values[i] = append(values[i], float64(rng.IntN(33)-16))
				}
				inputs = append(inputs, floatBytes(nn.TensorFloat32, values[i]))
			}
			var want []float64
			for r := range rows {
				for o := range out {
					sum := values[2][o]
					for k := range in {
						sum += values[0][r*in+k] * values[1][o*in+k]
					}
					want = append(want, sum)
				}
			}
			require.Equal(t, want, floatValues(nn.TensorFloat32, runGraph(t, d, g, inputs...)[0]), tc)
		}
	})
}
