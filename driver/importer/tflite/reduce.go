package tflite

import "github.com/nngpu/nngpu/driver/nn"

// mean: the HAL's operation keeps scale and zero point. Where the file's do not agree and the table insists,
// the mean is computed in float32, so that it is still rounded only once, to the output's steps.
func mean(c *call) error {
	keep := int32(0)
	if c.options.bool(0) {
		keep = 1
	}
	return c.overAxes(nn.OpMean, keep)
}

// reduce translates the operators of the HAL's REDUCE family.
func reduce(op nn.OperationType) func(*call) error {
	return func(c *call) error { return c.overAxes(op, c.options.bool(0)) }
}

// arg translates ARG_MAX and ARG_MIN, which drop the axis.
func arg(op nn.OperationType) func(*call) error {
	return func(c *call) error { return c.finish(op, c.data(0), c.int(1, "axis")) }
}

// overAxes emits op, which reduces the axes of input 1; keep is its parameter.
func (c *call) overAxes(op nn.OperationType, keep any) error {
	x, axes := c.data(0), c.ints(1, "axes")
	s := c.result()
	if len(axes) == 0 { // reduces nothing
		return c.bind(c.copy(x))
	}
	return c.bind(c.emit(op, s, x, axes, keep))
}

func topK(c *call) error { return c.finishAll(nn.OpTopkV2, c.data(0), c.int(1, "k")) }
