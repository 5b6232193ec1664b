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
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// matrixCases end tiles, steps and quads early, each in its own way.
var matrixCases = []struct {
	n, h, w, ci, co int
	k, stride       int
}{
	{1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 67, 67, 1, 1}, {3, 1, 1, 32, 64, 1, 1}, {2, 9, 7, 19, 35, 1, 1}, {1, 16, 16, 64, 64, 1, 1},
	{1, 5, 13, 66, 130, 1, 1}, {1, 1, 1, 5, 33, 3, 1}, {3, 5, 7, 13, 67, 3, 1}, {1, 11, 9, 3, 40, 3, 2}, {2, 4, 6, 16, 31, 5, 2},
	{1, 8, 8, 64, 64, 3, 1}, {1, 10, 7, 1, 2, 4, 3},
}

// matrixNode is a convolution of numbers whose sums floats of 16 bits hold, for k.
func matrixNode(k family.Gemm, n, h, w, ci, co, size, stride int, rng *rand.Rand) *ir.Graph {
	typ := map[family.Elem]nn.OperandType{family.F32: nn.TensorFloat32, family.F16: nn.TensorFloat16, family.Q8: nn.TensorQuant8Asymm}[k.Elem]
	if k.Elem == family.Q8 && rng.IntN(2) == 0 {
		typ = nn.TensorQuant8AsymmSigned
	}
	constant := func(typ nn.OperandType, shape ...int) ir.Tensor {
		t := ir.Tensor{Type: typ, Shape: shape}
		for range t.Elements() {
			v := rng.IntN(5) - 2
			switch typ {
			case nn.TensorFloat32:
				t.Const = binary.LittleEndian.AppendUint32(t.Const, math.Float32bits(float32(v)))
			case nn.TensorFloat16:
				t.Const = binary.LittleEndian.AppendUint16(t.Const, uint16(nn.HalfOf(float32(v))))
			case nn.TensorInt32:
				t.Const = binary.LittleEndian.AppendUint32(t.Const, uint32(v*1000))
			default:
				t.Const = append(t.Const, byte(rng.Uint32()))
			}
		}
		return t
	}
	filter, bias := constant(typ, co, size, size, ci), constant(typ, co)
	x, y := ir.Tensor{Type: typ, Shape: []int{n, h, w, ci}}, ir.Tensor{Type: typ, Shape: []int{n, (h-1)/stride + 1, (w-1)/stride + 1, co}}
	if k.Elem == family.Q8 {
		bias = constant(nn.TensorInt32, co)
		x.Scale, x.Zero, y.Scale, y.Zero = 0.5, 11, 40, -3
		filter.Scale, filter.Zero = 0.25, -17
		if typ == nn.TensorQuant8Asymm {
			x.Zero, y.Zero, filter.Zero = 139, 125, 111
		}
		if !k.ZeroPoint {
			filter.Type, filter.Zero, filter.Channel = nn.TensorQuant8PerChannel, 0, &nn.ChannelQuant{Scales: make([]float32, co)}
			for i := range filter.Channel.Scales {
				filter.Channel.Scales[i] = 0.25 / float32(1+i%5)
			}
		}
	}
	g := &ir.Graph{Relaxed: k.Elem == family.F32}
	in := []ir.ID{g.Add(x), g.Add(filter), g.Add(bias)}
	g.Inputs, g.Outputs = in[:1], []ir.ID{g.Add(y)}
	before := (size - 1) / 2
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: in, Out: g.Outputs, Attrs: ops.Conv{
		Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: before, Bottom: size - 1 - before, Left: before, Right: size - 1 - before},
	}}}
	return g
}

// matrixInput is a tensor for matrixNode.
func matrixInput(t *ir.Tensor, rng *rand.Rand) (data []byte) {
	for range t.Elements() {
		v := float32(rng.IntN(5) - 2)
		switch t.Type {
		case nn.TensorFloat32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		case nn.TensorFloat16:
			data = binary.LittleEndian.AppendUint16(data, uint16(nn.HalfOf(v)))
		default:
			data = append(data, byte(rng.Uint32()))
		}
	}
	return data
}

// TestMatrixVariants: each product by cooperative matrices that the device can run computes what the family's floor does,
// to the bit.
func TestMatrixVariants(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts := d.Facts()
		if len(facts.Matrices) == 0 && !vktest.Required("matrix") {
			t.Skip("no cooperative matrices; tools/setup.sh matrix unpacks a lavapipe that has them")
		}
		only := func(use func(k shaders.Kernel, key family.Gemm) bool) plan.Facts {
			f := facts
			f.Class, f.Avoid = plan.ClassGPU, shaders.Set{}
			for k := shaders.Kernel(1); k.Valid(); k++ {
				if key, ok := k.Key().(family.Gemm); ok && !use(k, key) {
					f.Avoid.Add(k)
				}
			}
			return f
		}
		floor := only(func(_ shaders.Kernel, key family.Gemm) bool { return key.Floor() })
		ran := map[string]bool{}
		for k := shaders.Kernel(1); k.Valid(); k++ {
			key, ok := k.Key().(family.Gemm)
			if !ok || key.Matrix == (family.Matrix{}) || facts.Lacks(k.Info(), facts.Workgroup(k.Info(), 0)) != nil {
				continue
			}
			f := only(func(other shaders.Kernel, _ family.Gemm) bool { return other == k })
			for i, c := range matrixCases {
				if (c.k != 1 || c.stride != 1) != key.Window {
					continue
				}
				t.Run(fmt.Sprint(k, c), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 5))
					g := matrixNode(key, c.n, c.h, c.w, c.ci, c.co, c.k, c.stride, rng)
					x := matrixInput(g.T(g.Inputs[0]), rng)
					p, weights := lowerFor(t, f, g)
					require.Contains(t, p.Pipelines(), plan.Pipeline{Kernel: k, Local: f.Workgroup(k.Info(), 0)})
					got := runPlan(t, d, p, weights, [][]byte{x})
					p, weights = lowerFor(t, floor, g)
					require.Equal(t, runPlan(t, d, p, weights, [][]byte{x}), got)
					ran[fmt.Sprint(key.Elem, key.Window)] = true
				})
			}
		}
		require.NotEmpty(t, ran)
	})
}

// TestMatrixChoice: what is chosen where a device lists products, and where nothing permits them.
func TestMatrixChoice(t *testing.T) {
	f := softwareFacts
	f.Class, f.SubgroupSize, f.SharedBytes, f.Float16, f.Int8, f.IntegerDot, f.IntegerDotFast = plan.ClassGPU, 32, 48<<10, true, true, true, true
	f.Matrices = []family.Matrix{
		{M: 16, N: 16, K: 16, In: "f16", Sum: "f32"}, {M: 16, N: 8, K: 16, In: "f16", Sum: "f32"}, {M: 16, N: 16, K: 32, In: "s8", Sum: "s32"},
	}
	cpu := f
	cpu.Class = plan.ClassCPU
	without := func(list string) plan.Facts {
		f := f
		require.NoError(t, f.Without(list))
		return f
	}
	for _, tc := range []struct {
		name           string
		f              plan.Facts
		typ            nn.OperandType
		relaxed        bool
		h, w, ci, co   int
		k              int
		kernel, reason string
	}{
		{"half floats", f, nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_matrix_f16_16x16x16_128x128", "tile 128x128 by matrices 16x16x16 f16 to f32"},
		{"many of them", f, nn.TensorFloat16, false, 224, 224, 64, 256, 1, "conv_matrix_f16_16x16x16_128x128", "128x128"},
		{"few of them", f, nn.TensorFloat16, false, 7, 7, 64, 256, 1, "conv_matrix_f16_16x16x16_32x32", "32x32"},
		{"a window", f, nn.TensorFloat16, false, 56, 56, 64, 256, 3, "conv_matrix_window_f16_16x16x16_128x128", "128x128"},
		{"8 bits", f, nn.TensorQuant8Asymm, false, 56, 56, 64, 256, 3, "conv_matrix_window_q8_16x16x32_64x64_wzp", "16x16x32 s8 to s32"},
		{"floats", f, nn.TensorFloat32, false, 56, 56, 64, 256, 1, "conv_gemm_f32_shared_128x128", "shared memory"},
		{"relaxed floats", f, nn.TensorFloat32, true, 56, 56, 64, 256, 1, "conv_matrix_f32_16x16x16_128x128", "128x128"},
		{"one row", f, nn.TensorFloat16, false, 1, 1, 64, 16, 1, "conv_gemm_f16_shared_1x8", "share the sums of a row"},
		{"software", cpu, nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_gemm_f16_8x8", "floats of 16 bits"},
		{"without matrices", without("matrix"), nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_gemm_f16_shared_128x128", "shared memory"},
		{"without floats of 16 bits", without("f16"), nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_gemm_f16_shared_128x128", "shared memory"},
		{"without 8 bits", without("int8"), nn.TensorQuant8Asymm, false, 56, 56, 64, 256, 1, "conv_gemm_q8_dot_shared_128x128_wzp", "packed dot products"},
		{"a quick compilation", func() plan.Facts { f := f; f.Quick = true; return f }(), nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_gemm_f16_1x8", "quick"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := convNode(tc.typ, tc.h, tc.w, tc.ci, tc.co, tc.k)
			g.Relaxed = tc.relaxed
			p, _ := lowerFor(t, tc.f, g)
			s := p.Steps[len(p.Steps)-1]
			for _, step := range p.Steps {
				if _, ok := step.Kernel.Key().(family.Gemm); ok {
					s = step
				}
			}
			require.Equal(t, tc.kernel, s.Kernel.String())
			require.Contains(t, s.Why, tc.reason)
			require.NoError(t, tc.f.Lacks(s.Kernel.Info(), s.Local))
		})
	}
}

// TestMatrixQuick: of each product by matrices there is one that compiles fast.
func TestMatrixQuick(t *testing.T) {
	for _, texels := range []string{"", "texel", "dot"} {
		f := softwareFacts
		f.IntegerDot, f.IntegerDotFast, f.Class = true, true, plan.ClassGPU
		require.NoError(t, f.Without(texels))
		for k := shaders.Kernel(1); k.Valid(); k++ {
			if key, ok := k.Key().(family.Gemm); ok && key.Matrix != (family.Matrix{}) {
				p, ok := Quick(&f, plan.Pipeline{Kernel: k})
				require.True(t, ok)
				quick := p.Kernel.Key().(family.Gemm)
				require.Equal(t, [2]int{1, 8}, [2]int{quick.M, quick.N})
				require.Equal(t, family.Matrix{}, quick.Matrix)
				require.Equal(t, key.Elem, quick.Elem)
			}
		}
	}
}
