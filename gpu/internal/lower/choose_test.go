package lower

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// convNode is a convolution of h x w pixels with a constant filter of k x k.
func convNode(typ nn.OperandType, h, w, ci, co, k int) *ir.Graph {
	g := &ir.Graph{}
	x := ir.Tensor{Type: typ, Shape: []int{1, h, w, ci}, Scale: 0.5}
	filter := ir.Tensor{Type: typ, Shape: []int{co, k, k, ci}, Scale: 0.5, Const: make([]byte, co*k*k*ci*typ.Bytes())}
	bias := ir.Tensor{Type: typ, Shape: []int{co}, Const: make([]byte, co*typ.Bytes())}
	if typ.IsQuant8() {
		bias = ir.Tensor{Type: nn.TensorInt32, Shape: []int{co}, Scale: 0.25, Const: make([]byte, 4*co)}
	}
	y := ir.Tensor{Type: typ, Shape: []int{1, h, w, co}, Scale: 0.5}
	in := []ir.ID{g.Add(x), g.Add(filter), g.Add(bias)}
	out := g.Add(y)
	pad := (k - 1) / 2
	g.Inputs, g.Outputs = in[:1], []ir.ID{out}
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: in, Out: g.Outputs, Attrs: ops.Conv{
		Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: pad, Bottom: k - 1 - pad, Left: pad, Right: k - 1 - pad},
	}}}
	return g
}

// TestChosenProducts: the variant of a matrix product for a device and a shape.
func TestChosenProducts(t *testing.T) {
	cpu := softwareFacts
	cpu.IntegerDot, cpu.StorageTexelRGBA32F, cpu.SharedBytes = true, true, 32<<10
	narrow, stores, gpu := cpu, cpu, cpu
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	stores.TexelStores = true
	gpu.Class, gpu.SubgroupSize, gpu.IntegerDotFast = plan.ClassGPU, 32, true
	quads := narrow
	quads.SubgroupOps = family.SubgroupQuad
	blocks, few, quick := quads, quads, quads
	blocks.MaxBlocks, few.MaxBlocks = 1<<16, 60
	quick.MaxBlocks, quick.Quick = 1<<16, true
	slow := gpu
	slow.IntegerDotFast = false
	without := func(f plan.Facts, list string) plan.Facts {
		require.NoError(t, f.Without(list))
		return f
	}
	for _, tc := range []struct {
		name           string
		f              plan.Facts
		typ            nn.OperandType
		h, w, ci, co   int
		k              int
		kernel, reason string
	}{
		{"wide subgroups", cpu, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_8x16_texel", "tile 8x16: subgroups of 8 lanes or more"},
		{"narrow subgroups", narrow, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_8x8_texel", "fewer than 8 lanes"},
		{"quads", quads, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_quad_12x8_texel", "four invocations share"},
		{"quads in a window", quads, nn.TensorFloat32, 14, 14, 4, 32, 3, "conv_gemm_window_f32_quad_12x8_texel", "four invocations share"},
		{"quads beyond a texel buffer", quads, nn.TensorFloat32, 128, 129, 16, 32, 1, "conv_gemm_f32_quad_12x8", "four invocations share"},
		{"quads of which half have nothing to do", quads, nn.TensorFloat32, 14, 14, 64, 16, 1, "conv_gemm_f32_8x8_texel", "fewer than 8 lanes"},
		{"quads for few rows", quads, nn.TensorFloat32, 2, 3, 64, 128, 1, "conv_gemm_f32_quad_12x8_texel", "four invocations share"},
		{"quads for one row", quads, nn.TensorFloat32, 1, 1, 64, 128, 1, "conv_gemm_f32_1x8_texel", "fewer than 4 rows"},
		{"quads of bytes", quads, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_quad_12x8", "four invocations share"},
		{"quads of half floats", quads, nn.TensorFloat16, 14, 14, 64, 128, 1, "conv_gemm_f16_quad_12x8", "four invocations share"},
		{"blocks", blocks, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_blocks_2x32_texel", "weights in blocks"},
		{"blocks in a window", blocks, nn.TensorFloat32, 14, 14, 4, 32, 3, "conv_gemm_window_f32_blocks_2x32_texel", "weights in blocks"},
		{"blocks beyond a texel buffer", blocks, nn.TensorFloat32, 128, 129, 16, 32, 1, "conv_gemm_f32_blocks_2x32_texel", "weights in blocks"},
		{"blocks beyond a texel buffer, in a window", blocks, nn.TensorFloat32, 128, 129, 16, 32, 2, "conv_gemm_window_f32_blocks_2x32", "weights in blocks"},
		{"blocks without texels", without(blocks, "texel"), nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_blocks_2x32", "weights in blocks"},
		{"blocks that are half empty", blocks, nn.TensorFloat32, 14, 14, 64, 16, 1, "conv_gemm_f32_blocks_2x32_texel", "weights in blocks"},
		{"blocks for one row", blocks, nn.TensorFloat32, 1, 1, 64, 128, 1, "conv_gemm_f32_1x8_texel", "fewer than 4 rows"},
		{"blocks of half floats", blocks, nn.TensorFloat16, 14, 14, 64, 128, 1, "conv_gemm_f16_blocks_2x32", "weights in blocks"},
		{"bytes have no blocks", blocks, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_quad_12x8", "four invocations share"},
		{"more blocks than the device has", few, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_quad_12x8_texel", "four invocations share"},
		{"a device without blocks", without(blocks, "blocks"), nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_quad_12x8_texel", "four invocations share"},
		{"blocks take too long to compile", quick, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_1x8_texel", "quick"},
		{"an input beyond a texel buffer", narrow, nn.TensorFloat32, 128, 129, 16, 32, 1, "conv_gemm_f32_8x8", "score"},
		{"one row", cpu, nn.TensorFloat32, 1, 1, 64, 128, 1, "conv_gemm_f32_1x8_texel", "fewer than 4 rows"},
		{"few channels", cpu, nn.TensorFloat32, 14, 14, 64, 8, 1, "conv_gemm_f32_8x8_texel", "at most 8 output channels"},
		{"a window with little work", cpu, nn.TensorFloat32, 14, 14, 4, 32, 3, "conv_gemm_window_f32_8x8_texel", "little work"},
		{"slow stores", stores, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_8x16_texel_store", "8x16"},
		{"half floats", cpu, nn.TensorFloat16, 14, 14, 64, 128, 1, "conv_gemm_f16_8x8_texel", "floats of 16 bits"},
		{"dot products", cpu, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_dot_8x16_wzp", "packed dot products are fast"},
		{"dot products on narrow vectors", narrow, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_8x8", "float sums"},
		{"dot products without texels", without(cpu, "texel"), nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_8x8", "float sums"},
		{"no texels", without(cpu, "texel"), nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_8x16", "8x16"},
		{"a gpu", gpu, nn.TensorFloat32, 14, 14, 64, 128, 1, "conv_gemm_f32_shared_32x32", "shared memory"},
		{"a gpu, large matrices", gpu, nn.TensorFloat32, 128, 32, 1024, 4096, 1, "conv_gemm_f32_shared_128x128", "tile 128x128"},
		{"a gpu, many pixels", gpu, nn.TensorFloat16, 112, 112, 64, 64, 1, "conv_gemm_f16_shared_64x64", "tile 64x64"},
		{"a gpu, long sums of few pixels", gpu, nn.TensorFloat32, 7, 7, 2048, 512, 1, "conv_gemm_f32_shared_64x64_split", "in 16 parts"},
		{"a gpu, a window in half floats", gpu, nn.TensorFloat16, 14, 14, 64, 128, 3, "conv_gemm_window_f16_shared_128x128_split", "in 15 parts"},
		{"a gpu, one row", gpu, nn.TensorFloat16, 1, 1, 2048, 1000, 1, "conv_gemm_f16_shared_1x8", "share the sums of a row"},
		{"a gpu, dot products", gpu, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_dot_shared_32x32_wzp", "packed dot products are fast"},
		{"a gpu, slow dot products", slow, nn.TensorQuant8Asymm, 14, 14, 64, 128, 1, "conv_gemm_q8_dot_shared_32x32_wzp", "packed dot products, which are slow"},
		{"a gpu without shared memory", without(gpu, "shared"), nn.TensorFloat32, 7, 7, 64, 128, 1, "conv_gemm_f32_1x8_texel", "fills the device best"},
		{"a gpu without shared memory, many pixels", without(gpu, "shared"), nn.TensorFloat32, 112, 112, 64, 128, 1, "conv_gemm_f32_8x16_texel", "8x16"},
		{"a gpu, few pixels and channels", gpu, nn.TensorFloat32, 2, 3, 64, 20, 1, "conv_gemm_f32_shared_1x8", "of a row"},
		{"a gpu with small workgroups", func() plan.Facts { f := gpu; f.MaxLocal[1] = 4; return f }(), nn.TensorFloat32, 112, 112, 64, 128, 1, "conv_gemm_f32_8x16_texel", "8x16"},
		{"a filter beyond the binding", func() plan.Facts { f := gpu; f.MaxStorageRange = 1 << 18; return f }(), nn.TensorFloat32, 112, 112, 300, 256, 1, "conv_gemm_f32_8x8_texel", "8x8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := lowerFor(t, tc.f, convNode(tc.typ, tc.h, tc.w, tc.ci, tc.co, tc.k))
			var kernels []string
			for _, s := range p.Steps {
				if _, ok := s.Kernel.Key().(family.Gemm); ok {
					kernels = append(kernels, s.Kernel.String())
					require.Contains(t, s.Why, tc.reason)
					require.Contains(t, s.Why, "score ")
					require.NoError(t, tc.f.Lacks(s.Kernel.Info(), s.Local))
				}
			}
			require.NotEmpty(t, kernels)
			require.Equal(t, tc.kernel, kernels[0])
		})
	}
}

// TestLargeSums: sums of bytes that floats could not scale exactly are flushed to integers, those of depthwise ones shifted.
func TestLargeSums(t *testing.T) {
	narrow := softwareFacts
	narrow.SubgroupSize = 4
	product := convNode(nn.TensorQuant8Asymm, 14, 14, 64, 128, 1)
	depthwise := depthwiseNode(nn.TensorQuant8Asymm, 1, 14, 14, 8, 1, ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}, rand.New(rand.NewPCG(1, 2)))
	for _, tc := range []struct {
		g            *ir.Graph
		small, large string
	}{
		{product, "conv_gemm_q8_8x8", "conv_gemm_q8_8x8_flush"},
		{depthwise, "conv_depthwise_q8_k3s1_walk", "conv_depthwise_q8_k3s1_walk_shift"},
	} {
		kernel := func() string {
			p, _ := lowerFor(t, narrow, tc.g)
			i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return strings.HasPrefix(s.Kernel.String(), "conv_") })
			return strings.Replace(p.Steps[i].Kernel.String(), "_texel", "", 1)
		}
		bias := tc.g.T(tc.g.Nodes[0].In[2]).Const
		clear(bias)
		require.Equal(t, tc.small, kernel())
		binary.LittleEndian.PutUint32(bias[4:], 1<<23)
		require.Equal(t, tc.large, kernel(), "one bias is enough")
	}
}

// TestQuadsAreOfOneGroup: tiles that share what they read are of channels that read the same.
func TestQuadsAreOfOneGroup(t *testing.T) {
	f := softwareFacts
	f.SubgroupSize, f.SubgroupOps = 4, family.SubgroupQuad
	g := convNode(nn.TensorFloat32, 14, 14, 64, 128, 3)
	n := &g.Nodes[0]
	filter := g.T(n.In[1])
	n.Op, n.Attrs = nn.OpGroupedConv2D, ops.GroupedConv{Conv: n.Attrs.(ops.Conv), Groups: 4}
	filter.Shape, filter.Const = []int{128, 3, 3, 16}, filter.Const[:128*9*16*4]
	p, _ := lowerFor(t, f, g)
	for _, s := range p.Steps {
		if k, ok := s.Kernel.Key().(family.Gemm); ok {
			require.False(t, k.Quad)
			return
		}
	}
	t.Fatal("no product")
}

// TestChosenMoves: how kernels that move and fold data read it, by device and shape.
func TestChosenMoves(t *testing.T) {
	cpu := softwareFacts
	narrow, gpu := cpu, cpu
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	gpu.Class, gpu.SubgroupSize = plan.ClassGPU, 32
	bytes := func(shape ...int) ir.Tensor {
		return ir.Tensor{Type: nn.TensorQuant8Asymm, Shape: shape, Scale: 1.0 / 256}
	}
	columns := ops.Mean{Axes: []int{0}}
	for _, tc := range []struct {
		name    string
		f       plan.Facts
		op      nn.OperationType
		attrs   ops.Attrs
		in, out ir.Tensor
		kernel  string
	}{
		{"groups", cpu, nn.OpReduceMax, columns, bytes(40, 4096), bytes(1, 4096), "fold_max_column_q8_q8_wide_texel"},
		{"rows that end within one", cpu, nn.OpReduceMax, columns, bytes(40, 4100), bytes(1, 4100), "fold_max_column_q8_q8"},
		{"few columns", cpu, nn.OpReduceMax, columns, bytes(40, 2048), bytes(1, 2048), "fold_max_column_q8_q8"},
		{"groups beyond a texel buffer", narrow, nn.OpReduceMax, columns, bytes(257, 4096), bytes(1, 4096), "fold_max_column_q8_q8_wide"},
		{"groups on a gpu", gpu, nn.OpReduceMax, columns, bytes(40, 4096), bytes(1, 4096), "fold_max_column_q8_q8"},
		{"sums", cpu, nn.OpMean, columns, bytes(40, 4096), bytes(1, 4096), "sum_column_q8_q8_wide_texel"},
		{"sums of narrow subgroups", narrow, nn.OpMean, columns, bytes(40, 4096), bytes(1, 4096), "sum_column_q8_q8"},
		{"floats", cpu, nn.OpMean, columns, floatTensor(40, 64), floatTensor(1, 64), "sum_column_f32_f32_texel"},
		{"floats on a gpu", gpu, nn.OpMean, columns, floatTensor(40, 64), floatTensor(1, 64), "sum_column_f32_f32"},
		{"blocks", cpu, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, bytes(256, 512), bytes(512, 256), "data_transpose_wide_texel"},
		{"blocks that end early", cpu, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, bytes(252, 512), bytes(512, 252), "data_transpose_e1_texel"},
		{"blocks of narrow subgroups", narrow, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, bytes(256, 512), bytes(512, 256), "data_transpose_e1"},
		{"floats turned", narrow, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, floatTensor(256, 512), floatTensor(512, 256), "data_transpose_e4_texel"},
		{"floats turned beyond a texel buffer", narrow, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, floatTensor(1024, 512), floatTensor(512, 1024),
			"data_transpose_e4"},
		{"floats turned on a gpu", gpu, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, floatTensor(256, 512), floatTensor(512, 256), "data_transpose_e4"},
		{"rows of softmax", cpu, nn.OpSoftmax, ops.Softmax{Beta: 1, Axis: 1}, bytes(256, 64), bytes(256, 64), "softmax_row_q8_wide_texel"},
		{"few rows of softmax", cpu, nn.OpSoftmax, ops.Softmax{Beta: 1, Axis: 1}, bytes(2, 64), bytes(2, 64), "softmax_row_q8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := lowerFor(t, tc.f, singleNode(ir.Node{Op: tc.op, Attrs: tc.attrs}, tc.out, tc.in))
			require.NotEmpty(t, slices.DeleteFunc(p.Steps, func(s plan.Step) bool { return s.Kernel.String() != tc.kernel }))
		})
	}
}

func TestSlabs(t *testing.T) {
	for _, tc := range []struct {
		limit, count, texels int
		want                 [][2]int
	}{
		{100, 7, 10, [][2]int{{0, 7}}},
		{70, 7, 10, [][2]int{{0, 7}}},
		{69, 7, 10, [][2]int{{0, 6}, {6, 7}}},
		{29, 7, 10, [][2]int{{0, 2}, {2, 4}, {4, 6}, {6, 7}}},
		{10, 3, 10, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{65536, 1, 65536, [][2]int{{0, 1}}},
		{1 << 32, 5, 1 << 20, [][2]int{{0, 5}}},
	} {
		require.Equal(t, tc.want, slabs(int64(tc.limit), tc.count, tc.texels))
	}
}

// TestBlocksOfAPlan: one plan takes half of the storage buffers that a device has for arrays; products behind that read texels.
func TestBlocksOfAPlan(t *testing.T) {
	f := softwareFacts
	f.SubgroupSize, f.SubgroupOps, f.MaxBlocks = 4, family.SubgroupQuad, 2*3*32 // for three filters of 64 by 128 channels
	g := convNode(nn.TensorFloat32, 14, 14, 64, 128, 1)
	n := g.Nodes[0]
	for i := range 4 {
		filter, y := *g.T(n.In[1]), *g.T(n.Out[0])
		filter.Const = slices.Clone(filter.Const)
		filter.Const[0] = byte(i + 1) // no two are the same
		more := n
		more.In, more.Out = []ir.ID{n.In[0], g.Add(filter), n.In[2]}, []ir.ID{g.Add(y)}
		g.Nodes, g.Outputs = append(g.Nodes, more), append(g.Outputs, more.Out[0])
	}
	p, _ := lowerFor(t, f, g)
	var blocks []bool
	for _, s := range p.Steps {
		if k, ok := s.Kernel.Key().(family.Gemm); ok {
			blocks = append(blocks, k.Blocks)
		}
	}
	require.Equal(t, []bool{true, true, true, false, false}, blocks)
}
