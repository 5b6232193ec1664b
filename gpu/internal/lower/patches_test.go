package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
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
	"github.com/nngpu/nngpu/shaders/family"
)

// patchCase is a convolution of few channels; padding is the same on all sides.
type patchCase struct {
	n, h, w, ci, co, kh, kw int
	stride, dilation        [2]int
	pad                     int
}

// graph of c, its input and what comes out by float64.
func (c patchCase) graph(r *rand.Rand) (g *ir.Graph, x, want []float64) {
	g = &ir.Graph{}
	add := func(constant bool, spread float64, shape ...int) (ir.ID, []float64) {
		t := ir.Tensor{Type: nn.TensorFloat32, Shape: shape}
		v := make([]float64, t.Elements())
		for i := range v {
			v[i] = float64(float32(r.NormFloat64() * spread))
		}
		if constant {
			t.Const = floatBytes(t.Type, v)
		}
		return g.Add(t), v
	}
	size := func(in, k, way int) int { return (in+2*c.pad-(k-1)*c.dilation[way]-1)/c.stride[way] + 1 }
	outH, outW := size(c.h, c.kh, 0), size(c.w, c.kw, 1)
	in, x := add(false, 1, c.n, c.h, c.w, c.ci)
	filter, w := add(true, 1/math.Sqrt(float64(c.kh*c.kw*c.ci)), c.co, c.kh, c.kw, c.ci)
	biases, bias := add(true, 0.1, c.co)
	out := g.Add(ir.Tensor{Type: nn.TensorFloat32, Shape: []int{c.n, outH, outW, c.co}})
	g.Inputs, g.Outputs = []ir.ID{in}, []ir.ID{out}
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: []ir.ID{in, filter, biases}, Out: g.Outputs, Attrs: ops.Conv{
		Stride: c.stride, Dilation: c.dilation, Act: nn.ActRelu, Pad: ops.Pad{Top: c.pad, Bottom: c.pad, Left: c.pad, Right: c.pad},
	}}}
	for i := range c.n * outH * outW {
		n, oy, ox := i/(outH*outW), i/outW%outH, i%outW
		for o := range c.co {
			sum := bias[o]
			for tap := range c.kh * c.kw {
				iy, ix := oy*c.stride[0]+tap/c.kw*c.dilation[0]-c.pad, ox*c.stride[1]+tap%c.kw*c.dilation[1]-c.pad
				for k := range c.ci {
					if iy >= 0 && iy < c.h && ix >= 0 && ix < c.w {
						sum += x[((n*c.h+iy)*c.w+ix)*c.ci+k] * w[(o*c.kh*c.kw+tap)*c.ci+k]
					}
				}
			}
			want = append(want, max(sum, 0))
		}
	}
	return g, x, want
}

var oneStep = [2]int{1, 1}

var patchCases = []patchCase{
	{1, 1, 1, 1, 1, 3, 3, oneStep, oneStep, 1},
	{1, 23, 19, 3, 32, 3, 3, [2]int{2, 2}, oneStep, 1},
	{2, 17, 33, 3, 61, 7, 7, [2]int{2, 2}, oneStep, 3},
	{3, 9, 11, 2, 5, 2, 3, oneStep, [2]int{2, 1}, 0},
	{1, 30, 30, 1, 67, 5, 5, oneStep, oneStep, 2},
	{2, 8, 21, 3, 20, 1, 4, [2]int{1, 3}, [2]int{1, 2}, 4},
	{1, 13, 12, 3, 17, 1, 1, [2]int{2, 2}, oneStep, 0},
	{2, 9, 11, 4, 5, 3, 3, oneStep, oneStep, 1},
	{1, 17, 12, 12, 33, 3, 3, [2]int{2, 2}, oneStep, 1},
	{1, 8, 21, 20, 7, 1, 4, [2]int{1, 3}, [2]int{1, 2}, 4},
	{1, 13, 12, 16, 17, 1, 1, [2]int{2, 2}, oneStep, 0},
	{3, 15, 6, 36, 61, 2, 3, oneStep, [2]int{2, 1}, 1},
}

// TestPatches: one to three channels or whole quads, odd images and windows, batches; whole, and in bands of what small texel buffers hold.
func TestPatches(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		own := d.Facts()
		small, quick, buffers := own, own, own
		small.MaxTexelElements, quick.Quick = min(own.MaxTexelElements, 4096), true
		require.NoError(t, buffers.Without("texel"))
		for name, f := range map[string]plan.Facts{"own": own, "small": small, "quick": quick, "buffers": buffers} {
			for i, c := range patchCases {
				t.Run(fmt.Sprintf("%s/%+v", name, c), func(t *testing.T) {
					g, x, want := c.graph(rand.New(rand.NewPCG(uint64(i), 6)))
					p, weights := lowerBy(t, f, g, func(b *emit.Builder, c *conv) bool {
						p, ok := patchesOf(&f, c)
						return ok && lowerPatches(b, p)
					})
					takers, products, pixels := 0, 0, len(want)/c.co
					for _, s := range p.Steps {
						switch s.Kernel.Key().(type) {
						case family.Patches:
							takers++
						case family.Gemm:
							products++
						}
					}
					require.Equal(t, 1, takers)
					if texels := pixels * (c.kh*c.kw*c.ci + 3) / 4; name == "small" && texels > 4096 {
						require.Greater(t, products, 1)
					} else {
						require.Equal(t, 1, products)
					}
					got := floatValues(nn.TensorFloat32, runPlan(t, d, p, weights, [][]byte{floatBytes(nn.TensorFloat32, x)})[0])
					require.InDeltaSlice(t, want, got, 4e-6)
				})
			}
		}
	})
}

// bytes is c of 8 bits, of any numbers, with zero points and an own scale for each channel where typ is signed.
func (c patchCase) bytes(typ nn.OperandType, rng *rand.Rand) (g *ir.Graph, x []byte) {
	size := func(in, k, way int) int { return (in+2*c.pad-(k-1)*c.dilation[way]-1)/c.stride[way] + 1 }
	in := ir.Tensor{Type: typ, Shape: []int{c.n, c.h, c.w, c.ci}, Scale: 0.5, Zero: 100}
	filter := ir.Tensor{Type: typ, Shape: []int{c.co, c.kh, c.kw, c.ci}, Scale: 0.25, Zero: 120}
	bias := ir.Tensor{Type: nn.TensorInt32, Shape: []int{c.co}, Const: make([]byte, 4*c.co)}
	out := ir.Tensor{Type: typ, Shape: []int{c.n, size(c.h, c.kh, 0), size(c.w, c.kw, 1), c.co}, Scale: 60, Zero: 90}
	if typ == nn.TensorQuant8AsymmSigned {
		filter.Type, filter.Zero, filter.Channel = nn.TensorQuant8PerChannel, 0, &nn.ChannelQuant{Scales: make([]float32, c.co)}
		for i := range filter.Channel.Scales {
			filter.Channel.Scales[i] = 0.1 + rng.Float32()
		}
	}
	for i := range c.co {
		bias.Const[4*i] = byte(rng.Uint32())
	}
	filter.Const, x = matrixInput(&filter, rng), matrixInput(&in, rng)
	g = &ir.Graph{}
	ids := []ir.ID{g.Add(in), g.Add(filter), g.Add(bias)}
	g.Inputs, g.Outputs = ids[:1], []ir.ID{g.Add(out)}
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: ids, Out: g.Outputs, Attrs: ops.Conv{
		Stride: c.stride, Dilation: c.dilation, Pad: ops.Pad{Top: c.pad, Bottom: c.pad, Left: c.pad, Right: c.pad},
	}}}
	return g, x
}

// TestPatchesOfBytes: as the kernel that reads filter and bias as they are, to the bit.
func TestPatchesOfBytes(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		own := d.Facts()
		small, quick, buffers, integer := own, own, own, own
		small.MaxTexelElements, quick.Quick = min(own.MaxTexelElements, 4096), true
		require.NoError(t, buffers.Without("texel"))
		require.NoError(t, integer.Without("dot"))
		for name, f := range map[string]plan.Facts{"own": own, "small": small, "quick": quick, "buffers": buffers, "sums of floats": integer} {
			for i, c := range patchCases {
				for _, typ := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned} {
					t.Run(fmt.Sprintf("%s/%v/%+v", name, typ, c), func(t *testing.T) {
						g, x := c.bytes(typ, rand.New(rand.NewPCG(uint64(i), 7)))
						p, weights := lowerBy(t, f, g, func(b *emit.Builder, c *conv) bool {
							p, ok := patchesOf(&f, c)
							return ok && lowerPatches(b, p)
						})
						got := runPlan(t, d, p, weights, [][]byte{x})
						p, weights = lowerBy(t, f, g, func(b *emit.Builder, c *conv) bool {
							lowerDirect(b, c.node, "")
							return true
						})
						require.Equal(t, runPlan(t, d, p, weights, [][]byte{x}), got)
					})
				}
			}
		}
	})
}

// TestPatchesAreChosen for fewer channels than a quad, on processors, and for whole quads that are multiplied with many, on
// those of 4 lanes.
func TestPatchesAreChosen(t *testing.T) {
	gpu, lanes4 := softwareFacts, softwareFacts
	gpu.Class, lanes4.SubgroupSize = plan.ClassGPU, 4
	for _, tc := range []struct {
		name         string
		f            plan.Facts
		typ          nn.OperandType
		h, ci, co, k int
		want         bool
	}{
		{"three channels", softwareFacts, nn.TensorFloat32, 40, 3, 16, 3, true},
		{"one channel", softwareFacts, nn.TensorFloat32, 40, 1, 16, 5, true},
		{"little work", softwareFacts, nn.TensorFloat32, 28, 1, 16, 5, false},
		{"a quad", softwareFacts, nn.TensorFloat32, 40, 4, 16, 3, false},
		{"one pixel", softwareFacts, nn.TensorFloat32, 40, 3, 16, 1, false},
		{"bytes", softwareFacts, nn.TensorQuant8Asymm, 40, 3, 16, 3, true},
		{"half floats", softwareFacts, nn.TensorFloat16, 40, 3, 16, 3, false},
		{"a gpu", gpu, nn.TensorFloat32, 40, 3, 16, 3, false},
		{"a large window", softwareFacts, nn.TensorFloat32, 40, 3, 16, 19, false},
		{"quads", lanes4, nn.TensorFloat32, 20, 8, 128, 5, true},
		{"quads, little work", lanes4, nn.TensorFloat32, 4, 4, 128, 3, false},
		{"quads, few channels", lanes4, nn.TensorFloat32, 20, 8, 124, 5, false},
		{"no whole quads", lanes4, nn.TensorFloat32, 20, 9, 128, 5, false},
		{"quads, one pixel", lanes4, nn.TensorFloat32, 40, 8, 128, 1, false},
		{"quads, 8 lanes", softwareFacts, nn.TensorFloat32, 20, 8, 128, 5, false},
		{"quads, half floats", lanes4, nn.TensorFloat16, 20, 8, 128, 5, false},
		{"quads, bytes", lanes4, nn.TensorQuant8Asymm, 20, 8, 16, 5, true},
		{"quads, bytes, few channels", lanes4, nn.TensorQuant8Asymm, 20, 8, 15, 5, false},
		{"quads, a gpu", gpu, nn.TensorFloat32, 20, 8, 128, 5, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := lowerFor(t, tc.f, convNode(tc.typ, tc.h, tc.h, tc.ci, tc.co, tc.k))
			found := false
			for _, s := range p.Steps {
				found = found || strings.HasPrefix(s.Kernel.String(), "conv_patches")
			}
			require.Equal(t, tc.want, found)
		})
	}
}
