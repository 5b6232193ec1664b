package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// expandSVDF makes a step: what the input adds to the memory of each filter, the product of the memory with the weights
// in time, and the sum over the filters of a unit, which is a product with ones.
func expandSVDF(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.SVDF)
	r, err := x.recurrence(n, true)
	if err != nil {
		return err
	}
	in := r.in
	batch, filters, memory := r.batch, x.graph.T(in[ops.SVDFTimeWeights]).Shape[0], x.graph.T(in[ops.SVDFTimeWeights]).Shape[1]
	units, numbers := filters/a.Rank, a.Rank*memory // of a unit
	if err := x.takeConstants(filters + numbers + 2); err != nil {
		return err
	}
	reshape := func(a ir.ID, shape ...int) ir.ID { return x.into(x.tensor(shape...), nn.OpReshape, nil, a) }

	state := reshape(x.product(in[ops.SVDFInput], in[ops.SVDFFeatureWeights], x.constant(filters, 0)), batch, filters, 1)
	if memory > 1 {
		before := x.into(x.tensor(batch, filters, memory-1), nn.OpSlice, ops.Slice{Begin: []int{0, 0, 0}, Size: []int{batch, filters, memory - 1}},
			reshape(in[ops.SVDFState], batch, filters, memory))
		state = x.into(x.tensor(batch, filters, memory), nn.OpConcatenation, ops.Concatenation{Axis: 2}, before, state)
	}
	weighted := x.mul(reshape(state, batch, units, numbers), reshape(in[ops.SVDFTimeWeights], units, numbers))
	ones := reshape(x.constant(numbers, 1), 1, numbers)
	y := reshape(x.product(reshape(weighted, batch*units, numbers), ones, x.constant(1, 0)), batch, units)
	if bias := in[ops.SVDFBias]; bias != ir.None {
		y = x.add(y, bias)
	}
	y = x.activate(a.Act, y)

	var last ir.ID
	if memory > 1 {
		last = x.into(x.tensor(batch, filters, memory-1), nn.OpSlice, ops.Slice{Begin: []int{0, 0, 1}, Size: []int{batch, filters, memory - 1}}, state)
		last = x.into(x.tensor(batch, filters, memory), nn.OpPad, ops.Padding{Pads: [][2]int{{0, 0}, {0, 0}, {0, 1}}}, last)
	} else {
		zero := reshape(x.constant(1, 0), 1, 1)
		last = x.into(x.tensor(batch, filters), nn.OpPad, ops.Padding{Pads: [][2]int{{0, batch - 1}, {0, filters - 1}}}, zero)
	}
	r.finishAll(n, reshape(last, batch, filters*memory), y)
	return nil
}
