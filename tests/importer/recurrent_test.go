package importer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/internal/conformancedata"
)

var close5 = conformancedata.Tolerance{Abs: 1e-5, Rel: 1e-5}

// matrix has rows of numbers.
type matrix [][]float64

// random makes a matrix of small numbers that float32 holds.
func random(rng *rand.Rand, rows, columns int) matrix {
	m := make(matrix, rows)
	for i := range m {
		for range columns {
			m[i] = append(m[i], float64(rng.Float32()*2-1))
		}
	}
	return m
}

func (m matrix) bytes() []byte {
	var v []float32
	for _, row := range m {
		for _, x := range row {
			v = append(v, float32(x))
		}
	}
	return floats(v...)
}

// times is m * x.
func (m matrix) times(x []float64) []float64 {
	y := make([]float64, len(m))
	for i, row := range m {
		for k, w := range row {
			y[i] += w * x[k]
		}
	}
	return y
}

// mapped applies f to the elements, one by one, of lists of one length.
func mapped(f func(...float64) float64, lists ...[]float64) []float64 {
	y := make([]float64, len(lists[0]))
	for i := range y {
		var args []float64
		for _, l := range lists {
			args = append(args, l[i])
		}
		y[i] = f(args...)
	}
	return y
}

func sum(x ...float64) (y float64) {
	for _, v := range x {
		y += v
	}
	return y
}

func product(x ...float64) float64  { return x[0] * x[1] }
func tanh(x ...float64) float64     { return math.Tanh(sum(x...)) }
func logistic(x ...float64) float64 { return 1 / (1 + math.Exp(-sum(x...))) }

// weights adds a matrix as a constant, a bias where it has one row.
func (n *net) weights(m matrix) int {
	shape := []int{len(m), len(m[0])}
	if len(m) == 1 {
		shape = shape[1:]
	}
	return n.constant(g.Float32, shape, m.bytes())
}

func (n *net) state(shape ...int) int {
	return n.tensor(g.Tensor{Name: "state", Shape: shape, IsVariable: true})
}

// Sizes of all cells here.
const steps, rows, size, units = 4, 2, 3, 5

// sequence is an input of [steps, rows, size].
func sequence(rng *rand.Rand) []matrix {
	var x []matrix
	for range steps {
		x = append(x, random(rng, rows, size))
	}
	return x
}

func joined(x []matrix) []byte {
	var b []byte
	for _, m := range x {
		b = append(b, m.bytes()...)
	}
	return b
}

// rowsFirst brings [steps, rows] to [rows, steps].
func rowsFirst(x []matrix) []matrix {
	y := make([]matrix, rows)
	for r := range y {
		for _, step := range x {
			y[r] = append(y[r], step[r])
		}
	}
	return y
}

// rnnCell is the weights of an RNN.
type rnnCell struct{ w, r, b matrix }

func newRNN(rng *rand.Rand) rnnCell {
	return rnnCell{random(rng, units, size), random(rng, units, units), random(rng, 1, units)}
}

func (c rnnCell) tensors(n *net, state int) []int {
	return []int{n.weights(c.w), n.weights(c.r), n.weights(c.b), state}
}

// run gives the state of each step and row, from zeros on or from those of h.
func (c rnnCell) run(x []matrix, h matrix) []matrix {
	var y []matrix
	for _, step := range x {
		next := make(matrix, rows)
		for r := range next {
			before := make([]float64, units)
			if h != nil {
				before = h[r]
			}
			next[r] = mapped(tanh, c.w.times(step[r]), c.r.times(before), c.b[0])
		}
		y, h = append(y, next), next
	}
	return y
}

func TestRNNs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, c, back := sequence(rng), newRNN(rng), newRNN(rng)
	runAll(t, []expectation{
		{name: "a step from zero", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{rows, size}, x[0].bytes())}, c.tensors(n, n.state(rows, units))...)
			return n.op(g.OpRNN, g.RNNOptions{Activation: g.ActivationTanh}, one(g.Float32, rows, units), in...), [][]byte{joined(c.run(x[:1], nil))}
		}},
		{name: "a step from a state", tol: close5, build: func(n *net) ([]int, [][]byte) {
			h := random(rng, rows, units)
			in := append([]int{n.input(g.Float32, []int{rows, size}, x[0].bytes())}, c.tensors(n, n.input(g.Float32, []int{rows, units}, h.bytes()))...)
			return n.op(g.OpRNN, g.RNNOptions{Activation: g.ActivationTanh}, one(g.Float32, rows, units), in...), [][]byte{joined(c.run(x[:1], h))}
		}},
		{name: "a sequence, rows first", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{rows, steps, size}, joined(rowsFirst(x)))}, c.tensors(n, n.state(rows, units))...)
			return n.op(g.OpUnidirectionalSequenceRNN, g.SequenceRNNOptions{Activation: g.ActivationTanh}, one(g.Float32, rows, steps, units), in...),
				[][]byte{joined(rowsFirst(c.run(x, nil)))}
		}},
		{name: "both ways", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{steps, rows, size}, joined(x))}, c.tensors(n, n.state(rows, units))...)
			in = append(append(in, back.tensors(n, n.state(rows, units))...), -1, -1, -1)
			backward := slices.Clone(x)
			slices.Reverse(backward)
			backward = back.run(backward, nil)
			slices.Reverse(backward)
			y := g.Tensor{Shape: []int{steps, rows, units}}
			return n.op(g.OpBidirectionalSequenceRNN, g.BidirectionalSequenceRNNOptions{Activation: g.ActivationTanh, TimeMajor: true}, []g.Tensor{y, y}, in...),
				[][]byte{joined(c.run(x, nil)), joined(backward)}
		}},
	})
}

// lstmCell is the weights of an LSTM, of its gates input, forget, cell and output.
type lstmCell struct{ w, r, b [4]matrix }

func newLSTM(rng *rand.Rand) (c lstmCell) {
	for i := range 4 {
		c.w[i], c.r[i], c.b[i] = random(rng, units, size), random(rng, units, units), random(rng, 1, units)
	}
	return c
}

// step is the output and the cell state after those before.
func (c *lstmCell) step(x, output, cell []float64) (_, _ []float64) {
	gate := func(i int, f func(...float64) float64) []float64 {
		return mapped(f, c.w[i].times(x), c.r[i].times(output), c.b[i][0])
	}
	in, forget, news, out := gate(0, logistic), gate(1, logistic), gate(2, tanh), gate(3, logistic)
	cell = mapped(sum, mapped(product, forget, cell), mapped(product, in, news))
	return mapped(product, out, mapped(tanh, cell)), cell
}

// run gives the output of each step and row.
func (c *lstmCell) run(x []matrix) []matrix {
	y := make([]matrix, len(x))
	for r := range rows {
		output, cell := make([]float64, units), make([]float64, units)
		for i, step := range x {
			output, cell = c.step(step[r], output, cell)
			y[i] = append(y[i], output)
		}
	}
	return y
}

// tensors are the first 20 inputs of an LSTM behind its input.
func (c *lstmCell) tensors(n *net) []int {
	var list []int
	for _, part := range [][4]matrix{c.w, c.r} {
		for _, m := range part {
			list = append(list, n.weights(m))
		}
	}
	list = append(list, -1, -1, -1)
	for _, b := range c.b {
		list = append(list, n.weights(b))
	}
	return append(list, -1, -1)
}

func TestLSTMs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, c, back := sequence(rng), newLSTM(rng), newLSTM(rng)
	runAll(t, []expectation{
		{name: "a step", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{rows, size}, x[0].bytes())}, c.tensors(n)...)
			in = append(in, n.state(rows, units), n.state(rows, units))
			return n.op(g.OpLSTM, g.LSTMOptions{Activation: g.ActivationTanh}, one(g.Float32, rows, units), in...), [][]byte{joined(c.run(x[:1]))}
		}},
		{name: "a sequence, rows first", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{rows, steps, size}, joined(rowsFirst(x)))}, c.tensors(n)...)
			in = append(in, n.state(rows, units), n.state(rows, units))
			return n.op(g.OpUnidirectionalSequenceLSTM, g.UnidirectionalSequenceLSTMOptions{Activation: g.ActivationTanh}, one(g.Float32, rows, steps, units), in...),
				[][]byte{joined(rowsFirst(c.run(x)))}
		}},
		{name: "both ways, merged", tol: close5, build: func(n *net) ([]int, [][]byte) {
			in := append([]int{n.input(g.Float32, []int{steps, rows, size}, joined(x))}, c.tensors(n)...)
			in = append(in, back.tensors(n)...)
			for range 4 {
				in = append(in, n.state(rows, units))
			}
			in = append(in, slices.Repeat([]int{-1}, 9)...)
			backward := slices.Clone(x)
			slices.Reverse(backward)
			backward = back.run(backward)
			slices.Reverse(backward)
			want := c.run(x)
			for i := range want {
				for r := range want[i] {
					want[i][r] = append(want[i][r], backward[i][r]...)
				}
			}
			return n.op(g.OpBidirectionalSequenceLSTM, g.BidirectionalSequenceLSTMOptions{Activation: g.ActivationTanh, MergeOutputs: true, TimeMajor: true},
				one(g.Float32, steps, rows, 2*units), in...), [][]byte{joined(want)}
		}},
		{name: "a step of the basic kernel", tol: close5, build: func(n *net) ([]int, [][]byte) {
			h, s := random(rng, rows, units), random(rng, rows, units)
			var w matrix // input, cell, forget, output
			bias := matrix{nil}
			for _, gate := range []int{0, 2, 1, 3} {
				for u := range units {
					w = append(w, append(slices.Clone(c.w[gate][u]), c.r[gate][u]...))
				}
				bias[0] = append(bias[0], c.b[gate][0]...)
			}
			var output, cell matrix
			for r := range rows {
				y, z := c.step(x[0][r], h[r], s[r])
				output, cell = append(output, y), append(cell, z)
			}
			shape := func(columns int) g.Tensor { return g.Tensor{Shape: []int{rows, columns}} }
			list := n.op(g.OpLSTM, g.LSTMOptions{Activation: g.ActivationTanh, KernelType: 1},
				[]g.Tensor{shape(units), shape(units), shape(size + units), shape(4 * units)},
				n.input(g.Float32, []int{rows, size}, x[0].bytes()), n.input(g.Float32, []int{rows, units}, h.bytes()), n.weights(w), n.weights(bias),
				n.input(g.Float32, []int{rows, units}, s.bytes()))
			return list[:2], [][]byte{output.bytes(), cell.bytes()}
		}},
	})
}

// TestSVDFs: from a state of zeros only the newest number of each filter counts.
func TestSVDFs(t *testing.T) {
	const rank, memory = 2, 3
	rng := rand.New(rand.NewPCG(5, 6))
	x, feature, time, bias := random(rng, rows, size), random(rng, rank*units, size), random(rng, rank*units, memory), random(rng, 1, units)
	want := make(matrix, rows)
	for r := range want {
		for u := range units {
			y := bias[0][u]
			for f := u * rank; f < (u+1)*rank; f++ {
				y += feature.times(x[r])[f] * time[f][memory-1]
			}
			want[r] = append(want[r], max(y, 0))
		}
	}
	runAll(t, []expectation{{name: "rank 2", tol: close5, build: func(n *net) ([]int, [][]byte) {
		return n.op(g.OpSVDF, g.SVDFOptions{Rank: rank, Activation: g.ActivationRelu}, one(g.Float32, rows, units),
			n.input(g.Float32, []int{rows, size}, x.bytes()), n.weights(feature), n.weights(time), n.weights(bias), n.state(rows, rank*units*memory)), [][]byte{want.bytes()}
	}}})
}
