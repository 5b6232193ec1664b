// Package ir is the compiler's view of a model: a graph of tensors and of nodes in running order. State says what
// holds of it between two passes.
//
// Node operations are those of the NN HAL with decoded parameters, so that a pass reads like the
// specification. Every tensor has at most one producer. The text form prints and parses. Knows no
// Vulkan and no kernel.
package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// ID names a tensor of a graph: its index in Graph.Tensors. None stands for an operand left off.
type ID int

// None is the ID of an operand that is left off.
const None ID = -1

// Tensor is a value of the graph.
type Tensor struct {
	Type  nn.OperandType
	Shape []int // all positive; empty for a scalar; before Inferred 0 for an open dimension, empty for an open rank
	Scale float32
	Zero  int32
	// Channel scales, only TensorQuant8PerChannel.
	Channel *nn.ChannelQuant
	// Const is the dense, row-major, little-endian value of a constant; nil otherwise. It may alias the
	// model's memory and is not changed.
	Const []byte
}

// Elements is the number of elements.
func (t *Tensor) Elements() int { return Product(t.Shape) }

// Product of dimensions; 1 for none.
func Product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Known reports whether rank and dimensions are known.
func (t *Tensor) Known() bool {
	for _, d := range t.Shape {
		if d <= 0 {
			return false
		}
	}
	return len(t.Shape) > 0 || !t.Type.IsTensor()
}

// SameQuant reports whether t and u have the same scale and zero point.
func (t *Tensor) SameQuant(u *Tensor) bool { return t.Scale == u.Scale && t.Zero == u.Zero }

// Node is one operation. In and Out hold tensors only; parameters are in Attrs, of the type that package ops has for the
// operation. For the operations with optional tensors In has None in their place.
type Node struct {
	Op    nn.OperationType
	In    []ID
	Out   []ID
	Attrs ops.Attrs
	// Source is the position of the operation in the model, for messages; -1 for one that a pass made.
	Source int
	// Fused are the operations that passes made a part of this one, for profiles.
	Fused []Fused
}

// Fused is an operation of the model that another one does as well.
type Fused struct {
	Op     nn.OperationType
	Source int
}

// Graph is a model, or what passes made of one. Nodes are in running order.
type Graph struct {
	Tensors []Tensor
	Nodes   []Node
	Inputs  []ID // None for an omitted input
	Outputs []ID
	// Relaxed allows float32 arithmetic with the range and precision of float16.
	Relaxed bool
}

// T returns tensor id.
func (g *Graph) T(id ID) *Tensor { return &g.Tensors[id] }

// Add appends a tensor and returns its ID.
func (g *Graph) Add(t Tensor) ID {
	g.Tensors = append(g.Tensors, t)
	return ID(len(g.Tensors) - 1)
}

// Label names node n for dumps and profiles: "CONV_2D #3 + RELU6 #4".
func (n *Node) Label() string {
	var labels []string
	if n.Op != ops.Elementwise { // which is nothing beside what it does
		labels = append(labels, labelOf(n.Op, n.Source))
	}
	for _, f := range n.Fused {
		labels = append(labels, labelOf(f.Op, f.Source))
	}
	return strings.Join(labels, " + ")
}

func labelOf(op nn.OperationType, source int) string {
	op = ops.Plain(op)
	if source < 0 {
		return op.String()
	}
	return fmt.Sprintf("%v #%d", op, source)
}

// Fuse notes that n does what o did.
func (n *Node) Fuse(o *Node) {
	n.Fused = append(append(slices.Clip(n.Fused), Fused{o.Op, o.Source}), o.Fused...)
}

// Where names node n for messages.
func (n *Node) Where() string {
	if n.Source < 0 {
		return fmt.Sprintf("%v added by the compiler", n.Op)
	}
	return fmt.Sprintf("operation %d (%v)", n.Source, n.Op)
}

// Uses counts for each tensor how many node inputs and graph outputs refer to it.
func (g *Graph) Uses() []int {
	uses := make([]int, len(g.Tensors))
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].In {
			if id != None {
				uses[id]++
			}
		}
	}
	for _, id := range g.Outputs {
		uses[id]++
	}
	return uses
}

// Producers returns for each tensor the index of the node that writes it, -1 for inputs and constants.
func (g *Graph) Producers() []int {
	p := make([]int, len(g.Tensors))
	for i := range p {
		p[i] = -1
	}
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Out {
			p[id] = i
		}
	}
	return p
}
