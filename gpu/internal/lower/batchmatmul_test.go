package lower

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// productsNode is batch products of m*k by k*n; rows: the right matrices are turned.
func productsNode(typ nn.OperandType, batch, m, k, n int, rows bool) *ir.Graph {
	w := []int{batch, k, n}
	if rows {
		w = []int{batch, n, k}
	}
	operand := func(shape ...int) ir.Tensor { return ir.Tensor{Type: typ, Shape: shape, Scale: 0.5, Zero: 3} }
	bias := ir.Tensor{Type: typ, Shape: []int{n}, Const: make([]byte, n*typ.Bytes())}
	y := operand(batch, m, n)
	if typ.IsQuant8() {
		bias = ir.Tensor{Type: nn.TensorInt32, Shape: []int{n}, Scale: 0.25, Const: make([]byte, 4*n)}
		y.Scale = 100
	}
	g := singleNode(ir.Node{Op: nn.OpBatchMatmul, Attrs: ops.BatchMatmul{Right: rows}}, y, operand(batch, m, k), operand(w...), bias)
	g.Inputs = g.Inputs[:2]
	return g
}

// TestProductsTogether: how many dispatches products become, and that none copies its matrices.
func TestProductsTogether(t *testing.T) {
	wide := softwareFacts
	wide.IntegerDot, wide.StorageTexelRGBA32F = true, true
	narrow := wide
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	for _, tc := range []struct {
		name           string
		f              plan.Facts
		typ            nn.OperandType
		batch, m, k, n int
		rows           bool
		kernels        []string
	}{
		{"in place", wide, nn.TensorFloat32, 4, 67, 509, 507, false, []string{"conv_gemm_f32_8x16_columns_texel"}},
		{"in place, a texel buffer each", narrow, nn.TensorFloat32, 2, 67, 509, 507, false, []string{"conv_gemm_f32_8x8_columns_texel", "conv_gemm_f32_8x8_columns_texel"}},
		{"in place, three in a texel buffer", narrow, nn.TensorFloat32, 5, 67, 301, 285, false, []string{"conv_gemm_f32_8x8_columns_texel", "conv_gemm_f32_8x8_columns_texel"}},
		{"too little to read in place", wide, nn.TensorFloat32, 4, 67, 61, 63, false, []string{"conv_pack_columns_f32_texel", "conv_gemm_f32_8x16_texel"}},
		{"many rows", wide, nn.TensorFloat32, 4, 335, 335, 220, false, []string{"conv_pack_columns_f32_texel", "conv_gemm_f32_8x16_texel"}},
		{"turned", wide, nn.TensorFloat32, 4, 67, 509, 507, true, []string{"conv_pack_f32_texel", "conv_gemm_f32_8x16_texel"}},
		{"half floats", wide, nn.TensorFloat16, 4, 67, 509, 507, false, []string{"conv_pack_columns_f16", "conv_gemm_f16_8x8_texel"}},
		{"8 bits", wide, nn.TensorQuant8AsymmSigned, 4, 67, 509, 507, false, []string{"conv_pack_columns_q8", "conv_channels_columns", "conv_gemm_q8_dot_8x16_wzp"}},
		{"8 bits, two in a texel buffer", narrow, nn.TensorQuant8AsymmSigned, 4, 67, 509, 807, false, []string{"conv_pack_columns_q8", "conv_channels_columns", "conv_gemm_q8_8x8_flush", "conv_gemm_q8_8x8_flush"}},
		{"8 bits, in slabs", narrow, nn.TensorQuant8AsymmSigned, 1, 67, 509, 2207, false, []string{"conv_pack_columns_q8", "conv_channels_columns", "conv_gemm_q8_8x8_flush", "conv_gemm_q8_8x8_flush"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := lowerFor(t, tc.f, productsNode(tc.typ, tc.batch, tc.m, tc.k, tc.n, tc.rows))
			var got []string
			for i := range p.Steps {
				if s := &p.Steps[i]; s.Transfers == 0 {
					got = append(got, s.Kernel.String())
				}
			}
			require.Equal(t, tc.kernels, got)
		})
	}
}

// TestProductsInGroups: results are the same however many products a dispatch has, and wherever their rows begin.
func TestProductsInGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8AsymmSigned} {
			for _, rows := range []bool{false, true} {
				g := productsNode(typ, 5, 13, 63, 117, rows)
				var inputs [][]byte
				for _, id := range g.Inputs {
					var data []byte
					for range g.T(id).Elements() {
						if v := rng.IntN(9) - 4; typ == nn.TensorFloat32 {
							data = append(data, bytesOfF32([]float32{float32(v)})...)
						} else {
							data = append(data, byte(v))
						}
					}
					inputs = append(inputs, data)
				}
				run := func(texels int64) []byte {
					f := d.Facts()
					f.MaxTexelElements = min(f.MaxTexelElements, texels)
					p, weights := lowerFor(t, f, g)
					return runPlan(t, d, p, weights, inputs)[0]
				}
				want := run(1 << 16)
				for _, texels := range []int64{4 << 10, 8 << 10, 16 << 10} {
					require.Equal(t, want, run(texels), fmt.Sprint(typ, rows, texels))
				}
			}
		}
	})
}
