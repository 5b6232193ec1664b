package validate_test

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// The mutations of the driver tests of the NN HAL (ValidateModel): each makes a valid model of operations
// of the table invalid.

// removeOperand takes operand i out of the main graph; references to it go, higher indexes shift.
func removeOperand(m *nn.Model, i uint32) {
	g := &m.Main
	g.Operands = append(g.Operands[:i], g.Operands[i+1:]...)
	shift := func(list []uint32) []uint32 {
		var out []uint32
		for _, x := range list {
			switch {
			case x > i:
				out = append(out, x-1)
			case x < i:
				out = append(out, x)
			}
		}
		return out
	}
	for k := range g.Operations {
		g.Operations[k].Inputs = shift(g.Operations[k].Inputs)
		g.Operations[k].Outputs = shift(g.Operations[k].Outputs)
	}
	g.Inputs, g.Outputs = shift(g.Inputs), shift(g.Outputs)
}

// appendInput gives operation i a further INT32 model input.
func appendInput(m *nn.Model, i int) {
	g := &m.Main
	n := uint32(len(g.Operands))
	g.Operands = append(g.Operands, nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput})
	g.Inputs = append(g.Inputs, n)
	g.Operations[i].Inputs = append(g.Operations[i].Inputs, n)
}

// appendOutput gives operation i a further INT32 output.
func appendOutput(m *nn.Model, i int) {
	g := &m.Main
	n := uint32(len(g.Operands))
	g.Operands = append(g.Operands, nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphOutput})
	g.Outputs = append(g.Outputs, n)
	g.Operations[i].Outputs = append(g.Operations[i].Outputs, n)
}

// retype gives o the type t and makes dimensions, scale and zero point legal for it.
func retype(o *nn.Operand, t nn.OperandType) {
	o.Type, o.ZeroPoint, o.Channel = t, 0, nil
	if !t.IsTensor() {
		o.Dims = nil
	} else if len(o.Dims) == 0 {
		o.Dims = nn.Dims{1}
	}
	switch t {
	case nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant16Asymm, nn.TensorQuant16Symm:
		if o.Scale == 0 {
			o.Scale = 1
		}
	case nn.TensorQuant8PerChannel:
		o.Scale = 0
		o.Channel = &nn.ChannelQuant{Scales: make([]float32, o.Dims[0])}
		for i := range o.Channel.Scales {
			o.Channel.Scales[i] = 1
		}
	default:
		o.Scale = 0
	}
	if t == nn.SubgraphRef {
		o.Lifetime, o.Location = nn.Subgraph, nn.Location{}
	}
}

// mayRetype: changes of type that need not make the model invalid (rule V9).
func mayRetype(m *nn.Model, operand uint32, t nn.OperandType) bool {
	old := m.Main.Operands[operand].Type
	if old == t {
		return true
	}
	both := func(list ...nn.OperandType) bool { return slices.Contains(list, old) && slices.Contains(list, t) }
	for _, op := range m.Main.Operations {
		for k, x := range append(append([]uint32(nil), op.Inputs...), op.Outputs...) {
			if x != operand {
				continue
			}
			switch op.Type {
			case nn.OpCast:
				if both(nn.TensorFloat16, nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned) {
					return true
				}
			case nn.OpRank:
				if k == 0 && t.IsTensor() {
					return true
				}
			case nn.OpAxisAlignedBboxTransform:
				if k == 1 && both(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned) {
					return true
				}
			case nn.OpLshProjection:
				if k == 1 && both(nn.TensorFloat16, nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm) {
					return true
				}
			case nn.OpRandomMultinomial:
				if k == 0 && both(nn.TensorFloat16, nn.TensorFloat32) {
					return true
				}
			case nn.OpQuantize:
				if both(nn.TensorFloat16, nn.TensorFloat32) || both(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned) {
					return true
				}
			case nn.OpDequantize:
				if both(nn.TensorFloat16, nn.TensorFloat32) ||
					both(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel) {
					return true
				}
			case nn.OpArgmax, nn.OpArgmin:
				if both(nn.TensorFloat16, nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned) {
					return true
				}
			case nn.OpConv2D, nn.OpDepthwiseConv2D:
				if k == 1 && both(nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8PerChannel) {
					return true
				}
			}
		}
	}
	return false
}

// mayDrop: inputs that may be left off (rule V15).
func mayDrop(m *nn.Model, op *nn.Operation, k int) bool {
	n := len(op.Inputs)
	isBool := m.Main.Operands[op.Inputs[k]].Type == nn.Bool
	switch op.Type {
	case nn.OpConv2D, nn.OpDepthwiseConv2D, nn.OpAveragePool2D, nn.OpMaxPool2D, nn.OpL2Pool2D,
		nn.OpSpaceToDepth, nn.OpDepthToSpace, nn.OpSpaceToBatchNd, nn.OpBatchToSpaceNd:
		return isBool && k == n-1
	case nn.OpResizeBilinear:
		return k >= 3
	case nn.OpResizeNearestNeighbor:
		return k >= 4 || k == 3 && n > 4
	case nn.OpSoftmax:
		return k == 2
	case nn.OpL2Normalization:
		return k == 1
	case nn.OpLocalResponseNormalization:
		return k == 5
	case nn.OpConcatenation:
		return n > 2 && k < n-1
	}
	return false
}

// mayAppend: operations to which an INT32 may be added (rule V17).
func mayAppend(op *nn.Operation) bool {
	switch op.Type {
	case nn.OpSoftmax:
		return len(op.Inputs) == 2
	case nn.OpL2Normalization:
		return len(op.Inputs) == 1
	case nn.OpLocalResponseNormalization:
		return len(op.Inputs) == 5
	case nn.OpResizeBilinear, nn.OpResizeNearestNeighbor:
		return len(op.Inputs) < 6
	}
	return false
}
