package differential

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// kernelsOf runs m and returns the kernels that ran.
func kernelsOf(t *testing.T, d *driver.Device, m *nn.Model, seed uint64) []string {
	t.Helper()
	list, _ := ran(t, d, m, seed)
	return list
}

// ran is what ran of m, and its outputs.
func ran(t *testing.T, d *driver.Device, m *nn.Model, seed uint64) (kernels []string, outputs [][]byte) {
	t.Helper()
	client, err := d.NewClient(t.Name())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	pm, err := client.PrepareModel(context.Background(), m)
	require.NoError(t, err)
	outputs = pm.NewOutputs()
	r, err := pm.Run(context.Background(), RandomInputs(m, rand.New(rand.NewPCG(seed, 7))), outputs, driver.WithProfile())
	require.NoError(t, err)
	for _, row := range r.Profile().Rows {
		if row.Kernel != "" {
			kernels = append(kernels, row.Kernel)
		}
	}
	return kernels, outputs
}

// sharedCases end tiles of 32 to 128 pixels and channels and steps of 16 and 32 inputs early, each in its own way.
var sharedCases = []convCase{
	{name: "whole tiles", in: nn.Dims{1, 8, 8, 32}, co: 64, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "pixels end early", in: nn.Dims{1, 3, 11, 16}, co: 64, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu6},
	{name: "channels end early", in: nn.Dims{1, 4, 8, 16}, co: 113, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "channels end within a quad", in: nn.Dims{1, 5, 7, 20}, co: 61, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu},
	{name: "inputs end early", in: nn.Dims{1, 8, 8, 89}, co: 64, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "one input", in: nn.Dims{1, 8, 8, 1}, co: 48, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "one input and output", in: nn.Dims{2, 5, 5, 1}, co: 1, kh: 3, kw: 3, stride: 1, dilation: 1, same: true},
	{name: "batches", in: nn.Dims{3, 5, 7, 13}, co: 67, kh: 3, kw: 3, stride: 1, dilation: 1, same: true},
	{name: "stride", in: nn.Dims{1, 23, 19, 10}, co: 130, kh: 3, kw: 3, stride: 2, dilation: 1, same: true, act: nn.ActRelu1},
	{name: "dilation", in: nn.Dims{2, 17, 13, 6}, co: 41, kh: 5, kw: 2, stride: 1, dilation: 3, same: true},
	{name: "valid", in: nn.Dims{1, 41, 9, 3}, co: 59, kh: 2, kw: 7, stride: 1, dilation: 1},
	{name: "one pixel of a window", in: nn.Dims{1, 5, 7, 23}, co: 31, kh: 5, kw: 7, stride: 1, dilation: 1, act: nn.ActRelu},
	{name: "one row", in: nn.Dims{1, 1, 1, 331}, co: 67, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu6},
	{name: "three rows", in: nn.Dims{3, 1, 1, 37}, co: 5, kh: 1, kw: 1, stride: 1, dilation: 1},
	{name: "long sums", in: nn.Dims{1, 6, 7, 530}, co: 37, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu},
	{name: "fed filter", in: nn.Dims{2, 6, 5, 19}, co: 33, kh: 3, kw: 3, stride: 1, dilation: 1, same: true, fed: true},
	{name: "fed filter, 1x1", in: nn.Dims{1, 7, 9, 67}, co: 45, kh: 1, kw: 1, stride: 1, dilation: 1, fed: true, act: nn.ActRelu},
}

// TestConvInSharedMemory: the variants that devices counted as GPUs choose for these sizes, and on devices that are none what
// they choose where they must.
func TestConvInSharedMemory(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("NNGPU_SELFTEST", "off") // all variants at once
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		ran := map[string]bool{}
		for i, tc := range sharedCases {
			for _, f := range formats {
				for _, nchw := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/nchw=%v", tc.name, f.name, nchw), func(t *testing.T) {
						m := tc.model(f, nchw, rand.New(rand.NewPCG(uint64(i), 1)))
						list := kernelsOf(t, d, m, uint64(i))
						if !f.data.IsQuant8() { // those of few bytes are worth no dot products where these are slow
							require.Contains(t, strings.Join(list, " "), "_shared_")
						}
						for _, k := range list {
							ran[k] = true
						}
						Compare(t, d, m, convTolerance(&tc, f), uint64(i))
					})
				}
			}
		}
		for _, part := range []string{"_shared_1x8", "_shared_32x32", "_split", "_rows", "conv_gemm_sum_f32", "conv_gemm_sum_f16", "_dot_shared_"} {
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(ran)), func(k string) bool { return strings.Contains(k, part) }), part)
		}
	})
}

// TestProductsAtOnce: devices counted as GPUs compute a batch of matrix products in one dispatch.
func TestProductsAtOnce(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("NNGPU_SELFTEST", "off") // all variants at once
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range []struct {
			batch       nn.Dims
			m, k, n     uint32
			left, right bool // swapped
		}{
			{nn.Dims{2}, 1, 1, 1, false, false},
			{nn.Dims{3}, 7, 67, 5, false, true},
			{nn.Dims{2, 3}, 33, 19, 65, false, false},
			{nn.Dims{5}, 37, 64, 31, true, false},
			{nn.Dims{8}, 128, 64, 128, false, true},
			{nn.Dims{1, 2}, 3, 130, 2, true, true},
		} {
			for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16} {
				t.Run(fmt.Sprintf("%v/%v", tc, typ), func(t *testing.T) {
					matrix := func(rows, columns uint32, swapped bool) tensor {
						if swapped {
							rows, columns = columns, rows
						}
						return of(typ, 0, append(slices.Clone(tc.batch), rows, columns))
					}
					rng := rand.New(rand.NewPCG(uint64(i), 3))
					x, y := matrix(tc.m, tc.k, tc.left), matrix(tc.k, tc.n, tc.right)
					m := oneOp(nn.OpBatchMatmul, []tensor{x, y}, of(typ, 0, append(slices.Clone(tc.batch), tc.m, tc.n)), rng, func(b *nn.Builder) []uint32 {
						return []uint32{b.Scalar(tc.left), b.Scalar(tc.right)}
					})
					products := slices.DeleteFunc(kernelsOf(t, d, m, uint64(i)), func(k string) bool { return !strings.HasPrefix(k, "conv_") })
					require.Len(t, products, 1)
					require.Contains(t, products[0], "_rows")
					CompareOn(t, d, m, RandomInputs(m, rng), ToleranceOf(typ))
				})
			}
		}
	})
}

// TestWithout: convolutions of all kinds on devices that lack features, and none of the kernels that need them.
func TestWithout(t *testing.T) {
	for _, tc := range []struct{ without, class, never string }{
		{"shared", "gpu", "_shared_"},
		{"subgroup", "", "_8x16"},
		{"int8", "", "none"},
		{"f16", "", "none"},
		{"dot", "", "_dot_"},
		{"blocks", "", "_blocks_"},
		{"texel", "", "_texel"},
		{"shared,subgroup,int8,f16,dot,texel", "gpu", "_shared_"},
		{"shared,subgroup,int8,f16,dot,texel", "", "_dot_"},
	} {
		t.Run(tc.without+" "+tc.class, func(t *testing.T) {
			t.Setenv("NNGPU_WITHOUT", tc.without)
			t.Setenv("NNGPU_CLASS", tc.class)
			if tc.class == "gpu" {
				t.Setenv("NNGPU_SELFTEST", "off") // all variants at once
			}
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for i, c := range convCases {
					for _, f := range formats {
						t.Run(c.name+"/"+f.name, func(t *testing.T) {
							m := c.model(f, false, rand.New(rand.NewPCG(uint64(i), 1)))
							for _, k := range kernelsOf(t, d, m, uint64(i)) {
								require.NotContains(t, k, tc.never)
							}
							Compare(t, d, m, convTolerance(&c, f), uint64(i))
						})
					}
				}
			})
		})
	}
}

// TestConvByWinograd: sizes for which software devices choose it, which end tiles, quads and batches early.
func TestConvByWinograd(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range []convCase{
			{name: "same", in: nn.Dims{2, 41, 37, 27}, co: 29, kh: 3, kw: 3, stride: 1, dilation: 1, same: true, act: nn.ActRelu6},
			{name: "valid", in: nn.Dims{1, 23, 58, 67}, co: 35, kh: 3, kw: 3, stride: 1, dilation: 1, act: nn.ActRelu},
		} {
			for _, f := range formats[:2] {
				for _, nchw := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/nchw=%v", tc.name, f.name, nchw), func(t *testing.T) {
						m := tc.model(f, nchw, rand.New(rand.NewPCG(uint64(i), 1)))
						require.Contains(t, strings.Join(kernelsOf(t, d, m, uint64(i)), " "), "_winograd_")
						Compare(t, d, m, convTolerance(&tc, f), uint64(i))
					})
				}
			}
		}
	})
}
