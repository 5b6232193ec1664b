package lower

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// depthwiseNode is a convolution of 3x3 of whole numbers, with paddings that need not be equal.
func depthwiseNode(typ nn.OperandType, n, h, w, c, stride int, pad ops.Pad, rng *rand.Rand) *ir.Graph {
	x := ir.Tensor{Type: typ, Shape: []int{n, h, w, c}}
	filter, bias := ir.Tensor{Type: typ, Shape: []int{1, 3, 3, c}}, ir.Tensor{Type: typ, Shape: []int{c}}
	y := ir.Tensor{Type: typ, Shape: []int{n, (h+pad.Top+pad.Bottom-3)/stride + 1, (w+pad.Left+pad.Right-3)/stride + 1, c}}
	if typ.IsQuant8() {
		x.Scale, x.Zero, y.Scale, y.Zero, filter.Scale, filter.Zero = 0.5, 100, 30, 130, 0.25, 120
		bias.Type, bias.Const = nn.TensorInt32, make([]byte, 4*c)
	} else {
		bias.Const = matrixInput(&bias, rng)
	}
	filter.Const = matrixInput(&filter, rng)
	g := &ir.Graph{}
	in := []ir.ID{g.Add(x), g.Add(filter), g.Add(bias)}
	g.Inputs, g.Outputs = in[:1], []ir.ID{g.Add(y)}
	g.Nodes = []ir.Node{{Op: nn.OpDepthwiseConv2D, In: in, Out: g.Outputs, Attrs: ops.DepthwiseConv{
		Conv: ops.Conv{Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Pad: pad}, Multiplier: 1,
	}}}
	return g
}

// onlyDepthwise are the facts of a GPU that has no other depthwise kernels than those.
func onlyDepthwise(f plan.Facts, use func(family.Depthwise) bool) plan.Facts {
	f.Class = plan.ClassGPU
	for _, k := range shaders.Variants[family.Depthwise]() {
		if !use(k) {
			f.Avoid.Add(shaders.Of(k))
		}
	}
	return f
}

// TestDepthwiseRows: rows of the output together have the bits of the floor, wherever the image ends.
func TestDepthwiseRows(t *testing.T) {
	same, none := ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}, ops.Pad{}
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, k := range shaders.Variants[family.Depthwise]() {
			if k.Rows == 0 && !k.Walk {
				continue
			}
			typ := map[family.Elem]nn.OperandType{family.F32: nn.TensorFloat32, family.F16: nn.TensorFloat16, family.Q8: nn.TensorQuant8Asymm}[k.Elem]
			for i, c := range []struct {
				n, h, w, c int
				pad        ops.Pad
			}{
				{1, 1, 1, 1, same}, {1, 3, 3, 67, none}, {2, 7, 7, 33, same}, {3, 4, 9, 5, ops.Pad{Top: 0, Bottom: 1, Left: 1, Right: 0}},
				{1, 9, 4, 12, ops.Pad{Top: 2, Bottom: 2, Left: 0, Right: 2}}, {1, 16, 15, 64, same}, {2, 5, 6, 4, none}, {1, 41, 9, 35, same},
			} {
				t.Run(fmt.Sprint(shaders.Of(k), c), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 11))
					g := depthwiseNode(typ, c.n, c.h, c.w, c.c, k.Stride, c.pad, rng)
					x := [][]byte{matrixInput(g.T(g.Inputs[0]), rng)}
					p, weights := lowerFor(t, onlyDepthwise(d.Facts(), func(other family.Depthwise) bool { return other == k }), g)
					require.Contains(t, fmt.Sprint(p.Pipelines()), shaders.Of(k).String())
					got := runPlan(t, d, p, weights, x)
					p, weights = lowerFor(t, onlyDepthwise(d.Facts(), family.Depthwise.Floor), g)
					require.Equal(t, runPlan(t, d, p, weights, x), got)
				})
			}
		}
	})
}

// TestDepthwiseChoice: rows together for the windows that they are made for, where they pay.
func TestDepthwiseChoice(t *testing.T) {
	gpu := softwareFacts
	gpu.Class, gpu.SubgroupSize, gpu.ComputeUnits = plan.ClassGPU, 32, 132
	quick := gpu
	quick.Quick = true
	lanes4, lanes8 := softwareFacts, softwareFacts
	lanes4.SubgroupSize, lanes8.SubgroupSize = 4, 8
	same := ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}
	for _, tc := range []struct {
		name    string
		f       plan.Facts
		typ     nn.OperandType
		h, w, c int
		stride  int
		kernel  string
	}{
		{"half floats", gpu, nn.TensorFloat16, 112, 112, 96, 1, "conv_depthwise_f16_k3s1_2x2"},
		{"a small image", gpu, nn.TensorFloat16, 7, 7, 960, 1, "conv_depthwise_f16_k3s1_2x2"},
		{"floats", gpu, nn.TensorFloat32, 56, 56, 144, 2, "conv_depthwise_f32_k3s2_2x2"},
		{"8 bits", gpu, nn.TensorQuant8Asymm, 56, 56, 144, 2, "conv_depthwise_q8_k3s2_2x2_shift"},
		{"half floats, 8 lanes", lanes8, nn.TensorFloat16, 112, 112, 96, 1, "conv_depthwise_f16_k3s1_4x2_texel"},
		{"half floats, 4 lanes", lanes4, nn.TensorFloat16, 112, 112, 96, 1, "conv_depthwise_f16_k3s1_walk"},
		{"floats, 8 lanes", lanes8, nn.TensorFloat32, 56, 56, 144, 2, "conv_depthwise_f32_k3s2_4x2_texel"},
		{"8 bits, 8 lanes", lanes8, nn.TensorQuant8Asymm, 56, 56, 144, 2, "conv_depthwise_q8_k3s2_walk_texel_shift"},
		{"floats, 4 lanes", lanes4, nn.TensorFloat32, 56, 56, 144, 1, "conv_depthwise_f32_k3s1_walk_texel"},
		{"8 bits, 4 lanes", lanes4, nn.TensorQuant8Asymm, 56, 56, 144, 1, "conv_depthwise_q8_k3s1_walk_texel"},
		{"8 bits, 4 lanes, stride 2", lanes4, nn.TensorQuant8Asymm, 56, 56, 144, 2, "conv_depthwise_q8_k3s2_walk_texel"},
		{"a quick compilation", quick, nn.TensorFloat16, 112, 112, 96, 1, "conv_depthwise_f16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := depthwiseNode(tc.typ, 1, tc.h, tc.w, tc.c, tc.stride, same, rand.New(rand.NewPCG(1, 1)))
			p, _ := lowerFor(t, tc.f, g)
			var kernels []string
			for _, s := range p.Steps {
				if _, ok := s.Kernel.Key().(family.Depthwise); ok {
					kernels = append(kernels, s.Kernel.String())
				}
			}
			require.Equal(t, []string{tc.kernel}, kernels)
		})
	}
}

// TestDepthwiseQuick foresees the kernel of a quick compilation.
func TestDepthwiseQuick(t *testing.T) {
	gpu, lanes4, lanes8 := softwareFacts, softwareFacts, softwareFacts
	gpu.Class, gpu.SubgroupSize, gpu.ComputeUnits = plan.ClassGPU, 32, 132
	lanes4.SubgroupSize, lanes8.SubgroupSize = 4, 8
	depthwise := func(p *plan.Plan) *plan.Step {
		i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { _, ok := s.Kernel.Key().(family.Depthwise); return ok })
		return &p.Steps[i]
	}
	for name, f := range map[string]plan.Facts{"a GPU": gpu, "4 lanes": lanes4, "8 lanes": lanes8} {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8Asymm} {
			t.Run(fmt.Sprint(name, " ", typ), func(t *testing.T) {
				g := depthwiseNode(typ, 1, 20, 20, 24, 1, ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}, rand.New(rand.NewPCG(1, 1)))
				full, _ := lowerFor(t, f, g)
				foreseen, ok := Quick(&f, depthwise(full))
				require.True(t, ok)
				quick := f
				quick.Quick = true
				p, _ := lowerFor(t, quick, g)
				require.Equal(t, depthwise(p).Pipeline(), foreseen)
			})
		}
	}
}

// TestDepthwiseWithoutShifts: of sums that floats do not hold, where the kernels that scale by shifts are not to be used
// yet, the kernel that takes any convolution.
func TestDepthwiseWithoutShifts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	g := depthwiseNode(nn.TensorQuant8Asymm, 1, 61, 67, 8, 7, ops.Pad{}, rng)
	filter, y := g.T(g.Nodes[0].In[1]), g.T(g.Outputs[0])
	filter.Shape, y.Shape = []int{1, 31, 29, 8}, []int{1, 5, 6, 8}
	filter.Const = matrixInput(filter, rng)
	f := softwareFacts
	p, _ := lowerFor(t, onlyDepthwise(f, func(family.Depthwise) bool { return true }), g)
	require.Contains(t, p.Steps[len(p.Steps)-1].Kernel.String(), "_shift")
	p, _ = lowerFor(t, onlyDepthwise(f, family.Depthwise.Floor), g)
	require.Contains(t, p.Steps[len(p.Steps)-1].Kernel.String(), "conv_direct_depthwise")
}
