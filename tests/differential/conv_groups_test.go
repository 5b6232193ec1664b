package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/devices"
)

// grouping is a convolution in groups, or a transposed one where there are none.
type grouping struct {
	in             nn.Dims // NHWC
	co, kh, kw     int
	groups         int
	stride         [2]int
	pad            ops.Pad
	same           bool
	act            nn.Activation
	fedFilter, fed bool // an input of the model: the filter; filter and bias
}

// groupings have groups of one channel, of less than a quad, across quads and of many, filters larger and smaller than strides.
var groupings = []grouping{
	{in: nn.Dims{1, 5, 4, 3}, co: 3, kh: 3, kw: 3, groups: 3, stride: unit, same: true},
	{in: nn.Dims{2, 7, 5, 6}, co: 9, kh: 2, kw: 3, groups: 3, stride: [2]int{2, 1}, act: nn.ActRelu6},
	{in: nn.Dims{1, 6, 7, 10}, co: 4, kh: 3, kw: 1, groups: 2, stride: unit, pad: ops.Pad{Top: 2, Left: 1, Right: 3}, fed: true},
	{in: nn.Dims{1, 6, 7, 40}, co: 38, kh: 3, kw: 3, groups: 2, stride: [2]int{1, 2}, same: true, act: nn.ActRelu},
	{in: nn.Dims{1, 9, 8, 51}, co: 21, kh: 1, kw: 1, groups: 3, stride: unit},
	{in: nn.Dims{1, 3, 3, 64}, co: 64, kh: 3, kw: 3, groups: 4, stride: unit, pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}, fedFilter: true},
	{in: nn.Dims{1, 5, 6, 7}, co: 5, kh: 3, kw: 3, groups: 1, stride: unit, same: true},
	// Of whole quads and tiles; then not, of many channels.
	{in: nn.Dims{2, 5, 6, 48}, co: 32, kh: 3, kw: 2, groups: 4, stride: [2]int{1, 2}, same: true},
	{in: nn.Dims{1, 5, 6, 24}, co: 96, kh: 3, kw: 3, groups: 6, stride: unit, same: true, act: nn.ActRelu, fed: true},
	{in: nn.Dims{1, 1, 9, 520}, co: 128, kh: 1, kw: 1, groups: 2, stride: unit, fedFilter: true},
	{in: nn.Dims{1, 1, 2, 8}, co: 16, kh: 1, kw: 1, groups: 2, stride: unit, fed: true},
	{in: nn.Dims{1, 6, 7, 40}, co: 38, kh: 3, kw: 3, groups: 2, stride: unit, same: true, fed: true},
	// Of enough work for Winograd's algorithm.
	{in: nn.Dims{1, 27, 25, 72}, co: 144, kh: 3, kw: 3, groups: 3, stride: unit, same: true, act: nn.ActRelu},
	{in: nn.Dims{1, 27, 25, 72}, co: 144, kh: 3, kw: 3, groups: 3, stride: unit, same: true, fed: true},
	{in: nn.Dims{1, 21, 23, 38}, co: 71, kh: 3, kw: 3, stride: unit, same: true, fedFilter: true}, // transposed

	{in: nn.Dims{1, 5, 4, 3}, co: 4, kh: 3, kw: 3, stride: unit, same: true, act: nn.ActRelu1},
	{in: nn.Dims{1, 6, 7, 19}, co: 17, kh: 2, kw: 5, stride: unit, pad: ops.Pad{Top: 1, Left: 1, Right: 2}, fed: true},
	{in: nn.Dims{1, 6, 7, 5}, co: 3, kh: 2, kw: 2, stride: unit, pad: ops.Pad{Top: 3, Bottom: 2}, fedFilter: true},
	{in: nn.Dims{1, 4, 9, 40}, co: 6, kh: 3, kw: 3, stride: unit, same: true, fedFilter: true},
	{in: nn.Dims{1, 6, 7, 19}, co: 17, kh: 2, kw: 5, stride: unit, pad: ops.Pad{Top: 1, Left: 1, Right: 2}},
	{in: nn.Dims{1, 6, 7, 5}, co: 3, kh: 2, kw: 2, stride: unit, pad: ops.Pad{Top: 3, Bottom: 2}}, // pads more than a convolution can
	{in: nn.Dims{2, 4, 5, 6}, co: 5, kh: 3, kw: 3, stride: [2]int{2, 2}, same: true},
	{in: nn.Dims{1, 4, 3, 9}, co: 7, kh: 5, kw: 2, stride: [2]int{2, 3}, pad: ops.Pad{Top: 2, Bottom: 1, Left: 1}, act: nn.ActRelu},
	{in: nn.Dims{1, 3, 4, 5}, co: 6, kh: 1, kw: 2, stride: [2]int{3, 4}}, // pixels that nothing reaches
	{in: nn.Dims{1, 5, 4, 8}, co: 4, kh: 4, kw: 4, stride: [2]int{2, 2}, same: true, fed: true},
	{in: nn.Dims{1, 5, 4, 8}, co: 4, kh: 3, kw: 3, stride: unit, same: true, fedFilter: true},
	{in: nn.Dims{1, 1, 1, 37}, co: 11, kh: 1, kw: 1, stride: unit},
}

var unit = [2]int{1, 1}

func (c *grouping) model(f format, nchw bool, rng *rand.Rand) *nn.Model {
	var b layers.Builder
	in, x := c.in, of(f.data, 0, nil)
	if nchw {
		in = nn.Dims{in[0], in[3], in[1], in[2]}
	}
	input := b.Input(f.data, in, x.scale, x.zero)
	dims := nn.Dims{uint32(c.co), uint32(c.kh), uint32(c.kw), c.in[3] / uint32(max(1, c.groups))}
	w, biasType, biasScale := of(f.filter, 1, nil), f.data, float32(0)
	if f.data.IsQuant8() {
		biasType, biasScale = nn.TensorInt32, x.scale*w.scale
	}
	var filter uint32
	if f.filter == nn.TensorQuant8PerChannel {
		scales := make([]float32, c.co)
		for i := range scales {
			scales[i] = 0.005 + 0.002*float32(i%5)
		}
		filter, biasScale = b.PerChannel(dims, scales, 0, RandomValue(f.filter, dims, rng)), 0
	} else {
		filter = b.Const(f.filter, dims, w.scale, w.zero, RandomValue(f.filter, dims, rng))
	}
	bias := b.Const(biasType, nn.Dims{uint32(c.co)}, biasScale, 0, RandomValue(biasType, nn.Dims{uint32(c.co)}, rng))
	conv := layers.Conv{Pad: c.pad, Stride: c.stride, Act: c.act, NCHW: nchw}
	if c.same {
		conv.Padding = nn.PaddingSame
	}
	q := layers.Quant{}
	if f.data.IsQuant8() {
		q.Scale, q.Zero = 0.07, x.zero-3
	}
	if c.groups > 0 {
		b.Output(b.GroupedConv2D(input, filter, bias, c.groups, conv, q))
	} else {
		var shape []int
		if c.same {
			shape = []int{int(c.in[0]), int(c.in[1])*c.stride[0] - c.stride[0] + 1, int(c.in[2]) * c.stride[1], c.co} // the least and the most
			if nchw {
				shape = []int{shape[0], shape[3], shape[1], shape[2]}
			}
		}
		b.Output(b.TransposeConv2D(input, filter, bias, shape, conv, q))
	}
	m := nntest.Build(&b.Builder)
	if c.fed || c.fedFilter {
		feed(m, filter)
	}
	if c.fed {
		feed(m, bias)
	}
	return m
}

// feed makes constant x an input.
func feed(m *nn.Model, x uint32) {
	o := &m.Main.Operands[x]
	o.Lifetime, o.Location = nn.SubgraphInput, nn.Location{}
	m.Main.Inputs = append(m.Main.Inputs, x)
}

// TestGroupedAndTransposed: both convolutions in every type, layout and form, with constants and inputs.
func TestGroupedAndTransposed(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range groupings {
			for _, f := range formats {
				for _, nchw := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%s/nchw=%v", tc, f.name, nchw), func(t *testing.T) {
						tc.compare(t, d, f, nchw, uint64(i))
					})
				}
			}
		}
	})
}

func (c *grouping) compare(t *testing.T, d *driver.Device, f format, nchw bool, seed uint64) {
	terms := convCase{in: c.in, kh: c.kh, kw: c.kw}
	Compare(t, d, c.model(f, nchw, rand.New(rand.NewPCG(seed, 5))), convTolerance(&terms, f), seed)
}

// TestGroupedAndTransposedSweep: random shapes and parameters.
func TestGroupedAndTransposedSweep(t *testing.T) {
	eachSeed(t, 150, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		n := func(most int) int { return 1 + rng.IntN(most) }
		c := grouping{
			kh: n(4), kw: n(4), stride: [2]int{n(3), n(3)}, same: rng.IntN(2) == 0, act: nn.Activation(rng.IntN(4)),
			fed: rng.IntN(4) == 0, fedFilter: rng.IntN(4) == 0,
		}
		c.in = nn.Dims{uint32(n(2)), uint32(c.kh + rng.IntN(6)), uint32(c.kw + rng.IntN(6)), uint32(n(20))}
		c.co = n(20)
		if seed%2 == 0 {
			c.groups = n(5)
			c.in[3], c.co = c.in[3]*uint32(c.groups), c.co*c.groups
		}
		if !c.same && c.kh > 1 {
			c.pad = ops.Pad{Top: rng.IntN(2), Bottom: rng.IntN(c.kh - 1)}
		}
		f := oneOf(rng, formats)
		t.Logf("%+v %s", c, f.name)
		c.compare(t, d, f, rng.IntN(2) == 0, seed)
	})
}

// TestTransposedToAShapeOfTheRequest: the shape of the result that each request gives anew.
func TestTransposedToAShapeOfTheRequest(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		rng := rand.New(rand.NewPCG(3, 3))
		var b nn.Builder
		constant := func(dims nn.Dims) uint32 {
			return b.Const(nn.TensorFloat32, dims, 0, 0, RandomValue(nn.TensorFloat32, dims, rng))
		}
		image := nn.Dims{1, 3, 4, 2}
		x, shape := b.Input(nn.TensorFloat32, image, 0, 0), b.Input(nn.TensorInt32, nn.Dims{4}, 0, 0)
		y := b.Temp(nn.TensorFloat32, nn.Dims{0, 0, 0, 0}, 0, 0)
		b.Op(nn.OpTransposeConv2D, []uint32{x, constant(nn.Dims{5, 3, 3, 2}), constant(nn.Dims{5}), shape,
			b.Scalar(nn.PaddingSame), b.Scalar(2), b.Scalar(2), b.Scalar(nn.ActNone), b.Scalar(false)}, []uint32{y})
		b.Output(y)
		m := nntest.Build(&b)
		pm, err := client.PrepareModel(context.Background(), m)
		require.NoError(t, err)
		for _, sizes := range [][]int32{{1, 6, 8, 5}, {1, 5, 7, 5}, {1, 5, 8, 5}} {
			runOpen(t, pm, m, [][]byte{RandomValue(nn.TensorFloat32, image, rng), int32Bytes(sizes)}, false)
		}
		for _, sizes := range [][]int32{{1, 4, 8, 5}, {1, 6, 9, 5}, {2, 6, 8, 5}, {1, 6, 8, 4}, {1, 0, 8, 5}, {1, 6, -8, 5}} {
			_, err := pm.Run(t.Context(), [][]byte{RandomValue(nn.TensorFloat32, image, rng), int32Bytes(sizes)}, [][]byte{make([]byte, 1<<14)})
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v: %v", sizes, err)
		}
	})
}
