package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpFullyConnected, kernel{inputs: []int{4}, run: func(c *call) *Tensor {
		return FullyConnected(c.in[0], c.in[1], c.in[2], c.activation(3), c.out, c.ar)
	}})
}

// FullyConnected flattens x to [B, I] and multiplies it with weights [U, I], adding bias [U]; the result
// is [B, U].
func FullyConnected(x, weights, bias *Tensor, act nn.Activation, out Format, ar Arithmetic) *Tensor {
	if len(x.Shape) < 2 || len(weights.Shape) != 2 {
		refuse("input %v and weights %v", x.Shape, weights.Shape)
	}
	units, size := weights.Shape[0], weights.Shape[1]
	if size == 0 || len(x.V)%size != 0 {
		refuse("input %v does not divide into rows of %d", x.Shape, size)
	}
	batch := len(x.V) / size
	finish := finisher(x, weights, bias, units, 0, act, out, ar)
	y := New(out, batch, units)
	xz, wz := zeroOf(x), zeroOf(weights)
	for b := range batch {
		for u := range units {
			sum := 0.0
			for i := range size {
				sum += (x.V[b*size+i] - xz) * (weights.V[u*size+i] - wz)
			}
			y.V[b*units+u] = finish(sum, u)
		}
	}
	return y
}
