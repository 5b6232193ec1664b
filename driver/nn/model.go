// Package nn is the vocabulary of the driver: models, operands, operations, requests and statuses.
//
// Everything in it is plain data without behaviour towards a device, so that models and requests can
// be compared, stored and sent. Names and numbers follow Android's NN HAL 1.3. It imports only the
// standard library and must not know any backend, importer or cache.
package nn

import (
	"fmt"
	"math"
	"slices"
)

// Dims are the dimensions of a tensor, outermost first; nil for a scalar. 0 stands for a size that is
// not known yet.
type Dims []uint32

// Known reports whether no dimension is open. A scalar is known.
func (d Dims) Known() bool { return !slices.Contains(d, 0) }

// Elements is the product of d, 1 for a scalar. It fails when the product exceeds 2^32-1, the largest
// that the HAL allows.
func (d Dims) Elements() (uint32, error) {
	n := uint64(1)
	for _, x := range d {
		n *= uint64(x)
		if n > math.MaxUint32 {
			return 0, fmt.Errorf("dimensions %v exceed 2^32-1 elements", []uint32(d))
		}
	}
	return uint32(n), nil
}

// Equal reports whether d and e have the same rank and sizes.
func (d Dims) Equal(e Dims) bool { return slices.Equal(d, e) }

// Admits reports whether a tensor whose known dimensions are d, where no dimensions means that nothing is known, can
// have these sizes, of which any may be 0.
func (d Dims) Admits(sizes Dims) bool {
	if len(d) == 0 {
		return true
	}
	return slices.EqualFunc(d, sizes, func(known, n uint32) bool { return known == 0 || known == n })
}

// Merge returns the sizes that are known in d or e. ok is false where their ranks differ, or sizes that are known in
// both.
func (d Dims) Merge(e Dims) (merged Dims, ok bool) {
	if len(d) != len(e) {
		return nil, false
	}
	merged = slices.Clone(d)
	for i, n := range e {
		if merged[i] == 0 {
			merged[i] = n
		} else if n != 0 && n != merged[i] {
			return nil, false
		}
	}
	return merged, true
}

// Location is the place of a constant or of a request argument: Length bytes from Offset on, in the
// model's values (ConstantCopy), or in the pool PoolIndex. Padding is always 0 in a model.
type Location struct {
	PoolIndex uint32
	Offset    uint32
	Length    uint32
	Padding   uint32
}

// ChannelQuant holds the scales of a TensorQuant8PerChannel operand: one for each index of ChannelDim.
type ChannelQuant struct {
	Scales     []float32
	ChannelDim uint32
}

// Operand is a value of a subgraph. Real value of a quantised element q: (q - ZeroPoint) * Scale.
type Operand struct {
	Type      OperandType
	Dims      Dims
	Scale     float32
	ZeroPoint int32
	Channel   *ChannelQuant // only TensorQuant8PerChannel
	Lifetime  Lifetime
	Location  Location
}

// ByteSize is the size of the operand's dense, row-major value. Open dimensions give 0.
func (o *Operand) ByteSize() (uint32, error) {
	n, err := o.Dims.Elements()
	if err != nil {
		return 0, err
	}
	b := uint64(n) * uint64(o.Type.Bytes())
	if b > math.MaxUint32 {
		return 0, fmt.Errorf("%d bytes exceed 2^32-1", b)
	}
	return uint32(b), nil
}

// Operation applies Type to operands; Inputs and Outputs are indexes into the subgraph's Operands.
type Operation struct {
	Type    OperationType
	Inputs  []uint32
	Outputs []uint32
}

// Graph is a list of operations in running order. (The HAL calls it a subgraph.)
type Graph struct {
	Operands   []Operand
	Operations []Operation
	Inputs     []uint32
	Outputs    []uint32
}

// Model is a network: a main graph, the graphs that control flow refers to, and constants. The driver
// only reads it.
type Model struct {
	Main       Graph
	Referenced []Graph
	// Values holds the bytes of ConstantCopy operands.
	Values []byte
	// Pools hold the bytes of ConstantReference operands.
	Pools []Memory
	// RelaxFloat32 allows float32 to be computed with the range and precision of float16.
	RelaxFloat32 bool
	// Level is the feature level that the model was made for: anything newer is INVALID_ARGUMENT. 0 is the newest.
	Level Level
	// Names of inputs and outputs, for messages and for running by name; may be empty.
	Names Names
}

// Names carries what a model file calls its parts. Slices may be shorter than what they name.
type Names struct {
	Inputs, Outputs []string
}

// Value returns the constant bytes of operand o, or nil when o is not a constant. The location is
// checked against the values and pools.
func (m *Model) Value(o *Operand) ([]byte, error) {
	if err := NotNil("operand", o); err != nil {
		return nil, err
	}
	var data []byte
	switch o.Lifetime {
	case ConstantCopy:
		data = m.Values
	case ConstantReference:
		if uint64(o.Location.PoolIndex) >= uint64(len(m.Pools)) {
			return nil, fmt.Errorf("pool %d of %d", o.Location.PoolIndex, len(m.Pools))
		}
		if IsNil(m.Pools[o.Location.PoolIndex]) {
			return nil, Invalid(fmt.Sprintf("pool %d", o.Location.PoolIndex), "there is no memory")
		}
		b, err := m.Pools[o.Location.PoolIndex].Bytes()
		if err != nil {
			return nil, fmt.Errorf("pool %d: %w", o.Location.PoolIndex, err)
		}
		data = b
	default:
		return nil, nil
	}
	end := uint64(o.Location.Offset) + uint64(o.Location.Length)
	if end > uint64(len(data)) {
		return nil, fmt.Errorf("constant at [%d, %d) of %d bytes", o.Location.Offset, end, len(data))
	}
	return data[o.Location.Offset:end:end], nil
}

// RequestArgument is one input or output of an execution.
type RequestArgument struct {
	// HasNoValue omits an optional input; Location and Dims are then empty.
	HasNoValue bool
	Location   Location
	// Dims completes open dimensions of the model's operand; empty leaves them as they are.
	Dims Dims
}

// Request asks for one execution: an argument for each input and output of the main graph, and the
// pools that the arguments lie in.
type Request struct {
	Inputs  []RequestArgument
	Outputs []RequestArgument
	Pools   []Memory
}

// OutputShape reports the dimensions of one output after an execution.
type OutputShape struct {
	Dims         Dims
	IsSufficient bool // the caller's buffer held the whole output
}
