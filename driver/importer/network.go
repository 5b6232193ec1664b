// Package importer opens model files: a file becomes a Network, which holds an nn.Model and what the file says about it.
//
// Each format is a package of its own below this one. It registers itself, so that importing it for its side effects makes
// Open, Read and Parse know it; package nngpu imports all of them.
//
// A file is hostile until proven otherwise: each offset and length is checked before it is believed, what is made from the
// file is bounded by a multiple of its size, and a file that is damaged gives an error. A model that cannot be computed
// exactly as its format defines it is refused as a whole, with everything in the way named (UnsupportedError).
package importer

import "github.com/nngpu/nngpu/driver/nn"

// Network is an imported model with what the file says about it.
type Network struct {
	Model *nn.Model
	// Inputs and Outputs describe Model.Main.Inputs and Model.Main.Outputs, in the same order.
	Inputs, Outputs []Tensor
	// Description is the file's own, such as "MLIR Converted.".
	Description string
	// Operators lists the operators of the file in running order.
	Operators []Operator
	Metadata  Metadata
	// Sized: constants of the model follow from the dimensions that the import knew, because the file computes with shapes.
	// Reshape refuses such a network. A shape that only RESHAPE takes does not count.
	Sized bool
}

// Tensor is an input or output of the network as the file describes it.
type Tensor struct {
	Name string
	// Type is that of the operand, such as "TENSOR_FLOAT32", or the file's own name for elements that no operand has.
	Type string
	// Shape is the shape the model was imported with, after rank 0 became [1].
	Shape []int
	// Signature is the file's shape with -1 for each open dimension; nil when every dimension is fixed. The
	// import takes the file's default for an open dimension, usually 1.
	Signature []int
	// Scale and ZeroPoint map a stored integer q to (q - ZeroPoint) * Scale; Scale is 0 when the tensor is
	// not quantised.
	Scale     float32
	ZeroPoint int32
}

// Operator is one operator of the file.
type Operator struct {
	Index   int
	Name    string // "CONV_2D"
	Version int
	// NN are indexes into Model.Main.Operations of what the operator became; empty when it was resolved at
	// import.
	NN []int
}

// OperatorCount says how often a file has an operator in one version.
type OperatorCount struct {
	Name           string
	Version, Count int
}

// CountOperators lists each operator and version of the file once, in the order of their first appearance.
func (n *Network) CountOperators() []OperatorCount {
	var list []OperatorCount
	index := map[OperatorCount]int{}
	for _, op := range n.Operators {
		key := OperatorCount{Name: op.Name, Version: op.Version}
		i, ok := index[key]
		if !ok {
			i = len(list)
			index[key] = i
			list = append(list, key)
		}
		list[i].Count++
	}
	return list
}

// Metadata is what the model's author wrote about it. It changes nothing in how the model runs.
type Metadata struct {
	Name, Description, Version, Author, License string
	// Inputs and Outputs have one entry for each input and output of the network, or are empty.
	Inputs, Outputs []TensorMetadata
}

// TensorMetadata describes one input or output.
type TensorMetadata struct {
	Name, Description string
	// Image is set for pictures.
	Image bool
	// Mean and Std say how to feed the tensor: (value - Mean) / Std, by channel or one for all; empty when
	// nothing is said. For 8-bit tensors quantisation follows. No element of Std is 0.
	Mean, Std []float32
	// LabelFile names the labels of an output, one for each index of its last dimension, or for each value.
	LabelFile string
	// Labels is that file's lines; empty when the file does not carry it.
	Labels []string
}

// Labels are the names of the classes that the first output scores; nil where the file has none.
func (n *Network) Labels() []string {
	if len(n.Metadata.Outputs) == 0 {
		return nil
	}
	return n.Metadata.Outputs[0].Labels
}
