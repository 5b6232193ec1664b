//go:build linux

package hostile

import (
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// chain is n operations one behind the other.
func chain(n int, d nn.Dims, next func(b *nn.Builder, i int, x uint32) uint32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		x := input(b, f32, d...)
		for i := range n {
			x = next(b, i, x)
		}
		b.Output(x)
	}
}

// graphs is a model with referenced graphs; refer gives for each the graphs that it refers to.
func graphs(n int, refer func(i int) []uint32) func() *nn.Model {
	return func() *nn.Model {
		var b nn.Builder
		b.Output(op(&b, nn.OpRelu, f32, input(&b, f32, 3)))
		m := nntest.Build(&b)
		for i := range n {
			var g nn.Builder
			x := input(&g, f32, 3)
			g.Output(op(&g, nn.OpRelu, f32, x))
			sub := nntest.Build(&g).Main
			for _, to := range refer(i) {
				sub.Operands = append(sub.Operands, nn.Operand{Type: nn.SubgraphRef, Lifetime: nn.Subgraph, Location: nn.Location{Offset: to}})
			}
			m.Referenced = append(m.Referenced, sub)
		}
		return m
	}
}

// changed is a model of one RELU with something done to it.
func changed(f func(m *nn.Model)) func() *nn.Model {
	return func() *nn.Model {
		var b nn.Builder
		b.Output(op(&b, nn.OpRelu, f32, input(&b, f32, 3)))
		m := nntest.Build(&b)
		f(m)
		return m
	}
}

// reshaped is x as another shape.
func reshaped(b *nn.Builder, t nn.OperandType, x uint32, d ...int32) uint32 {
	return op(b, nn.OpReshape, t, x, list(b, nn.Dims{uint32(len(d))}, d...))
}

const many = 20_000 // operations

var graphCases = []hostileCase{
	{name: "20,000 ADD in a row", want: runs, time: 20 * time.Second, model: func(b *nn.Builder) {
		y, none := constant(b, f32, 1), b.Scalar(0)
		chain(many, nn.Dims{7}, func(b *nn.Builder, _ int, x uint32) uint32 { return op(b, nn.OpAdd, f32, x, y, none) })(b)
	}},
	{name: "20,000 TRANSPOSE in a row", want: runs, exact: true, model: func(b *nn.Builder) {
		perm := list(b, nn.Dims{2}, 1, 0)
		chain(many, nn.Dims{3, 5}, func(b *nn.Builder, _ int, x uint32) uint32 { return op(b, nn.OpTranspose, f32, x, perm) })(b)
	}},
	{name: "20,000 RESHAPE in a row", want: runs, exact: true, model: chain(many, nn.Dims{4, 6}, func(b *nn.Builder, i int, x uint32) uint32 {
		return reshaped(b, f32, x, int32(2+2*(i%2)), -1)
	})},
	{name: "20,000 EXPAND_DIMS in a row", want: invalid, says: "rank", model: func(b *nn.Builder) {
		axis := b.Scalar(0)
		chain(many, nn.Dims{7}, func(b *nn.Builder, _ int, x uint32) uint32 { return op(b, nn.OpExpandDims, f32, x, axis) })(b)
	}},
	{name: "20,000 RELU that nobody reads", want: runs, exact: true, model: func(b *nn.Builder) {
		x := input(b, f32, 7)
		for range many {
			op(b, nn.OpRelu, f32, x)
		}
		b.Output(op(b, nn.OpAbs, f32, x))
	}},
	{name: "3,000 results alive at once", want: runs, exact: true, model: func(b *nn.Builder) {
		x := input(b, f32, 1, 7)
		var all []uint32
		for range 3000 {
			all = append(all, op(b, nn.OpAbs, f32, x))
		}
		b.Output(op(b, nn.OpConcatenation, f32, append(all, b.Scalar(0))...))
	}},
	{name: "20,000 results alive at once", want: compiles, time: 30 * time.Second, model: func(b *nn.Builder) {
		x := input(b, f32, 1, 7)
		var all []uint32
		for range many {
			all = append(all, op(b, nn.OpAbs, f32, x))
		}
		b.Output(op(b, nn.OpConcatenation, f32, append(all, b.Scalar(0))...))
	}},
	{name: "5,000 outputs", want: runs, model: func(b *nn.Builder) {
		x := input(b, f32, 7)
		for range 5000 {
			b.Output(op(b, nn.OpNeg, f32, x))
		}
	}},
	{name: "5,000 inputs", want: runs, model: func(b *nn.Builder) {
		x, none := input(b, f32, 7), b.Scalar(0)
		for range 5000 {
			x = op(b, nn.OpAdd, f32, x, input(b, f32, 7), none)
		}
		b.Output(x)
	}},
	{name: "inputs that nobody reads", want: runs, model: func(b *nn.Builder) {
		input(b, u8, 1<<22, 5)
		input(b, f32, 3, 3)
		b.Output(op(b, nn.OpAbs, f32, input(b, f32, 3, 3)))
	}},
	{name: "an input beyond every limit that nobody reads", want: exhausted, model: func(b *nn.Builder) {
		input(b, u8, 1<<31-1, 1)
		b.Output(op(b, nn.OpAbs, f32, input(b, f32, 3, 3)))
	}},
	{name: "a million dimensions", want: invalid, says: "rank", model: func(b *nn.Builder) {
		x := input(b, f32, repeat(1_000_000, uint32(1))...)
		for range 1000 {
			x = op(b, nn.OpAbs, f32, x)
		}
		b.Output(x)
	}},
	{name: "one input, many aliases", want: runs, exact: true, model: func(b *nn.Builder) {
		x := input(b, f32, 2, 6)
		a, c := reshaped(b, f32, x, 12), reshaped(b, f32, x, 3, 4)
		d := op(b, nn.OpSqueeze, f32, reshaped(b, f32, c, 1, 12, 1), list(b, nn.Dims{1}, 0))
		for _, y := range []uint32{a, c, d, op(b, nn.OpAdd, f32, reshaped(b, f32, d, 12), a, b.Scalar(0)), reshaped(b, f32, a, 2, 6)} {
			b.Output(y)
		}
	}},
	{name: "reshaped constants as outputs", want: runs, exact: true, model: func(b *nn.Builder) {
		c := constant(b, f32, 2, 6)
		b.Output(reshaped(b, f32, c, 12))
		b.Output(reshaped(b, f32, reshaped(b, f32, c, 3, 4), 4, 3))
		b.Output(op(b, nn.OpAbs, f32, input(b, f32, 3)))
	}},
	{name: "an output that is read", want: runs, exact: true, model: func(b *nn.Builder) {
		y := op(b, nn.OpNeg, f32, input(b, f32, 2, 6))
		b.Output(y)
		b.Output(reshaped(b, f32, y, 12))
		b.Output(op(b, nn.OpRelu, f32, y))
	}},
	{name: "an output listed twice", want: invalid, says: "twice", whole: changed(func(m *nn.Model) {
		m.Main.Outputs = append(m.Main.Outputs, m.Main.Outputs[0])
	})},
	{name: "an input as an output", want: invalid, whole: changed(func(m *nn.Model) { m.Main.Outputs = m.Main.Inputs })},
	{name: "an operation that reads itself", want: invalid, whole: changed(func(m *nn.Model) {
		m.Main.Operations[0].Inputs = m.Main.Operations[0].Outputs
	})},
	{name: "operand 2^32-1", want: invalid, whole: changed(func(m *nn.Model) { m.Main.Operations[0].Inputs = []uint32{1<<32 - 1} })},
	{name: "operation -1", want: invalid, whole: changed(func(m *nn.Model) { m.Main.Operations[0].Type = -1 })},
	{name: "no operations", want: invalid, whole: changed(func(m *nn.Model) { m.Main.Operations = nil })},
	{name: "dimensions of 2^32", want: invalid, whole: changed(func(m *nn.Model) { m.Main.Operands[0].Dims = nn.Dims{65536, 65536} })},
	{name: "open dimensions", want: compiles, whole: changed(func(m *nn.Model) { m.Main.Operands[0].Dims = nn.Dims{0} })},
	{name: "a graph that refers to itself", want: invalid, says: "circle", whole: graphs(1, func(int) []uint32 { return []uint32{0} })},
	{name: "graphs in a circle", want: invalid, says: "circle", whole: graphs(1000, func(i int) []uint32 { return []uint32{uint32(i+1) % 1000} })},
	{name: "20,000 graphs in a row", want: runs, whole: graphs(many, func(i int) []uint32 {
		if i == many-1 {
			return nil
		}
		return []uint32{uint32(i + 1)}
	})},
	{name: "graph 2^32-1", want: invalid, says: "graph", whole: graphs(1, func(int) []uint32 { return []uint32{1<<32 - 1} })},
}
