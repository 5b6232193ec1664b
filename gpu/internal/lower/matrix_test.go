package lower

import (
	"encoding/binary"
	"fmt"
	"math"
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

// matrixCase is a convolution.
type matrixCase struct {
	n, h, w, ci, co int
	k, stride       int
	groups          int  // 0: no operation of groups
	runtime         bool // the filter is no constant
}

func (c *matrixCase) window() bool { return c.k != 1 || c.stride != 1 || c.groups > 0 }

// matrixCases end tiles, steps, parts of sums and quads early, each in its own way.
var matrixCases = []matrixCase{
	{1, 1, 1, 1, 1, 1, 1, 0, false}, {1, 1, 1, 67, 67, 1, 1, 0, false}, {3, 1, 1, 32, 64, 1, 1, 0, false}, {2, 9, 7, 19, 35, 1, 1, 0, false},
	{1, 16, 16, 64, 64, 1, 1, 0, false}, {1, 5, 13, 66, 130, 1, 1, 0, false}, {1, 2, 3, 2101, 37, 1, 1, 0, false}, {2, 1, 1, 1024, 131, 1, 1, 0, false},
	{1, 1, 1, 5, 33, 3, 1, 0, false}, {3, 5, 7, 13, 67, 3, 1, 0, false}, {1, 11, 9, 3, 40, 3, 2, 0, false}, {2, 4, 6, 16, 31, 5, 2, 0, false},
	{1, 8, 8, 64, 64, 3, 1, 0, false}, {1, 10, 7, 1, 2, 4, 3, 0, false}, {1, 1, 1, 131, 67, 5, 1, 0, false}, {2, 7, 7, 67, 33, 3, 1, 0, false},
	{2, 5, 3, 24, 256, 3, 1, 2, false}, {1, 6, 5, 384, 384, 1, 1, 3, false},
	{2, 3, 3, 8, 1, 1, 1, 0, true}, {1, 5, 7, 23, 67, 1, 1, 0, true}, {3, 2, 3, 320, 131, 1, 1, 0, true}, {1, 3, 3, 2047, 9, 1, 1, 0, true},
	{1, 4, 5, 7, 40, 3, 1, 0, true}, {2, 6, 3, 71, 65, 3, 2, 0, true}, {1, 2, 4, 16, 256, 3, 1, 2, true},
}

// matrixNode is a convolution of numbers whose sums floats of 16 bits hold, for k.
func matrixNode(k family.Gemm, c *matrixCase, rng *rand.Rand) *ir.Graph {
	n, h, w, co, size, stride := c.n, c.h, c.w, c.co, c.k, c.stride
	ci := c.ci / max(1, c.groups)
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
	x, y := ir.Tensor{Type: typ, Shape: []int{n, h, w, c.ci}}, ir.Tensor{Type: typ, Shape: []int{n, (h-1)/stride + 1, (w-1)/stride + 1, co}}
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
	if c.runtime {
		g.Inputs, g.T(in[1]).Const = in[:2], nil
	}
	before := (size - 1) / 2
	conv := ops.Conv{
		Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: before, Bottom: size - 1 - before, Left: before, Right: size - 1 - before},
	}
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: in, Out: g.Outputs, Attrs: conv}}
	if c.groups > 0 {
		g.Nodes[0].Op, g.Nodes[0].Attrs = nn.OpGroupedConv2D, ops.GroupedConv{Conv: conv, Groups: c.groups}
	}
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

// onlyProducts are the facts of a GPU that has no other products than those.
func onlyProducts(f plan.Facts, use func(k shaders.Kernel, key family.Gemm) bool) plan.Facts {
	f.Class, f.Avoid = plan.ClassGPU, shaders.Set{}
	for k := shaders.Kernel(1); k.Valid(); k++ {
		if key, ok := k.Key().(family.Gemm); ok && !use(k, key) {
			f.Avoid.Add(k)
		}
	}
	return f
}

// TestMatrixVariants: each product by cooperative matrices that the device can run computes what the family's floor does,
// to the bit.
func TestMatrixVariants(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts := d.Facts()
		if len(facts.Matrices) == 0 && !vktest.Required("matrix") {
			t.Skip("no cooperative matrices; tools/setup.sh matrix unpacks a lavapipe that has them")
		}
		floor := onlyProducts(facts, func(_ shaders.Kernel, key family.Gemm) bool { return key.Floor() })
		types, ran := map[family.Elem]bool{}, map[string]bool{}
		for k := shaders.Kernel(1); k.Valid(); k++ {
			key, ok := k.Key().(family.Gemm)
			if !ok || key.Matrix == (family.Matrix{}) || facts.Lacks(k.Info(), facts.Workgroup(k.Info(), 0)) != nil {
				continue
			}
			types[key.Elem] = true
			f := onlyProducts(facts, func(other shaders.Kernel, _ family.Gemm) bool { return other == k })
			for i, c := range matrixCases {
				if c.window() != key.Window || c.runtime && key.Elem == family.Q8 {
					continue
				}
				t.Run(fmt.Sprint(k, c), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 5))
					g := matrixNode(key, &c, rng)
					var inputs [][]byte
					for _, id := range g.Inputs {
						inputs = append(inputs, matrixInput(g.T(id), rng))
					}
					p, weights := lowerFor(t, f, g)
					require.Contains(t, p.Pipelines(), plan.Pipeline{Kernel: k, Local: f.Workgroup(k.Info(), 0)})
					got := runPlan(t, d, p, weights, inputs)
					require.Equal(t, got, runPlan(t, d, p, weights, inputs))
					parts := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Groups[2] > 1 })
					p, weights = lowerFor(t, floor, g)
					require.Equal(t, runPlan(t, d, p, weights, inputs), got)
					ran[fmt.Sprint(key.Elem, key.Window, parts)] = true
				})
			}
		}
		require.NotEmpty(t, types)
		for elem := range types {
			for _, window := range []bool{false, true} {
				for _, parts := range []bool{false, true} {
					require.True(t, ran[fmt.Sprint(elem, window, parts)], "%s, a window: %v, sums in parts: %v", elem, window, parts)
				}
			}
		}
	})
}

// TestMatrixBatches: products of batches by cooperative matrices are those of tiles in shared memory, to the bit.
func TestMatrixBatches(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts := d.Facts()
		if len(facts.Matrices) == 0 && !vktest.Required("matrix") {
			t.Skip("no cooperative matrices; tools/setup.sh matrix unpacks a lavapipe that has them")
		}
		ran := 0
		for k := shaders.Kernel(1); k.Valid(); k++ {
			key, ok := k.Key().(family.Gemm)
			if !ok || key.Matrix == (family.Matrix{}) || key.Window || key.Elem == family.Q8 || facts.Lacks(k.Info(), facts.Workgroup(k.Info(), 0)) != nil {
				continue
			}
			typ := map[family.Elem]nn.OperandType{family.F32: nn.TensorFloat32, family.F16: nn.TensorFloat16}[key.Elem]
			for _, c := range []Products{{typ, true, 2, 1, 1, 7}, {typ, true, 3, 35, 67, 40}, {typ, true, 5, 33, 131, 64}, {typ, true, 1, 70, 5, 479}} {
				t.Run(fmt.Sprint(k, c), func(t *testing.T) {
					g := &ir.Graph{Relaxed: true}
					tensor := func(shape ...int) ir.ID { return g.Add(ir.Tensor{Type: typ, Shape: shape}) }
					g.Inputs = []ir.ID{tensor(c.Batch, c.Rows, c.Depth), tensor(c.Batch, c.Units, c.Depth)}
					g.Outputs = []ir.ID{tensor(c.Batch, c.Rows, c.Units)}
					g.Nodes = []ir.Node{{Op: nn.OpBatchMatmul, In: g.Inputs, Out: g.Outputs, Attrs: ops.BatchMatmul{Right: true}}}
					rng := rand.New(rand.NewPCG(uint64(c.Depth), 7))
					inputs := [][]byte{matrixInput(g.T(g.Inputs[0]), rng), matrixInput(g.T(g.Inputs[1]), rng)}
					p, weights := lowerFor(t, onlyProducts(facts, func(other shaders.Kernel, _ family.Gemm) bool { return other == k }), g)
					require.Contains(t, p.Pipelines(), plan.Pipeline{Kernel: k, Local: facts.Workgroup(k.Info(), 0)})
					got := runPlan(t, d, p, weights, inputs)
					p, weights = lowerFor(t, onlyProducts(facts, func(_ shaders.Kernel, key family.Gemm) bool { return key.Rows }), g)
					require.Equal(t, runPlan(t, d, p, weights, inputs), got)
					ran++
				})
			}
		}
		require.NotZero(t, ran)
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
		{"long sums of few", f, nn.TensorFloat16, false, 7, 7, 2048, 512, 1, "conv_matrix_f16_16x16x16_64x64", "sums in 16 parts"},
		{"a window with long sums", f, nn.TensorFloat16, false, 14, 14, 256, 256, 3, "conv_matrix_window_f16_16x16x16_128x128", "sums in "},
		{"a window", f, nn.TensorFloat16, false, 56, 56, 64, 256, 3, "conv_matrix_window_f16_16x16x16_128x128", "128x128"},
		{"8 bits", f, nn.TensorQuant8Asymm, false, 56, 56, 64, 256, 3, "conv_matrix_window_q8_16x16x32_64x64_wzp", "16x16x32 s8 to s32"},
		{"floats", f, nn.TensorFloat32, false, 56, 56, 64, 256, 1, "conv_gemm_f32_shared_128x128", "shared memory"},
		{"relaxed floats", f, nn.TensorFloat32, true, 56, 56, 64, 256, 1, "conv_matrix_f32_16x16x16_128x128", "128x128"},
		{"one row", f, nn.TensorFloat16, false, 1, 1, 64, 16, 1, "conv_gemm_f16_shared_1x8", "share the sums of a row"},
		{"software", cpu, nn.TensorFloat16, false, 56, 56, 64, 256, 1, "conv_gemm_f16_8x8_texel", "floats of 16 bits"},
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
				p, ok := Quick(&f, &plan.Step{Kernel: k})
				require.True(t, ok)
				quick := p.Kernel.Key().(family.Gemm)
				require.Equal(t, [2]int{1, 8}, [2]int{quick.M, quick.N})
				require.Equal(t, family.Matrix{}, quick.Matrix)
				require.Equal(t, key.Elem, quick.Elem)
			}
		}
	}
}
