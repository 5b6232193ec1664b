package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// trial is work for one kernel, and the same for its family's floor: sizes that end within tiles and quads, and numbers
// that floats of 16 bits hold exactly in all sums, so that their order does not matter.
type trial struct {
	input          []byte
	output         nn.Operand
	variant, floor contender
}

type contender struct {
	plan    *plan.Plan
	weights []byte
}

// newTrial returns the trial of k, which is varied. f is of the device.
func newTrial(f *plan.Facts, k shaders.Kernel) (*trial, error) {
	b := &trialBuilder{rng: rand.New(rand.NewPCG(1, 2))}
	y, err := b.model(k.Key())
	if err != nil {
		return nil, err
	}
	b.Output(y)
	m, err := b.Build()
	if err != nil {
		return nil, err
	}
	t := &trial{input: b.values(b.x, true), output: m.Main.Operands[y]}
	only := func(use func(shaders.Kernel) bool) (c contender, err error) {
		f := *f
		f.Avoid = shaders.Set{}
		for other := shaders.Kernel(1); other.Valid(); other++ {
			if _, ok := other.Key().(family.Varied); ok && !use(other) {
				f.Avoid.Add(other)
			}
		}
		p, weights, err := compile.Model(context.Background(), &f, m, nil)
		if err != nil {
			return c, err
		}
		c.plan = p
		c.weights, err = weights.Bytes()
		return c, err
	}
	if t.variant, err = only(func(other shaders.Kernel) bool { return other == k }); err != nil {
		return nil, err
	}
	if t.floor, err = only(func(other shaders.Kernel) bool { return !varied(other) }); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.variant.plan.Steps, func(s plan.Step) bool { return s.Kernel == k }) {
		return nil, fmt.Errorf("no work for %s", k)
	}
	return t, nil
}

// run computes c on d.
func (t *trial) run(ctx context.Context, d *vulkan.Device, c *contender, pause func(context.Context) error) ([]byte, error) {
	if err := pause(ctx); err != nil {
		return nil, err
	}
	size, err := t.output.ByteSize()
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	return out, runOnce(ctx, d, c.plan, c.weights, vulkan.ExecutableOptions{}, [][]byte{t.input}, [][]byte{out})
}

// same reports whether two results are: to the bit, but for roots, which devices round as they like.
func (t *trial) same(want, got []byte) bool {
	const rounding = 1e-5
	if t.output.Type != nn.TensorFloat32 {
		return bytes.Equal(want, got)
	}
	for i := 0; i < len(want); i += 4 {
		a := float64(math.Float32frombits(binary.LittleEndian.Uint32(want[i:])))
		b := float64(math.Float32frombits(binary.LittleEndian.Uint32(got[i:])))
		if !(math.Abs(a-b) <= rounding*math.Abs(a)) {
			return false
		}
	}
	return true
}

// trialBuilder builds the model of a trial, with x as its only input.
type trialBuilder struct {
	layers.Builder
	rng *rand.Rand
	x   nn.Operand
	far bool // one bias is so large that floats do not hold its sum exactly
}

var trialTypes = map[family.Elem]nn.OperandType{
	family.F32: nn.TensorFloat32, family.F16: nn.TensorFloat16, family.Q8: nn.TensorQuant8Asymm,
}

// trialChannels are those of the input: more than a step of any product has.
const trialChannels = 37

// model adds the operation and returns its result.
func (b *trialBuilder) model(key family.Key) (y uint32, err error) {
	switch k := key.(type) {
	case family.Gemm:
		return b.conv(k), nil
	case family.Depthwise:
		return b.depthwise(k), nil
	case family.Pool:
		pools := map[family.PoolOp]func(uint32, layers.Pool) uint32{
			family.Average: b.AveragePool2D, family.Maximum: b.MaxPool2D, family.L2: b.L2Pool2D,
		}
		return pools[k.Op](b.input(k.Elem), layers.Pool{Window: [2]int{2, 4}, Stride: [2]int{1, 1}}), nil
	case family.Bilinear:
		return b.ResizeBilinear(b.input(k.Elem), layers.Resize{Height: 14, Width: 18}), nil
	case family.Softmax:
		x := b.rows(k.Elem, k.Team)
		if k.Log {
			return b.LogSoftmax(x, 1, -1), nil
		}
		return b.Softmax(x, 1, -1), nil
	case family.Sum:
		if k.From != k.To { // what lies between two stages
			return b.Mean(b.rows(k.To, family.Subgroup), []int{0, 1}, true), nil
		}
		return b.Mean(b.rows(k.To, k.Team), []int{1}, true), nil
	}
	return 0, fmt.Errorf("no trial of %T", key)
}

// trialSums is how 8-bit results hold the sums of convolutions.
var trialSums = layers.Quant{Scale: 40, Zero: 128}

// conv adds a convolution of 63 pixels to 37 channels; for kernels of a single row a product with all values of the input,
// for those that bind a filter as it is one with parts of the input as the filter. What kernels of GPUs may do with sums,
// which is to add a tensor to them, is part of it.
func (b *trialBuilder) conv(k family.Gemm) (y uint32) {
	const channels = 37
	b.far = k.Flush
	x, values := b.input(k.Elem), 7*9*trialChannels
	switch {
	case k.Shared && k.M == 1:
		w, bias := b.filter(nn.Dims{channels, uint32(values)}, channels, 0, k.Elem == family.Q8 && !k.ZeroPoint)
		return b.FullyConnected(b.Reshape(x, 1, values), w, bias, nn.ActNone, trialSums)
	case k.Rows && k.Window:
		_, bias := b.filter(nn.Dims{7, 3, 3, trialChannels}, 7, 0, false)
		return b.Conv2D(x, b.Reshape(x, 7, 3, 3, trialChannels), bias, layers.Conv{Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}})
	case k.Rows:
		_, bias := b.filter(nn.Dims{7 * 9, trialChannels}, 7*9, 0, false)
		rows := b.Reshape(x, 7*9, trialChannels)
		if k.Shared {
			return b.FullyConnected(rows, rows, bias, nn.ActNone)
		}
		_, bias = b.filter(nn.Dims{64, trialChannels}, 64, 0, false)
		return b.FullyConnected(rows, b.Pad(rows, [][2]int{{0, 1}, {0, 0}}), bias, nn.ActNone)
	}
	if k.Columns { // a product with all values of the input on both sides, of which so many are worth it
		turned := b.Reshape(x, trialChannels, 7*9)
		return b.BatchMatmul(b.Reshape(x, 7*9, trialChannels), turned, false, false)
	}
	perChannel := k.Elem == family.Q8 && !k.ZeroPoint
	product := func(size uint32, c layers.Conv) uint32 {
		w, bias := b.filter(nn.Dims{channels, size, size, trialChannels}, channels, 0, perChannel)
		return b.Conv2D(x, w, bias, c, trialSums)
	}
	added := func(y uint32) uint32 {
		if !k.Shared && k.Matrix == (family.Matrix{}) {
			return y
		}
		return b.Add(y, x, nn.ActNone, trialSums)
	}
	around := func(n int) layers.Conv { return layers.Conv{Pad: ops.Pad{Top: n, Bottom: n, Left: n, Right: n}} }
	switch {
	case k.Matrix == (family.Matrix{}) && k.Window:
		return added(product(3, around(1)))
	case k.Matrix == (family.Matrix{}):
		return added(product(1, layers.Conv{}))
	}
	// One with short sums, which are whole, and one with long sums, which are in parts.
	if k.Elem == family.F32 {
		b.Relax() // what else is computed with more precision is the same: floats of 16 bits hold it
	}
	if k.Window {
		short, long := product(1, layers.Conv{Stride: [2]int{2, 2}}), added(product(5, around(2)))
		return b.Concatenation(0, []uint32{b.Reshape(short, 4*5*channels), b.Reshape(long, 7*9*channels)}, trialSums)
	}
	short := added(product(1, layers.Conv{}))
	w, bias := b.filter(nn.Dims{channels, uint32(values)}, channels, 0, perChannel)
	long := b.FullyConnected(b.Reshape(x, 1, values), w, bias, nn.ActNone, trialSums)
	return b.Concatenation(0, []uint32{b.Reshape(short, 7*9*channels), b.Reshape(long, channels)}, trialSums)
}

// depthwise adds a convolution of the width and stride that k is for.
func (b *trialBuilder) depthwise(k family.Depthwise) (y uint32) {
	width, stride := k.Width, k.Stride
	if width == 0 {
		width, stride = 2, 1
	}
	x := b.input(k.Elem)
	w, bias := b.filter(nn.Dims{1, 3, uint32(width), trialChannels}, trialChannels, 3, false)
	c := layers.Conv{Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}, Stride: [2]int{stride, stride}}
	return b.DepthwiseConv2D(x, w, bias, 1, c, trialSums)
}

// rows is the input as rows of which a team goes through each more than once.
func (b *trialBuilder) rows(e family.Elem, team family.Team) uint32 {
	const values = 7 * 9 * trialChannels
	rows := 7
	if team == family.Workgroup {
		rows = 1
	}
	return b.Reshape(b.input(e), rows, values/rows)
}

func (b *trialBuilder) input(e family.Elem) uint32 {
	b.x = nn.Operand{Type: trialTypes[e], Dims: nn.Dims{1, 7, 9, trialChannels}}
	if e == family.Q8 {
		b.x.Scale, b.x.ZeroPoint = 0.5, 120
	}
	return b.Input(b.x.Type, b.x.Dims, b.x.Scale, b.x.ZeroPoint)
}

// filter adds the filter for x and the bias; perChannel of 8 bits with a scale for each index of dimension dim.
func (b *trialBuilder) filter(dims nn.Dims, channels, dim uint32, perChannel bool) (w, bias uint32) {
	o := nn.Operand{Type: b.x.Type, Dims: dims}
	biases := nn.Operand{Type: b.x.Type, Dims: nn.Dims{channels}}
	if o.Type.IsQuant8() {
		o.Scale, o.ZeroPoint = 0.25, 131
		biases.Type, biases.Scale = nn.TensorInt32, 0.125
	}
	value := b.values(o, false)
	if perChannel {
		scales := make([]float32, channels)
		for i := range scales {
			scales[i] = 0.125 * float32(1+i%3)
		}
		biases.Scale = 0
		w = b.PerChannel(dims, scales, dim, value)
	} else {
		w = b.Const(o.Type, dims, o.Scale, o.ZeroPoint, value)
	}
	value = b.values(biases, false)
	if b.far {
		binary.LittleEndian.PutUint32(value, 1<<23)
	}
	return w, b.Const(biases.Type, biases.Dims, biases.Scale, 0, value)
}

// values are those of a tensor: floats and 32-bit integers from -2 to 2, or any bytes. positive: floats from 1 to 4, of
// which roots have something to compute.
func (b *trialBuilder) values(o nn.Operand, positive bool) (value []byte) {
	count := 1
	for _, d := range o.Dims {
		count *= int(d)
	}
	for range count {
		v := b.rng.IntN(5) - 2
		if positive {
			v = b.rng.IntN(4) + 1
		}
		switch o.Type {
		case nn.TensorFloat32:
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(v)))
		case nn.TensorFloat16:
			value = binary.LittleEndian.AppendUint16(value, uint16(nn.HalfOf(float64(v))))
		case nn.TensorInt32:
			value = binary.LittleEndian.AppendUint32(value, uint32(v))
		default:
			value = append(value, byte(b.rng.Uint32()))
		}
	}
	return value
}
