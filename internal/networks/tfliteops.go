package networks

import (
	"cmp"
	"errors"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// tensorInputs is how many inputs of an operation are tensors that the operator of a file also has, in the same order;
// what follows becomes options, or a tensor of another kind.
var tensorInputs = map[nn.OperationType]int{
	nn.OpConv2D: 3, nn.OpDepthwiseConv2D: 3, nn.OpFullyConnected: 3, nn.OpAdd: 2, nn.OpSub: 2, nn.OpMul: 2,
	nn.OpAveragePool2D: 1, nn.OpMaxPool2D: 1, nn.OpReshape: 1, nn.OpSoftmax: 1, nn.OpTranspose: 2, nn.OpSplit: 1,
	nn.OpSlice: 3, nn.OpMean: 2, nn.OpRsqrt: 1, nn.OpDequantize: 1, nn.OpQuantize: 1,
}

// operation adds what computes op. It knows the operations and forms that the networks of this package have.
func (w *fileWriter) operation(op *nn.Operation) {
	n, ok := tensorInputs[op.Type]
	if op.Type == nn.OpConcatenation {
		n, ok = len(op.Inputs)-1, true
	}
	if !ok {
		w.err = cmp.Or(w.err, errors.New("not known to the writer of files"))
		return
	}
	var inputs, outputs []int
	for _, at := range op.Inputs[:n] {
		inputs = append(inputs, w.tensor(at))
	}
	s := w.scalars(op, n)
	for _, at := range op.Outputs {
		outputs = append(outputs, w.tensor(at))
	}
	w.translate(op, inputs, outputs, s)
}

// translate emits the operator for op; s are the scalars behind its tensors.
func (w *fileWriter) translate(op *nn.Operation, inputs, outputs []int, s []int32) {
	switch op.Type {
	case nn.OpConv2D: // padding, strides, activation, layout, dilations
		w.emit(tflitegen.OpConv2D, inputs, outputs, tflitegen.Conv2DOptions{
			Padding: padding(s[0]), StrideW: s[1], StrideH: s[2], Activation: fused(s[3]), DilationW: s[5], DilationH: s[6],
		})
	case nn.OpDepthwiseConv2D: // with the multiplier behind the strides
		w.emit(tflitegen.OpDepthwiseConv2D, inputs, outputs, tflitegen.DepthwiseConv2DOptions{
			Padding: padding(s[0]), StrideW: s[1], StrideH: s[2], DepthMultiplier: s[3], Activation: fused(s[4]), DilationW: s[6], DilationH: s[7],
		})
	case nn.OpFullyConnected:
		w.emit(tflitegen.OpFullyConnected, inputs, outputs, tflitegen.FullyConnectedOptions{Activation: fused(s[0])})
	case nn.OpAdd:
		w.emit(tflitegen.OpAdd, inputs, outputs, tflitegen.AddOptions{Activation: fused(s[0])})
	case nn.OpSub:
		w.emit(tflitegen.OpSub, inputs, outputs, tflitegen.SubOptions{Activation: fused(s[0])})
	case nn.OpMul:
		w.emit(tflitegen.OpMul, inputs, outputs, tflitegen.MulOptions{Activation: fused(s[0])})
	case nn.OpAveragePool2D, nn.OpMaxPool2D: // padding, strides, window, activation, layout
		code := tflitegen.OpAveragePool2D
		if op.Type == nn.OpMaxPool2D {
			code = tflitegen.OpMaxPool2D
		}
		w.emit(code, inputs, outputs, tflitegen.Pool2DOptions{
			Padding: padding(s[0]), StrideW: s[1], StrideH: s[2], FilterWidth: s[3], FilterHeight: s[4], Activation: fused(s[5]),
		})
	case nn.OpReshape:
		dims := w.ints(op.Inputs[1])
		w.emit(tflitegen.OpReshape, append(inputs, w.vector(dims...)), outputs, tflitegen.ReshapeOptions{NewShape: dims})
	case nn.OpSoftmax:
		w.emit(tflitegen.OpSoftmax, inputs, outputs, tflitegen.SoftmaxOptions{Beta: w.float(op.Inputs[1])})
	case nn.OpConcatenation:
		w.emit(tflitegen.OpConcatenation, inputs, outputs, tflitegen.ConcatenationOptions{Axis: s[0]})
	case nn.OpSplit: // the axis, which a file has before the tensor, and the number of parts
		w.emit(tflitegen.OpSplit, []int{w.vector(s[0]), inputs[0]}, outputs, tflitegen.SplitOptions{NumSplits: s[1]})
	case nn.OpMean:
		w.emit(tflitegen.OpMean, inputs, outputs, tflitegen.ReducerOptions{KeepDims: s[0] != 0})
	case nn.OpTranspose:
		w.emit(tflitegen.OpTranspose, inputs, outputs, nil)
	case nn.OpSlice:
		w.emit(tflitegen.OpSlice, inputs, outputs, nil)
	case nn.OpRsqrt:
		w.emit(tflitegen.OpRsqrt, inputs, outputs, nil)
	case nn.OpDequantize:
		w.emit(tflitegen.OpDequantize, inputs, outputs, nil)
	case nn.OpQuantize:
		w.emit(tflitegen.OpQuantize, inputs, outputs, nil)
	}
}

func padding(scheme int32) tflitegen.Padding {
	if scheme == nn.PaddingValid {
		return tflitegen.Valid
	}
	return tflitegen.Same
}

// fused is an activation of a file; values of the HAL and of files are the same (TfLite's kTfLiteActRelu to Relu6).
func fused(act int32) tflitegen.Activation { return tflitegen.Activation(act) }
