package ref

import "math"

// cellActivations are those of recurrent cells, by the numbers of the NNAPI.
var cellActivations = map[int]Function{
	0: func(x float64) float64 { return x },
	1: func(x float64) float64 { return max(x, 0) },
	2: func(x float64) float64 { return min(max(x, -1), 1) },
	3: func(x float64) float64 { return min(max(x, 0), 6) },
	4: math.Tanh,
	6: logistic,
}

// product is the matrix m, [n, len(x)], times x.
func product(m *Tensor, x []float64) []float64 {
	y := make([]float64, m.Shape[0])
	for u := range y {
		for i, v := range x {
			y[u] += m.V[u*len(x)+i] * v
		}
	}
	return y
}

// addTo adds b to a.
func addTo(a, b []float64) {
	for i, v := range b {
		a[i] += v
	}
}

// sequence says where the rows of a step are in tensors of three dimensions, or of two in a single step.
type sequence struct{ steps, batch, stepAt, batchAt int }

func sequenceOf(x *Tensor, timeMajor bool) sequence {
	if len(x.Shape) == 2 {
		return sequence{1, x.Shape[0], 0, 1}
	}
	if timeMajor {
		return sequence{x.Shape[0], x.Shape[1], x.Shape[1], 1}
	}
	return sequence{x.Shape[1], x.Shape[0], 1, x.Shape[1]}
}

// shape is that of a tensor with n numbers for each step and row, where x is such a tensor too.
func (q sequence) shape(x *Tensor, n int) []int {
	s := append([]int(nil), x.Shape...)
	s[len(s)-1] = n
	return s
}

// row is row b of a step, nil of no tensor.
func (q sequence) row(x *Tensor, step, b int) []float64 {
	if x == nil {
		return nil
	}
	size := x.Shape[len(x.Shape)-1]
	return x.V[(step*q.stepAt+b*q.batchAt)*size:][:size]
}

// walk calls step, which returns an output, for each step of row b, and writes what it gives into y from column at on.
func (q sequence) walk(b int, backward bool, y *Tensor, at int, step func(t int) []float64) {
	for k := range q.steps {
		t := k
		if backward {
			t = q.steps - 1 - k
		}
		for o, v := range step(t) {
			q.row(y, t, b)[at+o] = y.Format().round(v)
		}
	}
}

// cells are one or two cells that go through a sequence.
type cells struct {
	q      sequence
	inputs [2]*Tensor // of each cell
	aux    *Tensor    // the second of both, nil for none
	merge  bool
}

// linked makes the cells of a bidirectional operation from its auxiliary input and the auxiliary weights of its cells.
func linked(x, aux, weights *Tensor, timeMajor, merge bool) cells {
	c := cells{sequenceOf(x, timeMajor), [2]*Tensor{x, x}, aux, merge}
	if aux != nil && weights == nil {
		c.inputs[1], c.aux = aux, nil
	}
	return c
}

// results are the tensors for both cells, with sizes n and m, and where in them the second one's columns begin.
func (c cells) results(f Format, n, m int) (y [2]*Tensor, at int) {
	x := c.inputs[0]
	if c.merge {
		both := New(f, c.q.shape(x, n+m)...)
		return [2]*Tensor{both, both}, n
	}
	return [2]*Tensor{New(f, c.q.shape(x, n)...), New(f, c.q.shape(x, m)...)}, 0
}

// together are the outputs: one or two results, and states where there is room for them.
func (c cells) together(n int, y [2]*Tensor, states ...*Tensor) []*Tensor {
	list := y[:]
	if c.merge {
		list = y[:1]
	}
	all := append(append([]*Tensor(nil), list...), states...)
	if n != len(list) && n != len(all) {
		refuse("%d outputs", n)
	}
	return all[:n]
}

// floatTensors fails unless the tensors have the type of the first, a float type.
func floatTensors(list ...*Tensor) {
	for i, t := range list {
		if t != nil && (t.Type != list[0].Type || !t.Type.IsFloat()) {
			refuse("tensor %d of %s", i, t.Type)
		}
	}
}

// stateOf copies row b of a state.
func stateOf(t *Tensor, b int) []float64 {
	n := t.Shape[1]
	return append([]float64(nil), t.V[b*n:][:n]...)
}

// setState writes row b of a state.
func setState(t *Tensor, b int, v []float64) {
	for i, x := range v {
		t.V[b*len(v)+i] = t.Format().round(x)
	}
}
