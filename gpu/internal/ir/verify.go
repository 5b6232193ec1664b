package ir

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/ops"
)

//go:generate go tool stringer -linecomment -output=names_gen.go -type=State

// State says how far the passes have brought a graph. Each promises all that those before it do, and more.
type State int

// The states in the order of the passes.
const (
	// Imported: every tensor has one writer, which comes before its readers; constants are of the right size.
	Imported State = iota // imported
	// Inferred: every shape that is used is known, and attributes are of the type that their operation has.
	Inferred // inferred
	// Normal: images are NHWC.
	Normal // normal
)

// Verify checks what state s promises.
func (g *Graph) Verify(s State) error {
	v := verifier{g, s, make([]bool, len(g.Tensors))}
	for i := range g.Tensors {
		if g.Tensors[i].Const != nil {
			if err := v.constant(ID(i)); err != nil {
				return err
			}
		}
	}
	for _, id := range g.Inputs {
		if id == None {
			continue
		}
		if err := v.write(id); err != nil {
			return fmt.Errorf("input %d: %w", id, err)
		}
	}
	for i := range g.Nodes {
		if err := v.node(&g.Nodes[i]); err != nil {
			return fmt.Errorf("node %d (%v) %w", i, g.Nodes[i].Op, err)
		}
	}
	for _, id := range g.Outputs {
		if !v.readable(id) {
			return fmt.Errorf("output %d is never written", id)
		}
	}
	return nil
}

// verifier goes through a graph in running order.
type verifier struct {
	*Graph
	state   State
	written []bool // by tensor
}

func (v *verifier) readable(id ID) bool { return id >= 0 && int(id) < len(v.Tensors) && v.written[id] }

func (v *verifier) constant(id ID) error {
	t := v.T(id)
	if !t.Known() {
		return fmt.Errorf("constant %d has shape %v", id, t.Shape)
	}
	if want := t.Elements() * t.Type.Bytes(); len(t.Const) != want {
		return fmt.Errorf("constant %d has %d bytes, want %d", id, len(t.Const), want)
	}
	v.written[id] = true
	return nil
}

// write notes that tensor id gets its value.
func (v *verifier) write(id ID) error {
	if id < 0 || int(id) >= len(v.Tensors) {
		return fmt.Errorf("is no tensor")
	}
	if v.written[id] {
		return fmt.Errorf("has a value already")
	}
	if v.state >= Inferred && !v.T(id).Known() {
		return fmt.Errorf("has shape %v", v.T(id).Shape)
	}
	v.written[id] = true
	return nil
}

func (v *verifier) node(n *Node) error {
	for _, id := range n.In {
		if id != None && !v.readable(id) {
			return fmt.Errorf("reads tensor %d before it is written", id)
		}
	}
	for _, id := range n.Out {
		if err := v.write(id); err != nil {
			return fmt.Errorf("writes tensor %d, which %w", id, err)
		}
	}
	if v.state < Inferred {
		return nil
	}
	row := ops.Lookup(n.Op)
	if row == nil {
		return fmt.Errorf("is not in the table of operations")
	}
	if !row.Fits(n.Attrs) {
		return fmt.Errorf("has attributes of type %T", n.Attrs)
	}
	if a, ok := n.Attrs.(ops.Imaged); ok && v.state >= Normal && a.ChannelsFirst() {
		return fmt.Errorf("is NCHW")
	}
	return nil
}
