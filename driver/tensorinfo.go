package driver

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// TensorInfo describes an input or output of a prepared model. It belongs to the caller.
type TensorInfo struct {
	// Name is the model's own; "" where it has none.
	Name string
	// Operand has type, dimensions, scale and zero point, and the scales of channels in Channel, nil without such. 0 is a
	// dimension that requests give or executions find out; a tensor without dimensions has any number of them. Its
	// EncodeFloats and DecodeFloats turn real values into what a request holds, and back.
	nn.Operand
	// Optional inputs may be left out of a request.
	Optional bool
}

// Inputs describes the inputs, in the order that requests have them.
func (p *PreparedModel) Inputs() []TensorInfo {
	list := p.describe(p.signature.Main.Inputs, p.signature.Names.Inputs)
	for i := range list {
		list[i].Optional = p.needed[i] == ""
	}
	return list
}

// Outputs describes the outputs, in the order that requests have them.
func (p *PreparedModel) Outputs() []TensorInfo {
	list := p.describe(p.signature.Main.Outputs, p.signature.Names.Outputs)
	for i := range list {
		list[i].Dims = slices.Clone(p.outputs[i])
	}
	return list
}

func (p *PreparedModel) describe(indexes []uint32, names []string) []TensorInfo {
	list := make([]TensorInfo, len(indexes))
	for i, x := range indexes {
		list[i].Operand = p.signature.Main.Operands[x]
		o := &list[i].Operand
		o.Dims = slices.Clone(o.Dims)
		if q := o.Channel; q != nil {
			o.Channel = &nn.ChannelQuant{Scales: slices.Clone(q.Scales), ChannelDim: q.ChannelDim}
		}
		if i < len(names) {
			list[i].Name = names[i]
		}
	}
	return list
}
