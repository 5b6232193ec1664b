package networks

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// window is that of a convolution or a pool: square, padded SAME unless valid.
type window struct {
	size, stride int
	valid        bool
}

func (w window) padding() int32 {
	if w.valid {
		return nn.PaddingValid
	}
	return nn.PaddingSame
}

// conv is a convolution with so many output channels; its activation has the range called name.
func (n *network) conv(name string, x uint32, channels int, w window, act nn.Activation) uint32 {
	return n.convAs(name, name, x, channels, w, act, 1)
}

// convAs is conv with a separate name for the range, and weights times gain.
func (n *network) convAs(name, rangeName string, x uint32, channels int, w window, act nn.Activation, gain float64) uint32 {
	depth := int(n.b.Operand(x).Dims[3])
	d := nn.Dims{uint32(channels), uint32(w.size), uint32(w.size), uint32(depth)}
	filter, bias := n.weights(name, x, d, 0, w.size*w.size*depth, act, gain)
	c := layers.Conv{Padding: w.padding(), Stride: [2]int{w.stride, w.stride}, Act: act}
	return n.result(rangeName, n.b.Conv2D(x, filter, bias, c, n.quant(rangeName)...))
}

// depthwise is a depthwise convolution of 3x3.
func (n *network) depthwise(name string, x uint32, stride int, act nn.Activation) uint32 {
	d := nn.Dims{1, 3, 3, n.b.Operand(x).Dims[3]}
	filter, bias := n.weights(name, x, d, 3, 9, act, 1)
	c := layers.Conv{Padding: nn.PaddingSame, Stride: [2]int{stride, stride}, Act: act}
	return n.result(name, n.b.DepthwiseConv2D(x, filter, bias, 1, c, n.quant(name)...))
}

// dense multiplies rows by weights [units, depth], of the size that preserves the variance, times gain.
func (n *network) dense(name string, x uint32, units int, act nn.Activation, gain float64) uint32 {
	d := nn.Dims{uint32(units), n.b.Operand(x).Dims[1]}
	w, bias := n.weights(name, x, d, 0, int(d[1]), act, gain)
	return n.result(name, n.b.FullyConnected(x, w, bias, act, n.quant(name)...))
}

// add is the sum of two branches.
func (n *network) add(name string, x, y uint32, act nn.Activation) uint32 {
	return n.result(name, n.b.Add(x, y, act, n.quant(name)...))
}

// concatenate joins channels, which share the range of a name.
func (n *network) concatenate(name string, axis int, x ...uint32) uint32 {
	return n.result(name, n.b.Concatenation(axis, x, n.quant(name)...))
}

// maxPool is a pool of 3x3 pixels, every other one.
func (n *network) maxPool(x uint32, valid bool) uint32 {
	w := window{3, 2, valid}
	return n.b.MaxPool2D(x, layers.Pool{Padding: w.padding(), Window: [2]int{3, 3}, Stride: [2]int{2, 2}})
}

// average is the mean of each channel of a picture, as rows.
func (n *network) average(x uint32) uint32 {
	d := n.b.Operand(x).Dims
	if len(d) != 4 { // an earlier mistake, which the builder keeps
		return x
	}
	y := n.b.AveragePool2D(x, layers.Pool{Padding: nn.PaddingValid, Window: [2]int{int(d[1]), int(d[2])}})
	return n.b.Reshape(y, int(d[0]), int(d[3]))
}

// classes is how many a classifier knows.
const classes = 1000

// classify ends a classifier: scores of the classes from rows of features. gain makes the scores differ as much as
// those of a trained one: neither do all classes have the same probability nor has one all of it.
func (n *network) classify(x uint32, gain float64) {
	n.output(n.b.Softmax(n.dense("scores", x, classes, linear, gain), 1, -1))
}

// numbered is the name of a part of the ith block.
func numbered(block string, i int, part string) string { return fmt.Sprintf("%s%d/%s", block, i, part) }
