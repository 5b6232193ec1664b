// Package ops is the table of operations: which operands each takes, of which types, and what the shapes of the results
// are. Validation, importers and the compiler read the same rows, so that they cannot disagree, and docs/operators.md
// is written from them.
//
// One family a file; adding an operation is adding a row. Facts are those of the NN HAL (feature levels 1
// to 8). Imports only driver/nn.
package ops

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// ErrNotConstant marks an error about a valid call with parameters (paddings, axes, a shape) that are computed at run
// time or given by the request, or with optional tensors that the request may leave off, so that nothing can be decided
// when the model is compiled.
var ErrNotConstant = errors.New("parameter is not a constant")

// ErrOpenShape marks an error about a call whose input shapes are not known when the model is compiled.
var ErrOpenShape = errors.New("input dimensions are not known")

// Attrs are the parameters of an operation, decoded from its scalar and small constant operands: a value of the type
// that the operation's family defines (Conv, Pool, Softmax …), nil for an operation without parameters. Pairs are height,
// width. Where Inferred.RuntimeParam names a parameter, its field (Pads, Perm, or Axes of Mean) is nil.
type Attrs interface{ attrs() }

// Activated are attributes with a fused activation.
type Activated interface {
	Attrs
	Activation() nn.Activation
	WithActivation(nn.Activation) Attrs
}

// Imaged are attributes of an operation on images of either layout.
type Imaged interface {
	Attrs
	ChannelsFirst() bool // NCHW
	ChannelsLast() Attrs // the same in NHWC
}

// Windowed are attributes of an operation that moves a window over an image.
type Windowed interface {
	Imaged
	Padding() Pad
	WithPadding(Pad) Attrs
}

// none are the attributes of operations without parameters, for which Attrs is nil.
type none struct{}

func (none) attrs() {}

// Call is one operation of a graph with access to its operands.
type Call struct {
	Model *nn.Model
	Graph *nn.Graph
	Op    *nn.Operation
	// Unbound: the graph's inputs are those of a model, and requests tell whether optional tensors have a value.
	// Otherwise such a tensor has one, unless its dimensions are not known.
	Unbound bool
	// Sized: the inputs have their sizes, where 0 is a size, that of tensors without elements. Otherwise 0 is a size
	// not known yet.
	Sized bool

	row  *Row  // set while a row reads the call
	form *Form // the one that the inputs have
}

// In returns input operand i, nil when it is left off: fewer inputs, lifetime NO_VALUE, or an optional tensor without
// dimensions.
func (c *Call) In(i int) *nn.Operand {
	if i >= len(c.Op.Inputs) {
		return nil
	}
	o := &c.Graph.Operands[c.Op.Inputs[i]]
	if o.Lifetime == nn.NoValue || c.leftOff(i) {
		return nil
	}
	return o
}

// optional reports whether input i is an optional tensor that is an input of the graph.
func (c *Call) optional(i int) bool {
	f, n := c.form, len(c.Op.Inputs)
	if f == nil {
		row := Lookup(c.Op.Type)
		if row == nil {
			return false
		}
		f = row.form(c)
	}
	return takes(f.Inputs, n) && at(f.Inputs, i, n).Data && at(f.Inputs, i, n).Omissible &&
		c.operand(c.Op.Inputs, i).Lifetime == nn.SubgraphInput
}

// leftOff reports whether input i is an optional tensor without a value.
func (c *Call) leftOff(i int) bool { return c.optional(i) && !shapeKnown(c.operand(c.Op.Inputs, i)) }

// Undecided returns the inputs that may or may not have a value in a request: optional tensors of an unbound call.
func (c *Call) Undecided() (list []int) {
	for i := range c.Op.Inputs {
		if c.Unbound && c.optional(i) {
			list = append(list, i)
		}
	}
	return list
}

// Out returns output operand i.
func (c *Call) Out(i int) *nn.Operand { return &c.Graph.Operands[c.Op.Outputs[i]] }

// Inferred is what the table knows of a call whose input shapes and parameters are known.
type Inferred struct {
	Attrs Attrs
	// Shapes has the dimensions of each output.
	Shapes []nn.Dims
	// RuntimeParam is the position of a parameter that is known only at run time, which the kernel reads after its
	// tensors (Row.Tensors); 0 for none. Its values may be anything, even contradict Shapes.
	RuntimeParam int
	// RuntimeDims are the dimensions of that parameter, which its operand may leave open.
	RuntimeDims nn.Dims
}

var table = map[nn.OperationType]*Row{}

// register adds rows; called by the init function of each family's file.
func register(rows ...Row) {
	for i := range rows {
		r := rows[i]
		if table[r.Type] != nil {
			panic(fmt.Sprintf("ops: %v stands twice in the table", r.Type))
		}
		table[r.Type] = &r
		if r.FromData {
			registerCounted(r)
		}
	}
}

// Lookup returns the row of t, nil if there is none: from the table, or from those that compilers use beside it.
func Lookup(t nn.OperationType) *Row {
	if r := table[t]; r != nil {
		return r
	}
	return compiled[t]
}

// All returns the rows in the order of their numbers.
func All() []*Row {
	return slices.SortedFunc(maps.Values(table), func(a, b *Row) int { return int(a.Type) - int(b.Type) })
}
