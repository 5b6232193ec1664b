package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpRank, kernel{inputs: []int{1}, run: func(c *call) *Tensor {
		return &Tensor{Type: nn.Int32, V: []float64{float64(len(c.in[0].Shape))}}
	}})
}
