package convnet

import "math/rand/v2"

// Dense multiplies by a matrix and adds a bias, then applies RELU if asked.
type Dense struct {
	Weights []float32 // [out, in]
	Bias    []float32 // [out]
	Relu    bool
	in, out Shape
}

// NewDense returns a dense layer with random weights.
func NewDense(in Shape, width int, relu bool, rng *rand.Rand) *Dense {
	d := &Dense{
		Weights: make([]float32, width*in.Len()),
		Bias:    make([]float32, width),
		Relu:    relu,
		in:      in,
		out:     Shape{1, 1, width},
	}
	heInit(d.Weights, in.Len(), rng)
	return d
}

func (d *Dense) In() Shape           { return d.in }
func (d *Dense) Out() Shape          { return d.out }
func (d *Dense) Params() [][]float32 { return [][]float32{d.Weights, d.Bias} }
func (d *Dense) ScratchLen() int     { return 0 }

func (d *Dense) Forward(x, y, _ []float32) {
	n := d.in.Len()
	for o := range y {
		v := dot(x, d.Weights[o*n:(o+1)*n]) + d.Bias[o]
		if d.Relu {
			v = max(v, 0)
		}
		y[o] = v
	}
}

func (d *Dense) Backward(x, y, dy, dx []float32, grads [][]float32, _ []float32) {
	n := d.in.Len()
	dw, db := grads[0], grads[1]
	clear(dx)
	for o, g := range dy {
		if d.Relu && y[o] <= 0 || g == 0 {
			continue
		}
		db[o] += g
		axpy(g, x, dw[o*n:(o+1)*n])
		if dx != nil {
			axpy(g, d.Weights[o*n:(o+1)*n], dx)
		}
	}
}
