package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpSvdf, kernel{inputs: []int{7}, optional: []int{3}, runs: svdf})
}

// svdf is SVDF. The memory of a filter is a queue: it is read with its newest number at the end, and handed on with room
// for the next.
func svdf(c *call) []*Tensor {
	x, feature, time, bias, state := c.in[0], c.in[1], c.in[2], c.in[3], c.in[4]
	act, rank := cellActivations[c.int(6)], c.int(5)
	if act == nil || rank < 1 {
		refuse("activation %d, rank %d", c.int(6), rank)
	}
	floatTensors(x, feature, time, bias, state)
	filters, memory, batch := time.Shape[0], time.Shape[1], x.Shape[0]
	next := New(c.out, state.Shape...)
	y := New(c.out, batch, filters/rank)
	for b := range batch {
		added := product(feature, stateOf(x, b))
		sums := make([]float64, filters/rank)
		for f, newest := range added {
			queue := append(append([]float64(nil), state.V[(b*filters+f)*memory:][:memory-1]...), newest)
			for m, v := range queue {
				sums[f/rank] += v * time.V[f*memory+m]
				if m > 0 {
					next.V[(b*filters+f)*memory+m-1] = c.out.round(v)
				}
			}
		}
		for u := range sums {
			if bias != nil {
				sums[u] += bias.V[u]
			}
			sums[u] = act(sums[u])
		}
		setState(y, b, sums)
	}
	return []*Tensor{next, y}
}
