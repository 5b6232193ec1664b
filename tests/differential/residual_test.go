package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// residualCase is a convolution, of groups or with a filter that is an input, and an ADD of its result.
type residualCase struct {
	name        string
	in          nn.Dims // NHWC
	co, k       int
	groups      int // 0: none
	fed         bool
	other       string // the other operand of the ADD: "input", "x" or "convolution"
	second      bool   // the convolution is the second operand
	act, before nn.Activation
	read        bool // the result of the convolution is read elsewhere
	adds        bool // the kernel of floats of these sizes does the ADD
}

var residualCases = []residualCase{
	{name: "an input", in: nn.Dims{1, 8, 8, 32}, co: 64, k: 1, other: "input", adds: true},
	{name: "what the convolution reads", in: nn.Dims{2, 9, 7, 61}, co: 61, k: 1, other: "x", second: true, act: nn.ActRelu, adds: true},
	{name: "another convolution", in: nn.Dims{1, 11, 13, 19}, co: 67, k: 1, other: "convolution", act: nn.ActRelu6, adds: true},
	{name: "a window", in: nn.Dims{3, 5, 7, 13}, co: 13, k: 3, other: "x", act: nn.ActRelu1, adds: true},
	{name: "one channel", in: nn.Dims{1, 33, 9, 5}, co: 1, k: 1, other: "input", second: true, adds: true},
	{name: "long sums", in: nn.Dims{1, 6, 7, 530}, co: 37, k: 1, other: "input", act: nn.ActRelu, adds: true},
	{name: "groups", in: nn.Dims{1, 9, 11, 64}, co: 64, k: 3, groups: 2, other: "x", adds: true},
	{name: "a filter at run time", in: nn.Dims{1, 7, 9, 40}, co: 45, k: 1, fed: true, other: "input", adds: true},
	{name: "one row", in: nn.Dims{1, 1, 1, 331}, co: 67, k: 1, other: "input", act: nn.ActRelu6},
	{name: "groups that are no tiles", in: nn.Dims{1, 9, 11, 6}, co: 6, k: 3, groups: 2, other: "x", act: nn.ActRelu},
	{name: "an activation before", in: nn.Dims{1, 8, 8, 32}, co: 64, k: 1, other: "input", before: nn.ActRelu},
	{name: "a sum that is read twice", in: nn.Dims{1, 8, 8, 32}, co: 64, k: 1, other: "input", read: true},
}

func (c *residualCase) model(f format, rng *rand.Rand) *nn.Model {
	var b layers.Builder
	typ, out := f.data, nn.Dims{c.in[0], c.in[1], c.in[2], uint32(c.co)}
	var xq, rq layers.Quant // of the input and of what is added
	var wq layers.Quant
	bias := nn.Operand{Type: typ, Dims: nn.Dims{uint32(c.co)}}
	switch typ {
	case nn.TensorQuant8Asymm:
		xq, wq, rq = layers.Quant{Scale: 0.02, Zero: 117}, layers.Quant{Scale: 0.01, Zero: 131}, layers.Quant{Scale: 0.03, Zero: 90}
	case nn.TensorQuant8AsymmSigned:
		xq, wq, rq = layers.Quant{Scale: 0.02, Zero: -11}, layers.Quant{Scale: 0.01, Zero: 3}, layers.Quant{Scale: 0.03, Zero: -30}
	}
	if typ.IsQuant8() {
		bias.Type, bias.Scale = nn.TensorInt32, xq.Scale*wq.Scale
	}
	if f.filter == nn.TensorQuant8PerChannel {
		bias.Scale = 0
	}
	filter := func(dims nn.Dims) uint32 {
		switch {
		case c.fed:
			return b.Input(f.filter, dims, wq.Scale, wq.Zero)
		case f.filter == nn.TensorQuant8PerChannel:
			scales := make([]float32, c.co)
			for i := range scales {
				scales[i] = 0.005 + 0.002*float32(i%5)
			}
			return b.PerChannel(dims, scales, 0, RandomValue(f.filter, dims, rng))
		}
		return b.Const(f.filter, dims, wq.Scale, wq.Zero, RandomValue(f.filter, dims, rng))
	}
	x := b.Input(typ, c.in, xq.Scale, xq.Zero)
	convolution := func(q layers.Quant) uint32 {
		dims := nn.Dims{uint32(c.co), uint32(c.k), uint32(c.k), c.in[3] / uint32(max(c.groups, 1))}
		w, v := filter(dims), b.Const(bias.Type, bias.Dims, bias.Scale, 0, RandomValue(bias.Type, bias.Dims, rng))
		a := layers.Conv{Padding: nn.PaddingSame, Act: c.before}
		if c.groups > 0 {
			return b.GroupedConv2D(x, w, v, c.groups, a, q)
		}
		return b.Conv2D(x, w, v, a, q)
	}
	sum, other := convolution(layers.Quant{Scale: 0.05, Zero: rq.Zero - 5}), x
	switch c.other {
	case "input":
		other = b.Input(typ, out, rq.Scale, rq.Zero)
	case "convolution":
		other = convolution(rq)
	}
	if c.read {
		b.Output(b.Maximum(sum, sum))
	}
	if c.second {
		sum, other = other, sum
	}
	b.Output(b.Add(sum, other, c.act, layers.Quant{Scale: 0.07, Zero: rq.Zero + 9}))
	return nntest.Build(&b.Builder)
}

// TestConvAdds: on devices counted as GPUs convolutions add residuals themselves where they go through shared memory or
// cooperative matrices, with the bits that an ADD behind them gives.
func TestConvAdds(t *testing.T) {
	t.Setenv("NNGPU_CLASS", "gpu")
	t.Setenv("NNGPU_SELFTEST", "off") // all variants at once
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, tc := range residualCases {
			for _, f := range formats {
				for _, relaxed := range []bool{false, true} {
					if relaxed && f.data != nn.TensorFloat32 || tc.fed && f.filter == nn.TensorQuant8PerChannel {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/relaxed=%v", tc.name, f.name, relaxed), func(t *testing.T) {
						m := tc.model(f, rand.New(rand.NewPCG(uint64(i), 1)))
						m.RelaxFloat32 = relaxed
						kernels, outputs := ran(t, d, m, uint64(i))
						list := strings.Join(kernels, " ")
						adder := strings.Contains(list, "_matrix_") || strings.Contains(list, "_shared_") && !strings.Contains(list, "_shared_1x8")
						adds := adder && !tc.read && tc.before == nn.ActNone
						if f.data.IsQuant8() { // what it needs lies behind the constants of the channels
							adds = adds && !tc.fed
						} else {
							require.Equal(t, tc.adds, adds, list)
						}
						require.Equal(t, !adds, strings.Contains(list, "binary_add"), list)
						c := convCase{in: tc.in, kh: tc.k, kw: tc.k}
						tol := convTolerance(&c, f)
						if strings.Contains(list, "_matrix_") {
							tol = matrixTolerance(&c, f)
						}
						Compare(t, d, m, tol, uint64(i))
						if adds {
							apart := tc
							apart.read = true
							m := apart.model(f, rand.New(rand.NewPCG(uint64(i), 1)))
							m.RelaxFloat32 = relaxed
							kernels, both := ran(t, d, m, uint64(i))
							if tc.other != "convolution" { // which does it then
								require.Contains(t, strings.Join(kernels, " "), "binary_add")
							}
							require.Equal(t, both[1], outputs[0])
						}
					})
				}
			}
		}
	})
}
