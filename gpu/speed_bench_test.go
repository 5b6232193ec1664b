package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// BenchmarkProducts measures operations that are sums of products: billions of useful multiply-adds a second, and how many
// times the rate of a CONV_2D of as much work that is, which runs in turn with it. Tensors lie on the device.
func BenchmarkProducts(b *testing.B) {
	eachSpeed(b, products, func(b *testing.B, device *Backend, p *product, t nn.OperandType) {
		op, conv := p.build(b, device, t, p.model), p.build(b, device, t, p.conv)
		took, ratio := inTurn(b, op.run, conv.run)
		b.ReportMetric(float64(p.work)/took.Seconds()/1e9, "GMAC/s")
		b.ReportMetric(ratio, "of-CONV_2D")
	})
}

// BenchmarkMoves measures operations that touch much memory and compute little: billions of bytes a second that are inputs
// and outputs, and how many times the rate of a kernel that copies as much that is, which runs in turn with it.
func BenchmarkMoves(b *testing.B) {
	eachSpeed(b, moves, func(b *testing.B, device *Backend, m *move, t nn.OperandType) {
		op := build(b, device, func(l *layers.Builder) { l.Output(m.model(l, input(l, t, m.in...))) })
		took, ratio := inTurn(b, op.run, copied(b, device, op.bytes))
		b.ReportMetric(float64(op.bytes)/took.Seconds()/1e9, "GB/s")
		b.ReportMetric(ratio, "of-copy")
	})
}

// speedTypes are the types that families are measured with.
var speedTypes = []nn.OperandType{nn.TensorFloat32, nn.TensorQuant8AsymmSigned}

// eachSpeed runs f for each device, case and type.
func eachSpeed[C interface{ floats() bool }](b *testing.B, cases map[string]C, f func(b *testing.B, device *Backend, c C, t nn.OperandType)) {
	b.Setenv("NNGPU_VALIDATION", "0")
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, selector := range vktest.Selectors() {
		b.Run(selector, func(b *testing.B) {
			device := openBackend(b, selector, Options{})
			for _, name := range names {
				for _, t := range speedTypes {
					if t == nn.TensorFloat32 || !cases[name].floats() {
						b.Run(fmt.Sprintf("%s/%v", name, t), func(b *testing.B) { f(b, device, cases[name], t) })
					}
				}
			}
		})
	}
}

// inTurn runs op and other one after the other, as long as the benchmark goes on, and returns the middle of what op took and
// the middle of what other took in op's times.
func inTurn(b *testing.B, op, other func(b *testing.B)) (took time.Duration, ratio float64) {
	op(b) // touches memory and makes kernels
	other(b)
	var times []time.Duration
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		op(b)
		middle := time.Now()
		other(b)
		times = append(times, middle.Sub(start))
		ratios = append(ratios, float64(time.Since(middle))/float64(middle.Sub(start)))
	}
	slices.Sort(times)
	slices.Sort(ratios)
	return times[len(times)/2], ratios[len(ratios)/2]
}

// speedProgram is a model with its inputs and outputs in memory of the device.
type speedProgram struct {
	program
	inputs, outputs []backend.Binding
	bytes           int64 // of inputs and outputs
}

func build(b *testing.B, device *Backend, f func(*layers.Builder)) *speedProgram {
	var l layers.Builder
	f(&l)
	m, err := l.Build()
	require.NoError(b, err)
	s := &speedProgram{}
	s.x, err = device.Compile(b.Context(), m, backend.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.x.Close()) })
	rng := rand.New(rand.NewPCG(1, 2))
	bind := func(i uint32) backend.Binding {
		x := tensor{m.Main.Operands[i].Type, m.Main.Operands[i].Dims}
		memory := allocate(b, device, x)
		require.NoError(b, memory.Write(b.Context(), x.random(rng)))
		s.bytes += int64(x.bytes())
		return backend.Binding{Memory: memory, Length: int64(x.bytes())}
	}
	for _, i := range m.Main.Inputs {
		s.inputs = append(s.inputs, bind(i))
	}
	for _, i := range m.Main.Outputs {
		s.outputs = append(s.outputs, bind(i))
	}
	return s
}

func (s *speedProgram) run(b *testing.B) {
	_, err := s.execute(b.Context(), s.inputs, s.outputs)
	require.NoError(b, err)
}

// copied returns what copies bytes/2 bytes by the faster of the kernels that measure memory.
func copied(b *testing.B, device *Backend, bytes int64) func(b *testing.B) {
	size := plan.AlignUp(bytes / 2)
	weights := tensor{nn.TensorQuant8AsymmSigned, nn.Dims{uint32(size)}}.random(rand.New(rand.NewPCG(1, 2)))
	var best func(b *testing.B)
	var least time.Duration
	for _, k := range movers {
		if k.traffic != 2 {
			continue
		}
		steps := k.slabs(&device.facts, size)
		for i := range steps {
			steps[i].Bindings[0].Buffer = plan.Weights // pages that something was written to
		}
		p := &plan.Plan{ArenaBytes: 2 * size, WeightBytes: int64(len(weights)), Steps: steps, Segments: []int{len(steps)}}
		x, err := vulkan.NewExecutable(b.Context(), device.device, p, weights, vulkan.ExecutableOptions{MaxSlots: 1})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, x.Close()) })
		run := func(b *testing.B) {
			_, err := (&program{x: x}).execute(b.Context(), nil, nil)
			require.NoError(b, err)
		}
		run(b)
		took := time.Duration(1 << 62)
		for range 5 {
			start := time.Now()
			run(b)
			took = min(took, time.Since(start))
		}
		if best == nil || took < least {
			best, least = run, took
		}
	}
	return best
}

// product is an operation that is made of work multiply-adds, beside a CONV_2D of about as many.
type product struct {
	work        int
	floatsAlone bool
	model, conv func(l *layers.Builder, t nn.OperandType) uint32
}

func (p *product) floats() bool { return p.floatsAlone }

func (p *product) build(b *testing.B, device *Backend, t nn.OperandType, model func(*layers.Builder, nn.OperandType) uint32) *speedProgram {
	return build(b, device, func(l *layers.Builder) { l.Output(model(l, t)) })
}

// quant is how results of 8 bits are stored.
var quant = layers.Quant{Scale: 0.5, Zero: 3}

// input is a tensor that the execution brings, constant one of the model.
func input(l *layers.Builder, t nn.OperandType, dims ...uint32) uint32 {
	if t == nn.TensorFloat32 {
		return l.Input(t, dims, 0, 0)
	}
	return l.Input(t, dims, quant.Scale, quant.Zero)
}

func constant(l *layers.Builder, t nn.OperandType, dims ...uint32) uint32 {
	value := tensor{t, dims}.random(rand.New(rand.NewPCG(3, 4)))
	switch t {
	case nn.TensorFloat32:
		return l.Const(t, dims, 0, 0, value)
	case nn.TensorInt32: // a bias
		return l.Const(t, dims, quant.Scale*quant.Scale, 0, make([]byte, len(value)))
	}
	return l.Const(t, dims, quant.Scale, quant.Zero, value)
}

// operand is input or constant.
type operand func(l *layers.Builder, t nn.OperandType, dims ...uint32) uint32

// biasOf is the type of a bias for x of type t.
func biasOf(t nn.OperandType) nn.OperandType {
	if t == nn.TensorFloat32 {
		return t
	}
	return nn.TensorInt32
}

// result is the last argument of an operation with results of type t.
func result(t nn.OperandType) []layers.Quant {
	if t == nn.TensorFloat32 {
		return nil
	}
	return []layers.Quant{{Scale: 100, Zero: -5}}
}

var same = layers.Conv{Padding: nn.PaddingSame}

// conv2D is a CONV_2D of an image of side*side pixels, with a window of k*k.
func conv2D(side, k, in, out uint32) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		x := input(l, t, 1, side, side, in)
		return l.Conv2D(x, constant(l, t, out, k, k, in), constant(l, biasOf(t), out), same, result(t)...)
	}
}

func fullyConnected(rows, in, out uint32, weights operand) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		x := input(l, t, rows, in)
		return l.FullyConnected(x, weights(l, t, out, in), constant(l, biasOf(t), out), nn.ActNone, result(t)...)
	}
}

func grouped(side, in, out uint32, groups int, weights operand) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		x := input(l, t, 1, side, side, in)
		return l.GroupedConv2D(x, weights(l, t, out, 3, 3, in/uint32(groups)), constant(l, biasOf(t), out), groups, same, result(t)...)
	}
}

func transposed(side, in, out uint32, weights operand) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		x := input(l, t, 1, side, side, in)
		c := layers.Conv{Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}}
		return l.TransposeConv2D(x, weights(l, t, out, 3, 3, in), constant(l, biasOf(t), out), nil, c, result(t)...)
	}
}

// cells are steps of n tensors of recurrent cells whose sizes of inputs and states are the same.
func cells(op nn.OperationType, steps, batch, size uint32, weights operand) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		w := func(dims ...uint32) uint32 { return weights(l, t, dims...) }
		bias := func() uint32 { return constant(l, t, size) }
		x, h := input(l, t, steps, batch, size), input(l, t, batch, size)
		y := l.Temp(t, nn.Dims{steps, batch, size}, 0, 0)
		if op == nn.OpUnidirectionalSequenceRnn {
			l.Op(op, []uint32{x, w(size, size), w(size, size), bias(), h, l.Scalar(4), l.Scalar(1)}, []uint32{y})
			return y
		}
		none := l.Omitted(t)
		in := []uint32{x}
		for range 8 {
			in = append(in, w(size, size))
		}
		in = append(in, none, none, none, bias(), bias(), bias(), bias(), none, none, h, input(l, t, batch, size),
			l.Scalar(4), l.Scalar(float32(0)), l.Scalar(float32(0)), l.Scalar(true), none, none, none, none)
		l.Op(op, in, []uint32{y})
		return y
	}
}

// batches are n matrix products of m*k by k*n numbers.
func batches(n, m, k, units uint32) func(l *layers.Builder, t nn.OperandType) uint32 {
	return func(l *layers.Builder, t nn.OperandType) uint32 {
		return l.BatchMatmul(input(l, t, n, m, k), input(l, t, n, k, units), false, false, result(t)...)
	}
}

// products are the operations that BenchmarkProducts measures. A CONV_2D of 1x1 has as many rows, terms of a sum and
// channels as the matrix product beside it.
var products = map[string]*product{
	"BATCH_MATMUL":                     {work: 4 * 64 * 512 * 512, model: batches(4, 64, 512, 512), conv: conv2D(16, 1, 512, 512)},
	"BATCH_MATMUL of odd sizes":        {work: 4 * 67 * 509 * 507, model: batches(4, 67, 509, 507), conv: conv2D(16, 1, 512, 512)},
	"CONV_2D":                          {work: 784 * 9 * 64 * 128, model: conv2D(28, 3, 64, 128), conv: conv2D(28, 3, 64, 128)},
	"FULLY_CONNECTED":                  {work: 64 * 1024 * 1024, model: fullyConnected(64, 1024, 1024, constant), conv: conv2D(8, 1, 1024, 1024)},
	"FULLY_CONNECTED of inputs":        {work: 64 * 1024 * 1024, model: fullyConnected(64, 1024, 1024, input), conv: conv2D(8, 1, 1024, 1024)},
	"GROUPED_CONV_2D":                  {work: 3136 * 9 * 16 * 128, model: grouped(56, 128, 128, 8, constant), conv: conv2D(56, 3, 32, 64)},
	"GROUPED_CONV_2D of inputs":        {work: 3136 * 9 * 16 * 128, model: grouped(56, 128, 128, 8, input), conv: conv2D(56, 3, 32, 64)},
	"GROUPED_CONV_2D 64":               {work: 784 * 9 * 64 * 128, model: grouped(28, 128, 128, 2, constant), conv: conv2D(28, 3, 64, 128)},
	"TRANSPOSE_CONV_2D":                {work: 784 * 9 * 64 * 128, model: transposed(28, 64, 128, constant), conv: conv2D(28, 3, 64, 128)},
	"TRANSPOSE_CONV_2D of inputs":      {work: 784 * 9 * 64 * 128, model: transposed(28, 64, 128, input), conv: conv2D(28, 3, 64, 128)},
	"UNIDIRECTIONAL_SEQUENCE_RNN":      {work: 4 * 64 * 512 * 1024, floatsAlone: true, model: cells(nn.OpUnidirectionalSequenceRnn, 4, 64, 512, constant), conv: conv2D(16, 1, 512, 1024)},
	"UNIDIRECTIONAL_SEQUENCE_LSTM":     {work: 4 * 64 * 256 * 2048, floatsAlone: true, model: cells(nn.OpUnidirectionalSequenceLstm, 4, 64, 256, constant), conv: conv2D(16, 1, 512, 1024)},
	"UNIDIRECTIONAL_SEQUENCE_LSTM fed": {work: 4 * 64 * 256 * 2048, floatsAlone: true, model: cells(nn.OpUnidirectionalSequenceLstm, 4, 64, 256, input), conv: conv2D(16, 1, 512, 1024)},
}

// move is an operation on a tensor of in elements.
type move struct {
	in          nn.Dims
	floatsAlone bool
	model       func(l *layers.Builder, x uint32) uint32
}

func (m *move) floats() bool { return m.floatsAlone }

// shuffled are the numbers from 0 to n-1 in another order.
func shuffled(l *layers.Builder, n int) uint32 {
	list := make([]int32, n)
	for i, v := range rand.New(rand.NewPCG(5, 6)).Perm(n) {
		list[i] = int32(v)
	}
	return l.Ints(nn.Dims{uint32(n)}, list...)
}

// moves are the operations that BenchmarkMoves measures, each on 4 million elements, or on what becomes as many.
var moves = map[string]*move{
	"ARGMAX of rows":        {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.ArgMax(x, 1) }},
	"ARGMAX of columns":     {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.ArgMax(x, 0) }},
	"GATHER of rows":        {in: nn.Dims{4096, 1024}, model: func(l *layers.Builder, x uint32) uint32 { return l.Gather(x, 0, shuffled(l, 4096)) }},
	"GATHER of elements":    {in: nn.Dims{4096, 1024}, model: func(l *layers.Builder, x uint32) uint32 { return l.Gather(x, 1, shuffled(l, 1024)) }},
	"MEAN of images":        {in: nn.Dims{1, 128, 128, 256}, model: func(l *layers.Builder, x uint32) uint32 { return l.Mean(x, []int{1, 2}, true) }},
	"MEAN of rows":          {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.Mean(x, []int{1}, true) }},
	"REDUCE_MAX of columns": {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.ReduceMax(x, []int{0}, true) }},
	"REDUCE_MAX of rows":    {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.ReduceMax(x, []int{1}, true) }},
	"REDUCE_SUM of rows":    {in: nn.Dims{2048, 2048}, floatsAlone: true, model: func(l *layers.Builder, x uint32) uint32 { return l.ReduceSum(x, []int{1}, true) }},
	"RESIZE_BILINEAR": {in: nn.Dims{1, 128, 128, 64}, model: func(l *layers.Builder, x uint32) uint32 {
		return l.ResizeBilinear(x, layers.Resize{Height: 256, Width: 256})
	}},
	"RESIZE_NEAREST_NEIGHBOR": {in: nn.Dims{1, 128, 128, 64}, model: func(l *layers.Builder, x uint32) uint32 {
		return l.ResizeNearestNeighbor(x, layers.Resize{Height: 256, Width: 256})
	}},
	"SOFTMAX of rows":       {in: nn.Dims{512, 8192}, model: func(l *layers.Builder, x uint32) uint32 { return l.Softmax(x, 1, -1) }},
	"TRANSPOSE of a matrix": {in: nn.Dims{2048, 2048}, model: func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 1, 0) }},
	"TRANSPOSE to NCHW":     {in: nn.Dims{1, 256, 256, 64}, model: func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 0, 3, 1, 2) }},
	"TRANSPOSE of rows":     {in: nn.Dims{256, 256, 64}, model: func(l *layers.Builder, x uint32) uint32 { return l.Transpose(x, 1, 0, 2) }},
}
