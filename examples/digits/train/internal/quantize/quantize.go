// Package quantize turns a trained network into 8-bit integers and runs it with TensorFlow Lite's integer
// arithmetic.
//
// Values are int8: real = scale * (q - zero). Activations have one scale and zero point a tensor, found from the
// range they take over calibration data; convolution weights have one scale per output channel, dense weights one
// for all, both with zero point 0. Biases are int32 with the scale input scale * weight scale.
package quantize

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
)

// Params are scale and zero point of a tensor.
type Params struct {
	Scale float32
	Zero  int32
}

// Quantize returns the integer nearest to x.
func (p Params) Quantize(x float32) int8 {
	q := math.Round(float64(x)/float64(p.Scale)) + float64(p.Zero)
	return int8(min(max(q, math.MinInt8), math.MaxInt8))
}

// rangeParams covers lo to hi, and 0, which padding and RELU need exactly, with all 256 values.
func rangeParams(lo, hi float32) Params {
	lo, hi = min(lo, 0), max(hi, 0)
	if lo == hi {
		hi = 1
	}
	scale := (hi - lo) / 255
	zero := math.Round(math.MinInt8 - float64(lo)/float64(scale))
	return Params{Scale: scale, Zero: int32(min(max(zero, math.MinInt8), math.MaxInt8))}
}

// Softmax is how TensorFlow Lite wants probabilities quantized: 0 is -128, and 1 just out of reach.
var Softmax = Params{Scale: 1.0 / 256, Zero: math.MinInt8}

// Network is a quantized network; Layers[i] stems from layer i of the float network.
type Network struct {
	Input  Params
	Layers []Layer
}

// Layer is one integer step. Forward reads only the layer, so goroutines may share it.
type Layer interface {
	Forward(x, y []int8)
	// Output is how the layer's output is quantized.
	Output() Params
}

// Quantize converts net. input is how its input is quantized; calibration are samples that show which ranges the
// activations take.
func Quantize(net *convnet.Network, input Params, calibration []convnet.Sample) (*Network, error) {
	if len(calibration) == 0 {
		return nil, fmt.Errorf("quantization needs calibration samples")
	}
	lo, hi := ranges(net, calibration)
	q := &Network{Input: input}
	in := input
	for i, l := range net.Layers {
		var layer Layer
		switch l := l.(type) {
		case *convnet.Conv:
			layer = &Conv{
				Weights: newWeights(l.Weights, l.Bias, len(l.Bias), in, rangeParams(lo[i], hi[i]), true),
				Float:   l,
			}
		case *convnet.Dense:
			layer = &Dense{
				Weights: newWeights(l.Weights, l.Bias, 1, in, rangeParams(lo[i], hi[i]), l.Relu),
				Float:   l,
			}
		case *convnet.MaxPool:
			layer = &MaxPool{Params: in, Float: l}
		default:
			return nil, fmt.Errorf("layer %d: cannot quantize a %T", i, l)
		}
		q.Layers = append(q.Layers, layer)
		in = layer.Output()
	}
	return q, nil
}

// ranges returns the least and the largest output of each layer over the samples.
func ranges(net *convnet.Network, samples []convnet.Sample) (lo, hi []float32) {
	lo = make([]float32, len(net.Layers))
	hi = make([]float32, len(net.Layers))
	w := convnet.NewWorkspace(net)
	for _, s := range samples {
		w.Forward(s.X)
		for i := range net.Layers {
			for _, v := range w.Activation(i) {
				lo[i], hi[i] = min(lo[i], v), max(hi[i], v)
			}
		}
	}
	return lo, hi
}

// Forward runs the network on x and returns the logits. The class of the largest is that of the largest
// probability: softmax keeps the order.
func (n *Network) Forward(x []float32) []int8 {
	act := make([]int8, len(x))
	for i, v := range x {
		act[i] = n.Input.Quantize(v)
	}
	for _, l := range n.Layers {
		next := make([]int8, outLen(l))
		l.Forward(act, next)
		act = next
	}
	return act
}

func outLen(l Layer) int {
	switch l := l.(type) {
	case *Conv:
		return l.Float.Out().Len()
	case *Dense:
		return l.Float.Out().Len()
	case *MaxPool:
		return l.Float.Out().Len()
	}
	panic(fmt.Sprintf("quantize: unknown layer %T", l))
}

// Predict returns the class n gives each sample.
func Predict(n *Network, samples []convnet.Sample) []int {
	classes := make([]int, len(samples))
	const parts = 16
	convnet.Parallel(parts, func(p int) {
		for i := p; i < len(samples); i += parts {
			classes[i] = convnet.Argmax(n.Forward(samples[i].X))
		}
	})
	return classes
}
