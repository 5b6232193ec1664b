package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// shape is that of a convolution.
type shape struct {
	in              nn.Dims
	out, kh, kw     uint32
	stride, dilated int
	pad             int
	groups          int
	few             bool // rows, for which a filter that is known at run time only is worth no tiles
}

// sharedShapes end tiles of 32 to 128 pixels and channels, and steps of 8, 16 and 32 products, each in its own way.
var sharedShapes = []shape{
	{in: nn.Dims{1, 1, 1, 37}, out: 41, kh: 1, kw: 1, few: true},
	{in: nn.Dims{2, 5, 5, 33}, out: 1, kh: 1, kw: 1},
	{in: nn.Dims{3, 7, 9, 67}, out: 131, kh: 1, kw: 1},
	{in: nn.Dims{1, 16, 16, 64}, out: 128, kh: 1, kw: 1},
	{in: nn.Dims{1, 6, 5, 1}, out: 5, kh: 7, kw: 5, pad: 3},
	{in: nn.Dims{3, 7, 9, 13}, out: 67, kh: 3, kw: 3, pad: 1},
	{in: nn.Dims{1, 23, 19, 3}, out: 33, kh: 4, kw: 4, stride: 2, pad: 1},
	{in: nn.Dims{2, 17, 13, 6}, out: 29, kh: 3, kw: 2, dilated: 3, pad: 2},
	{in: nn.Dims{1, 5, 7, 23}, out: 9, kh: 5, kw: 7, few: true},
	{in: nn.Dims{2, 5, 3, 24}, out: 256, kh: 3, kw: 3, pad: 1, groups: 2},
}

// sharedModel has a convolution for each shape that k can do, with numbers as those of trials.
func sharedModel(k family.Gemm) (m *nn.Model, inputs [][]byte, err error) {
	b := &trialBuilder{rng: rand.New(rand.NewPCG(uint64(k.M), uint64(k.N)))}
	shapes := sharedShapes
	if k.Blocks { // rows that a texel buffer of SwiftShader holds no more than a part of
		shapes = append(slices.Clone(shapes), shape{in: nn.Dims{1, 128, 129, 18}, out: 33, kh: 1, kw: 1})
	}
	for _, s := range shapes {
		window := s.kh*s.kw > 1
		if products := int(s.kh*s.kw*s.in[3]) / max(1, s.groups); window != k.Window || k.Split && products <= 32 || k.Rows && (s.few || s.groups > 0) {
			continue
		}
		o := nn.Operand{Type: trialTypes[k.Elem], Dims: s.in}
		if k.Elem == family.Q8 {
			o.Scale, o.ZeroPoint = 0.5, 120
		}
		b.x = o
		x := b.Input(o.Type, o.Dims, o.Scale, o.ZeroPoint)
		inputs = append(inputs, b.values(o, true))
		c := layers.Conv{
			Pad:    ops.Pad{Top: s.pad, Bottom: s.pad, Left: s.pad, Right: s.pad},
			Stride: [2]int{max(1, s.stride), max(1, s.stride)}, Dilation: [2]int{max(1, s.dilated), max(1, s.dilated)},
		}
		dims := nn.Dims{s.out, s.kh, s.kw, s.in[3]}
		if s.groups > 0 {
			dims[3] /= uint32(s.groups)
			w, bias := b.filter(dims, s.out, 0, k.Elem == family.Q8 && !k.ZeroPoint)
			b.Output(b.GroupedConv2D(x, w, bias, s.groups, c, trialSums))
			continue
		}
		w, bias := b.filter(dims, s.out, 0, k.Elem == family.Q8 && !k.ZeroPoint)
		if k.Rows {
			filter := b.x
			filter.Dims = dims
			w = b.Input(filter.Type, dims, 0, 0)
			inputs = append(inputs, b.values(filter, false))
		}
		b.Output(b.Conv2D(x, w, bias, c, trialSums))
	}
	m, err = b.Build()
	return m, inputs, err
}

// TestSharedShapes: every variant through shared memory gives the bits of the floor for awkward shapes, and the same bits in
// every run.
func TestSharedShapes(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		facts := d.Facts()
		facts.Class, facts.IntegerDotFast, facts.Unified = plan.ClassGPU, true, false
		for _, k := range shaders.Variants[family.Gemm]() {
			if kernel := shaders.Of(k); k.Shared && k.M > 1 && facts.Lacks(kernel.Info(), kernel.Info().Workgroup) == nil {
				t.Run(kernel.String(), func(t *testing.T) { sameAsFloor(t, d, facts, k) })
			}
		}
	})
}

// TestBlockShapes: products whose filter is an array of storage buffers give the bits of the floor for awkward shapes, and the
// same bits in every run, on the device that they are for.
func TestBlockShapes(t *testing.T) {
	d := vktest.Open(t, vulkan.SwiftShader, vulkan.Options{})
	for _, k := range shaders.Variants[family.Gemm]() {
		if k.Blocks {
			t.Run(shaders.Of(k).String(), func(t *testing.T) { sameAsFloor(t, d, d.Facts(), k) })
		}
	}
}

func sameAsFloor(t *testing.T, d *vulkan.Device, facts plan.Facts, k family.Gemm) {
	m, inputs, err := sharedModel(k)
	require.NoError(t, err)
	compute := func(use func(family.Gemm) bool) (*plan.Plan, [][]byte) {
		facts := facts
		facts.Avoid = shaders.Set{}
		for _, other := range shaders.Variants[family.Gemm]() {
			if !use(other) {
				facts.Avoid.Add(shaders.Of(other))
			}
		}
		p, weights, err := compile.Model(t.Context(), &facts, m, nil)
		require.NoError(t, err)
		outputs := make([][]byte, len(m.Main.Outputs))
		for i, y := range m.Main.Outputs {
			size, err := m.Main.Operands[y].ByteSize()
			require.NoError(t, err)
			outputs[i] = make([]byte, size)
		}
		packed, err := weights.Bytes()
		require.NoError(t, err)
		require.NoError(t, runOnce(t.Context(), d, p, packed, vulkan.ExecutableOptions{}, inputs, outputs))
		return p, outputs
	}
	p, got := compute(func(other family.Gemm) bool { return other == k })
	ran := map[string]bool{} // by operation, of which one may be several steps
	for i := range p.Steps {
		if p.Steps[i].Kernel == shaders.Of(k) {
			ran[p.Steps[i].Label] = true
		}
	}
	require.Len(t, ran, len(got), "every shape by this kernel")
	_, want := compute(family.Gemm.Floor)
	for i := range want {
		require.Equal(t, want[i], got[i], fmt.Sprint(m.Main.Operands[m.Main.Outputs[i]].Dims))
	}
	_, again := compute(func(other family.Gemm) bool { return other == k })
	require.Equal(t, got, again)
}
