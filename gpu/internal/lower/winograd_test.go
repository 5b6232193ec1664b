package lower

import (
	"encoding/binary"
	"fmt"
	"math"
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

// windowCase is a convolution of 3x3 and stride 1.
type windowCase struct {
	n, h, w, ci, co          int
	top, bottom, left, right int // padding
	act                      nn.Activation
}

func (c windowCase) String() string {
	return fmt.Sprintf("%dx%dx%dx%d to %d, padding %d %d %d %d, %v", c.n, c.h, c.w, c.ci, c.co, c.top, c.bottom, c.left, c.right, c.act)
}

// graph of c with random constants, and an input for it.
func (c windowCase) graph(typ nn.OperandType, r *rand.Rand) (g *ir.Graph, x []float64) {
	g = &ir.Graph{}
	add := func(constant bool, spread float64, shape ...int) (ir.ID, []float64) {
		t := ir.Tensor{Type: typ, Shape: shape}
		v := make([]float64, t.Elements())
		for i := range v {
			v[i] = r.NormFloat64() * spread
		}
		bytes := floatBytes(typ, v)
		if constant {
			t.Const = bytes
		}
		return g.Add(t), floatValues(typ, bytes)
	}
	in, x := add(false, 1, c.n, c.h, c.w, c.ci)
	filter, _ := add(true, 1/math.Sqrt(float64(9*c.ci)), c.co, 3, 3, c.ci)
	bias, _ := add(true, 0.1, c.co)
	out := g.Add(ir.Tensor{Type: typ, Shape: []int{c.n, c.h + c.top + c.bottom - 2, c.w + c.left + c.right - 2, c.co}})
	g.Inputs, g.Outputs = []ir.ID{in}, []ir.ID{out}
	g.Nodes = []ir.Node{{Op: nn.OpConv2D, In: []ir.ID{in, filter, bias}, Out: g.Outputs, Attrs: ops.Conv{
		Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Act: c.act, Pad: ops.Pad{Top: c.top, Bottom: c.bottom, Left: c.left, Right: c.right},
	}}}
	return g, x
}

func floatBytes(typ nn.OperandType, v []float64) (b []byte) {
	for _, x := range v {
		if typ == nn.TensorFloat16 {
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(x)))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		}
	}
	return b
}

func floatValues(typ nn.OperandType, b []byte) (v []float64) {
	if typ == nn.TensorFloat16 {
		for i := 0; i < len(b); i += 2 {
			v = append(v, float64(nn.Half(binary.LittleEndian.Uint16(b[i:])).Float32()))
		}
		return v
	}
	for _, x := range f32OfBytes(b) {
		v = append(v, float64(x))
	}
	return v
}

// want is the convolution in float64.
func (c windowCase) want(g *ir.Graph, x []float64) []float64 {
	t := g.T(g.Nodes[0].In[1])
	w, bias := floatValues(t.Type, t.Const), floatValues(t.Type, g.T(g.Nodes[0].In[2]).Const)
	y := g.T(g.Outputs[0])
	var out []float64
	for i := range y.Elements() / c.co {
		n, oy, ox := i/(y.Shape[1]*y.Shape[2]), i/y.Shape[2]%y.Shape[1], i%y.Shape[2]
		for o := range c.co {
			sum := bias[o]
			for tap := range 9 {
				iy, ix := oy+tap/3-c.top, ox+tap%3-c.left
				if iy < 0 || iy >= c.h || ix < 0 || ix >= c.w {
					continue
				}
				for k := range c.ci {
					sum += x[((n*c.h+iy)*c.w+ix)*c.ci+k] * w[(o*9+tap)*c.ci+k]
				}
			}
			switch c.act {
			case nn.ActRelu:
				sum = max(sum, 0)
			case nn.ActRelu6:
				sum = min(max(sum, 0), 6)
			}
			out = append(out, sum)
		}
	}
	return out
}

// winogradPlan lowers g by F(m, 3), whatever its score is.
func winogradPlan(t *testing.T, f plan.Facts, g *ir.Graph, m int) (*plan.Plan, []byte) {
	t.Helper()
	return lowerBy(t, f, g, func(b *emit.Builder, c *conv) bool {
		w, ok := winogradOf(&f, c, m)
		return ok && lowerWinograd(b, w)
	})
}

// lowerBy lowers g, which is a convolution, by do.
func lowerBy(t *testing.T, f plan.Facts, g *ir.Graph, do func(b *emit.Builder, c *conv) bool) (*plan.Plan, []byte) {
	t.Helper()
	b := emit.NewBuilder(&f, g)
	in, out, hostBytes := b.PlaceIO()
	b.LoadInputs()
	b.Begin("convolution")
	require.True(t, do(b, convOf(g, &g.Nodes[0])))
	b.StoreOutputs()
	p, packed, err := b.Finish()
	require.NoError(t, err)
	weights, err := packed.Bytes()
	require.NoError(t, err)
	p.Inputs, p.Outputs, p.HostBytes, p.Segments = in, out, hostBytes+plan.Align, []int{len(p.Steps)}
	require.NoError(t, p.Verify())
	return p, weights
}

var windowCases = []windowCase{
	{1, 1, 1, 1, 1, 1, 1, 1, 1, nn.ActNone},
	{1, 3, 3, 4, 4, 0, 0, 0, 0, nn.ActNone},
	{1, 8, 8, 16, 16, 1, 1, 1, 1, nn.ActRelu},
	{2, 7, 5, 3, 67, 1, 1, 1, 1, nn.ActRelu6},
	{3, 13, 11, 67, 5, 1, 1, 1, 1, nn.ActNone},
	{1, 41, 2, 9, 17, 0, 2, 2, 1, nn.ActRelu},
	{2, 6, 19, 33, 35, 2, 0, 0, 2, nn.ActNone},
	{1, 27, 29, 20, 24, 1, 1, 1, 1, nn.ActNone},
	{3, 5, 5, 64, 61, 0, 0, 0, 0, nn.ActRelu},
}

// TestWinograd: odd images, paddings, channels and batches; with texel buffers so small that filters go in slabs and images
// in bands, and without any. F(4, 3) may lose a digit more.
func TestWinograd(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		own := d.Facts()
		small, stores, buffers := own, own, own
		small.MaxTexelElements = min(own.MaxTexelElements, 4096)
		stores.TexelStores = own.StorageTexelRGBA32F
		require.NoError(t, buffers.Without("texel"))
		for name, f := range map[string]plan.Facts{"own": own, "small": small, "stores": stores, "buffers": buffers} {
			for i, c := range windowCases {
				for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16} {
					for _, m := range []int{2, 4} {
						t.Run(fmt.Sprintf("%s/%v %v F(%d,3)", name, c, typ, m), func(t *testing.T) {
							g, x := c.graph(typ, rand.New(rand.NewPCG(uint64(i), 5)))
							p, weights := winogradPlan(t, f, g, m)
							got := floatValues(typ, runPlan(t, d, p, weights, [][]byte{floatBytes(typ, x)})[0])
							delta := map[int]float64{2: 4e-6, 4: 1e-5}[m]
							if typ == nn.TensorFloat16 {
								delta = 4e-3
							}
							require.InDeltaSlice(t, c.want(g, x), got, delta)
						})
					}
				}
			}
		}
	})
}

// interleaved joins the rows of parts, each of so many elements.
func interleaved(parts [][]float64, size int) (all []float64) {
	for at := 0; at < len(parts[0]); at += size {
		for _, p := range parts {
			all = append(all, p[at:at+size]...)
		}
	}
	return all
}

// TestWinogradOfGroups: the channels of c as each of several groups, as convolutions of their own beside each other.
func TestWinogradOfGroups(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		own := d.Facts()
		small, buffers := own, own
		small.MaxTexelElements = min(own.MaxTexelElements, 4096)
		require.NoError(t, buffers.Without("texel"))
		for name, f := range map[string]plan.Facts{"own": own, "small": small, "buffers": buffers} {
			for _, tc := range []struct {
				c      windowCase
				groups int
			}{
				{windowCase{1, 8, 8, 16, 16, 1, 1, 1, 1, nn.ActRelu}, 2},
				{windowCase{2, 7, 5, 4, 8, 1, 1, 1, 1, nn.ActNone}, 5},
				{windowCase{1, 21, 19, 20, 24, 0, 1, 2, 1, nn.ActRelu6}, 3},
				{windowCase{1, 13, 40, 64, 32, 1, 1, 1, 1, nn.ActNone}, 3},
			} {
				for _, m := range []int{2, 4} {
					t.Run(fmt.Sprintf("%s/%d of %v F(%d,3)", name, tc.groups, tc.c, m), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(tc.groups), 8))
						var g *ir.Graph
						var xs, wants [][]float64
						var filter, bias []byte
						for range tc.groups {
							var x []float64
							g, x = tc.c.graph(nn.TensorFloat32, rng)
							in := g.Nodes[0].In
							xs, wants = append(xs, x), append(wants, tc.c.want(g, x))
							filter, bias = append(filter, g.T(in[1]).Const...), append(bias, g.T(in[2]).Const...)
						}
						n := &g.Nodes[0]
						n.Op, n.Attrs = nn.OpGroupedConv2D, ops.GroupedConv{Conv: n.Attrs.(ops.Conv), Groups: tc.groups}
						in, w, b, out := g.T(n.In[0]), g.T(n.In[1]), g.T(n.In[2]), g.T(n.Out[0])
						in.Shape[3], out.Shape[3] = tc.groups*tc.c.ci, tc.groups*tc.c.co
						w.Shape[0], w.Const, b.Shape[0], b.Const = out.Shape[3], filter, out.Shape[3], bias
						p, weights := winogradPlan(t, f, g, m)
						x := floatBytes(nn.TensorFloat32, interleaved(xs, tc.c.ci))
						got := floatValues(nn.TensorFloat32, runPlan(t, d, p, weights, [][]byte{x})[0])
						require.InDeltaSlice(t, interleaved(wants, tc.c.co), got, 1e-5)
					})
				}
			}
		}
	})
}

// TestWinogradInParts: the filter in slabs of points, the image in bands, each within what a texel buffer holds.
func TestWinogradInParts(t *testing.T) {
	narrow := softwareFacts
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	for _, tc := range []struct {
		c               windowCase
		m               int
		bands, products int // of all bands
	}{
		{windowCase{n: 1, h: 56, w: 56, ci: 64, co: 64, top: 1, bottom: 1, left: 1, right: 1}, 4, 2, 2},
		{windowCase{n: 1, h: 28, w: 28, ci: 128, co: 128, top: 1, bottom: 1, left: 1, right: 1}, 4, 1, 3},
		{windowCase{n: 1, h: 14, w: 14, ci: 256, co: 256, top: 1, bottom: 1, left: 1, right: 1}, 4, 1, 9},
		{windowCase{n: 1, h: 7, w: 7, ci: 512, co: 512, top: 1, bottom: 1, left: 1, right: 1}, 2, 1, 16},
		{windowCase{n: 1, h: 30, w: 30, ci: 260, co: 249, top: 1, bottom: 1, left: 1, right: 1}, 4, 3, 3 * 18},
	} {
		t.Run(fmt.Sprint(tc.c), func(t *testing.T) {
			g, _ := tc.c.graph(nn.TensorFloat32, rand.New(rand.NewPCG(1, 1)))
			p, _ := winogradPlan(t, narrow, g, tc.m)
			count := func(part string) (n int) {
				for _, s := range p.Steps {
					if strings.Contains(s.Kernel.String(), part) {
						n++
					}
				}
				return n
			}
			require.Equal(t, tc.bands, count("winograd_input"))
			require.Equal(t, tc.bands, count("winograd_output"))
			require.Equal(t, tc.products, count("gemm"))
		})
	}
}

// TestWinogradIsChosen where it was measured to be faster, and nowhere else.
func TestWinogradIsChosen(t *testing.T) {
	cpu := softwareFacts
	cpu.StorageTexelRGBA32F = true
	narrow, gpu, quick := cpu, cpu, cpu
	narrow.SubgroupSize, narrow.MaxTexelElements = 4, 65536
	gpu.Class, quick.Quick = plan.ClassGPU, true
	for _, tc := range []struct {
		name       string
		f          plan.Facts
		h, ci, co  int
		size, want int // of the window; of tiles, 0: none
	}{
		{"lavapipe", cpu, 56, 64, 64, 3, 4},
		{"swiftshader", narrow, 56, 64, 64, 3, 4},
		{"few tiles, slow products", narrow, 7, 512, 512, 3, 2},
		{"few tiles, slow memory", cpu, 7, 512, 512, 3, 0},
		{"a gpu", gpu, 56, 64, 64, 3, 0},
		{"a filter that is an input", cpu, 56, 64, 64, 3, 4},
		{"few tiles for a filter that is an input", narrow, 7, 512, 512, 3, 2},
		{"points beyond storage buffers of a filter that is an input", cpu, 28, 1024, 1024, 3, 0},
		{"a quick form", quick, 56, 64, 64, 3, 0},
		{"little work", cpu, 14, 32, 32, 3, 0},
		{"three channels", cpu, 224, 3, 32, 3, 0},
		{"another window", cpu, 56, 64, 64, 5, 0},
		{"a filter beyond texel buffers", narrow, 14, 1024, 1024, 3, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := convNode(nn.TensorFloat32, tc.h, tc.h, tc.ci, tc.co, tc.size)
			if strings.HasSuffix(tc.name, "that is an input") {
				fed(g)
			}
			p, _ := lowerFor(t, tc.f, g)
			at := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return strings.Contains(s.Kernel.String(), "winograd_input") })
			if tc.want == 0 {
				require.Negative(t, at)
				return
			}
			require.GreaterOrEqual(t, at, 0)
			require.Contains(t, p.Steps[at].Kernel.String(), fmt.Sprintf("_%dx%d", tc.want, tc.want))
			require.Contains(t, p.Steps[at].Why, "Winograd")
		})
	}
}
