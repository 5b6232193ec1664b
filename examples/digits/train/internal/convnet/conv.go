package convnet

import "math/rand/v2"

// Conv is a convolution with an odd square kernel, stride 1, zero padding that keeps the size (SAME), a bias, and
// RELU.
type Conv struct {
	Kernel  int
	Weights []float32 // [out, Kernel, Kernel, in]
	Bias    []float32 // [out]
	in, out Shape
}

// NewConv returns a convolution with random weights.
func NewConv(in Shape, kernel, channels int, rng *rand.Rand) *Conv {
	patch := kernel * kernel * in.C
	c := &Conv{
		Kernel:  kernel,
		Weights: make([]float32, channels*patch),
		Bias:    make([]float32, channels),
		in:      in,
		out:     Shape{in.H, in.W, channels},
	}
	heInit(c.Weights, patch, rng)
	return c
}

func (c *Conv) In() Shape           { return c.in }
func (c *Conv) Out() Shape          { return c.out }
func (c *Conv) Params() [][]float32 { return [][]float32{c.Weights, c.Bias} }
func (c *Conv) patchLen() int       { return c.Kernel * c.Kernel * c.in.C }

// ScratchLen is a patch and its gradient.
func (c *Conv) ScratchLen() int { return 2 * c.patchLen() }

// rows calls f for every kernel row that meets the input around (y, x): in is where its first sample lies in the
// input, at where in the patch, n how many values follow in both.
func (c *Conv) rows(y, x int, f func(in, at, n int)) {
	half := c.Kernel / 2
	x0 := max(x-half, 0)
	x1 := min(x+half+1, c.in.W)
	for ky := range c.Kernel {
		iy := y + ky - half
		if iy < 0 || iy >= c.in.H {
			continue
		}
		at := (ky*c.Kernel + x0 - (x - half)) * c.in.C
		f((iy*c.in.W+x0)*c.in.C, at, (x1-x0)*c.in.C)
	}
}

// gather copies the input around (y, x) to patch, zero outside the input.
func (c *Conv) gather(in []float32, y, x int, patch []float32) {
	clear(patch)
	c.rows(y, x, func(i, at, n int) { copy(patch[at:at+n], in[i:i+n]) })
}

func (c *Conv) Forward(x, y, scratch []float32) {
	n := c.patchLen()
	patch := scratch[:n]
	at := 0
	for row := range c.in.H {
		for col := range c.in.W {
			c.gather(x, row, col, patch)
			for o := range c.out.C {
				y[at] = max(dot(patch, c.Weights[o*n:(o+1)*n])+c.Bias[o], 0)
				at++
			}
		}
	}
}

func (c *Conv) Backward(x, y, dy, dx []float32, grads [][]float32, scratch []float32) {
	n := c.patchLen()
	patch, dpatch := scratch[:n], scratch[n:2*n]
	dw, db := grads[0], grads[1]
	clear(dx)
	at := 0
	for row := range c.in.H {
		for col := range c.in.W {
			// Max pooling and RELU leave most gradients zero; only the others cost a patch.
			gathered := false
			for o := range c.out.C {
				g := dy[at]
				if y[at] <= 0 {
					g = 0
				}
				at++
				if g == 0 {
					continue
				}
				if !gathered {
					c.gather(x, row, col, patch)
					clear(dpatch)
					gathered = true
				}
				db[o] += g
				axpy(g, patch, dw[o*n:(o+1)*n])
				if dx != nil {
					axpy(g, c.Weights[o*n:(o+1)*n], dpatch)
				}
			}
			if gathered && dx != nil {
				c.rows(row, col, func(i, at, n int) { axpy(1, dpatch[at:at+n], dx[i:i+n]) })
			}
		}
	}
}
