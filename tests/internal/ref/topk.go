package ref

import (
	"math"
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpTopkV2, kernel{inputs: []int{2}, runs: func(c *call) []*Tensor {
		values, indices := TopK(c.in[0], c.int(1))
		return []*Tensor{values, indices}
	}})
}

// TopK are the k largest values along the last dimension of x, the largest first, and their indices. Equal ones are in the
// order of their indices. A NaN is above infinity.
func TopK(x *Tensor, k int) (values, indices *Tensor) {
	last := len(x.Shape) - 1
	if last < 0 || k < 1 || k > x.Shape[last] {
		refuse("the %d largest of %v", k, x.Shape)
	}
	n := x.Shape[last]
	shape := append(append([]int(nil), x.Shape[:last]...), k)
	values, indices = x.like(shape, nil), &Tensor{Type: nn.TensorInt32, Shape: shape}
	for row := 0; row < len(x.V); row += n {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool {
			a, b := x.V[row+order[i]], x.V[row+order[j]]
			return a > b || math.IsNaN(a) && !math.IsNaN(b)
		})
		for _, i := range order[:k] {
			values.V = append(values.V, x.V[row+i])
			indices.V = append(indices.V, float64(i))
		}
	}
	return values, indices
}
