// Package convnet trains small convolutional classifiers on the CPU.
//
// Tensors are float32, one sample at a time, height x width x channels, row-major; weights lie as TensorFlow Lite
// lays them out: [out, kernel height, kernel width, in] for convolutions, [out, in] for dense layers. Training is
// deterministic: the result depends on the seed and the data, not on the number of goroutines. (Go may fuse a
// multiplication and an addition on other processor architectures, so only runs on one architecture agree bit for
// bit.)
package convnet

import (
	"fmt"
	"math/rand/v2"
)

// Shape is the extent of one sample.
type Shape struct{ H, W, C int }

// Len is the number of elements.
func (s Shape) Len() int { return s.H * s.W * s.C }

// Layer is one step of a network. Its methods read the layer's parameters and write only their arguments, so
// goroutines may share a layer as long as none changes the parameters.
type Layer interface {
	// In and Out are the shapes of one sample.
	In() Shape
	Out() Shape

	// Params are the trainable values, in the order Backward expects their gradients; nil for none.
	Params() [][]float32

	// ScratchLen is how many elements of scratch Forward and Backward need.
	ScratchLen() int

	// Forward computes y from x.
	Forward(x, y, scratch []float32)

	// Backward adds the loss's gradients over the parameters to grads, and, unless dx is nil, overwrites dx with the
	// gradient over x. y is what Forward gave for x; dy is the gradient over y.
	Backward(x, y, dy, dx []float32, grads [][]float32, scratch []float32)
}

// Network is a chain of layers that ends in one logit per class; probabilities are the softmax of the logits.
type Network struct{ Layers []Layer }

// New chains layers, checking that the shapes fit.
func New(layers ...Layer) (*Network, error) {
	if len(layers) == 0 {
		return nil, fmt.Errorf("a network needs a layer")
	}
	for i := 1; i < len(layers); i++ {
		// Dense layers read the elements of any shape in order.
		if from, to := layers[i-1].Out(), layers[i].In(); from.Len() != to.Len() {
			return nil, fmt.Errorf("layer %d takes %v, layer %d gives %v", i, to, i-1, from)
		}
	}
	return &Network{Layers: layers}, nil
}

// Classes is the number of logits.
func (n *Network) Classes() int { return n.Layers[len(n.Layers)-1].Out().Len() }

// params lists all trainable values.
func (n *Network) params() [][]float32 {
	var all [][]float32
	for _, l := range n.Layers {
		all = append(all, l.Params()...)
	}
	return all
}

// Workspace holds the intermediate values of one sample; one goroutine uses it at a time.
type Workspace struct {
	net     *Network
	acts    [][]float32 // acts[i] is the input of layer i, the last one the logits
	deltas  [][]float32 // gradients over acts
	scratch []float32
}

// NewWorkspace returns a workspace for n.
func NewWorkspace(n *Network) *Workspace {
	w := &Workspace{net: n}
	need := 0
	for _, l := range n.Layers {
		w.acts = append(w.acts, make([]float32, l.In().Len()))
		w.deltas = append(w.deltas, make([]float32, l.In().Len()))
		need = max(need, l.ScratchLen())
	}
	w.acts = append(w.acts, make([]float32, n.Classes()))
	w.deltas = append(w.deltas, make([]float32, n.Classes()))
	w.scratch = make([]float32, need)
	return w
}

// Forward runs the network on x and returns the logits, valid until the next call.
func (w *Workspace) Forward(x []float32) []float32 {
	copy(w.acts[0], x)
	for i, l := range w.net.Layers {
		l.Forward(w.acts[i], w.acts[i+1], w.scratch)
	}
	return w.acts[len(w.acts)-1]
}

// Activation is the output of layer i in the last Forward, valid until the next one.
func (w *Workspace) Activation(i int) []float32 { return w.acts[i+1] }

// gradient runs x forward and back, adds the gradients to grads, and returns the loss.
func (w *Workspace) gradient(x []float32, class int, grads [][]float32) float64 {
	logits := w.Forward(x)
	last := len(w.net.Layers)
	loss := crossEntropy(logits, class, w.deltas[last])
	end := len(grads)
	for i := last - 1; i >= 0; i-- {
		l := w.net.Layers[i]
		start := end - len(l.Params())
		var dx []float32
		if i > 0 {
			dx = w.deltas[i]
		}
		l.Backward(w.acts[i], w.acts[i+1], w.deltas[i+1], dx, grads[start:end], w.scratch)
		end = start
	}
	return loss
}

// Argmax is the index of the largest value, the first of equals.
func Argmax[T float32 | int8](v []T) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

// heInit fills w with normal values of variance 2/fanIn (He et al. 2015), which keeps the scale of activations
// through layers with RELU.
func heInit(w []float32, fanIn int, rng *rand.Rand) {
	sigma := sqrt(2 / float64(fanIn))
	for i := range w {
		w[i] = float32(rng.NormFloat64() * sigma)
	}
}
