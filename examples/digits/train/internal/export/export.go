// Package export writes a trained digit network as .tflite files.
package export

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
	"github.com/nngpu/nngpu/examples/digits/train/internal/quantize"
)

// LabelFile is the name under which both files refer to their labels. They carry it, too.
const LabelFile = "labels.txt"

// Labels is the content of LabelFile.
const Labels = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"

// Normalization is what the network's input needs: white paper, 255, becomes 0, which is also what SAME padding
// puts around the picture, and black becomes -1.
var Normalization = tflitegen.Normalization{Mean: []float32{255}, Std: []float32{255}}

// Input quantizes normalized pixels without loss: the integer is the pixel's value - 128.
var Input = quantize.Params{Scale: 1.0 / 255, Zero: 127}

// Float returns net as a file of 32-bit floats.
func Float(net *convnet.Network) ([]byte, error) { return marshal(net, nil) }

// Int8 returns net in the 8-bit form q.
func Int8(net *convnet.Network, q *quantize.Network) ([]byte, error) {
	if len(q.Layers) != len(net.Layers) {
		return nil, fmt.Errorf("%d quantized layers for %d layers", len(q.Layers), len(net.Layers))
	}
	return marshal(net, q)
}

// graph collects a subgraph. With q nil it is one of floats.
type graph struct {
	q  *quantize.Network
	sg tflitegen.Subgraph
}

func marshal(net *convnet.Network, q *quantize.Network) ([]byte, error) {
	g := &graph{q: q}
	in := net.Layers[0].In()
	var inputQuant quantize.Params
	if q != nil {
		inputQuant = q.Input
	}
	at := g.activation("image", []int{1, in.H, in.W, in.C}, inputQuant)
	g.sg.Inputs = []int{at}
	flat := false
	for i, l := range net.Layers {
		name := fmt.Sprintf("layer%d", i)
		switch l := l.(type) {
		case *convnet.Conv:
			at = g.conv(i, name, at, l)
		case *convnet.MaxPool:
			at = g.pool(name, at, l)
		case *convnet.Dense:
			if !flat {
				at = g.flatten(name, at, l.In().Len())
				flat = true
			}
			at = g.dense(i, name, at, l)
		default:
			return nil, fmt.Errorf("layer %d: cannot export a %T", i, l)
		}
	}
	probabilities := g.activation("probabilities", []int{1, net.Classes()}, quantize.Softmax)
	g.op(tflitegen.OpSoftmax, 2, at, nil, probabilities, tflitegen.SoftmaxOptions{Beta: 1})
	g.sg.Outputs = []int{probabilities}
	g.sg.Name = "main"
	kind := "float32"
	if q != nil {
		kind = "int8"
	}
	m := tflitegen.Model{
		Description: "nngpu example: digits, " + kind,
		Subgraphs:   []tflitegen.Subgraph{g.sg},
		Files:       []tflitegen.Blob{{Name: LabelFile, Data: []byte(Labels)}},
		Info: &tflitegen.ModelInfo{
			Name:        "digits",
			Description: "Reads a printed digit, dark on light, from a grey picture.",
			Version:     "1",
			Inputs: []tflitegen.TensorInfo{{
				Name:        "image",
				Description: "The picture; white is 255.",
				Image:       &tflitegen.ImageInfo{Color: tflitegen.ColorGray},
				Normalize:   &Normalization,
			}},
			Outputs: []tflitegen.TensorInfo{{
				Name:        "probabilities",
				Description: "Probability of each digit.",
				LabelFile:   LabelFile,
			}},
		},
	}
	return m.Marshal()
}

func (g *graph) add(t tflitegen.Tensor) int {
	g.sg.Tensors = append(g.sg.Tensors, t)
	return len(g.sg.Tensors) - 1
}

// activation adds a tensor that is computed; p counts only in a quantized graph.
func (g *graph) activation(name string, shape []int, p quantize.Params) int {
	t := tflitegen.Tensor{Name: name, Shape: shape, Type: tflitegen.Float32}
	if g.q != nil {
		t.Type = tflitegen.Int8
		t.Quant = tflitegen.PerTensor(p.Scale, int64(p.Zero))
	}
	return g.add(t)
}

// op adds an operator on the tensor in and constants. quantizedVersion is the operator's version with int8; its
// first version computes floats.
func (g *graph) op(code tflitegen.Operator, quantizedVersion, in int, constants []int, out int, o tflitegen.Options) {
	version := 1
	if g.q != nil {
		version = quantizedVersion
	}
	g.sg.Operators = append(g.sg.Operators, tflitegen.Op{
		Code:    code,
		Version: version,
		Inputs:  append([]int{in}, constants...),
		Outputs: []int{out},
		Options: o,
	})
}

// output is how the output of layer i is quantized.
func (g *graph) output(i int) quantize.Params {
	if g.q == nil {
		return quantize.Params{}
	}
	return g.q.Layers[i].Output()
}

// quantOf is how tensor t, made by activation, is quantized.
func (g *graph) quantOf(t int) quantize.Params {
	q := g.sg.Tensors[t].Quant
	if len(q.Scale) == 0 {
		return quantize.Params{}
	}
	return quantize.Params{Scale: q.Scale[0], Zero: int32(q.ZeroPoint[0])}
}

func (g *graph) conv(i int, name string, in int, l *convnet.Conv) int {
	shape := []int{l.Out().C, l.Kernel, l.Kernel, l.In().C}
	var quantized *quantize.Weights
	if g.q != nil {
		quantized = &g.q.Layers[i].(*quantize.Conv).Weights
	}
	constants := g.weights(name, shape, l.Weights, l.Bias, quantized)
	out := g.activation(name, spatial(l.Out()), g.output(i))
	g.op(tflitegen.OpConv2D, 3, in, constants, out, tflitegen.Conv2DOptions{
		Padding: tflitegen.Same, Activation: tflitegen.ActivationRelu,
	})
	return out
}

func (g *graph) dense(i int, name string, in int, l *convnet.Dense) int {
	shape := []int{l.Out().Len(), l.In().Len()}
	var quantized *quantize.Weights
	if g.q != nil {
		quantized = &g.q.Layers[i].(*quantize.Dense).Weights
	}
	constants := g.weights(name, shape, l.Weights, l.Bias, quantized)
	out := g.activation(name, []int{1, l.Out().Len()}, g.output(i))
	activation := tflitegen.ActivationNone
	if l.Relu {
		activation = tflitegen.ActivationRelu
	}
	g.op(tflitegen.OpFullyConnected, 4, in, constants, out, tflitegen.FullyConnectedOptions{Activation: activation})
	return out
}

func (g *graph) pool(name string, in int, l *convnet.MaxPool) int {
	out := g.activation(name, spatial(l.Out()), g.quantOf(in))
	g.op(tflitegen.OpMaxPool2D, 2, in, nil, out, tflitegen.Pool2DOptions{
		Padding: tflitegen.Same, StrideW: 2, StrideH: 2, FilterWidth: 2, FilterHeight: 2,
	})
	return out
}

func (g *graph) flatten(name string, in, n int) int {
	shape := g.add(tflitegen.Tensor{
		Name: name + "/shape", Shape: []int{2}, Type: tflitegen.Int32, Data: int32Bytes([]int32{1, int32(n)}),
	})
	out := g.activation(name+"/flat", []int{1, n}, g.quantOf(in))
	g.op(tflitegen.OpReshape, 1, in, []int{shape}, out, tflitegen.ReshapeOptions{NewShape: []int32{1, int32(n)}})
	return out
}

// weights adds weights and bias: the floats, or the quantized ones where there are any.
func (g *graph) weights(name string, shape []int, w, bias []float32, q *quantize.Weights) []int {
	weightTensor := tflitegen.Tensor{Name: name + "/weights", Shape: shape}
	biasTensor := tflitegen.Tensor{Name: name + "/bias", Shape: []int{len(bias)}}
	if q == nil {
		weightTensor.Data = floatBytes(w)
		biasTensor.Data = floatBytes(bias)
	} else {
		weightTensor.Type = tflitegen.Int8
		weightTensor.Quant = scales(q.Scales)
		weightTensor.Data = int8Bytes(q.Values)
		biasScales := make([]float32, len(q.Scales))
		for i, s := range q.Scales {
			biasScales[i] = q.In.Scale * s
		}
		biasTensor.Type = tflitegen.Int32
		biasTensor.Quant = scales(biasScales)
		biasTensor.Data = int32Bytes(q.Bias)
	}
	return []int{g.add(weightTensor), g.add(biasTensor)}
}

// scales is a symmetric quantization along dimension 0, or of the whole tensor for a single scale.
func scales(s []float32) tflitegen.Quant { return tflitegen.PerChannel(0, s) }

func spatial(s convnet.Shape) []int { return []int{1, s.H, s.W, s.C} }

func floatBytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func int32Bytes(v []int32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func int8Bytes(v []int8) []byte {
	b := make([]byte, len(v))
	for i, x := range v {
		b[i] = byte(x)
	}
	return b
}
