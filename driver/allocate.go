package driver

import (
	"fmt"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/nngpu/nngpu/driver/nn"
)

// BufferDesc says what of a buffer its roles leave open.
type BufferDesc struct {
	// Dims complete the dimensions of the roles' operands; 0 leaves a size, none at all leaves everything to them.
	Dims nn.Dims
	// Exportable buffers can leave the driver, see Buffer.Export. All their dimensions are known, and they have
	// memory from the beginning, in an allocation of its own.
	Exportable bool
}

// BufferRole is an input or an output of a prepared model that a buffer will stand for.
type BufferRole struct {
	// Model is the client's.
	Model *PreparedModel
	Index int
	// Probability that the buffer is used so: above 0, at most 1. It is a hint.
	Probability float32
}

// Allocate returns a buffer in device memory for the given inputs and outputs of the client's models, whose operands
// must agree in type, quantisation and, where they are known, dimensions. Memory is taken at once where roles and
// d give all dimensions, else when they are known: from CopyFrom, or from an execution's output.
//
// Errors: INVALID_ARGUMENT for roles that contradict each other or d, or whose model is closed; GENERAL_FAILURE where the
// device has no such memory; RESOURCE_EXHAUSTED_*.
func (c *Client) Allocate(d BufferDesc, inputs, outputs []BufferRole) (*Buffer, error) {
	if err := c.device.enter(); err != nil {
		return nil, err
	}
	defer c.device.busy.Done()
	if c.isClosed() {
		return nil, closed("client")
	}
	b, err := c.newBuffer(d, inputs, outputs)
	if err != nil {
		return nil, err
	}
	if b.isFixed() {
		if err := b.reserve(b.operand.Dims); err != nil {
			return nil, err
		}
	}
	if err := c.device.buffers.add(b); err != nil {
		_ = b.drop()
		return nil, err
	}
	return b, nil
}

// newBuffer checks roles and description and makes a buffer without memory.
func (c *Client) newBuffer(d BufferDesc, inputs, outputs []BufferRole) (*Buffer, error) {
	if len(inputs)+len(outputs) == 0 {
		return nil, nn.Invalid("buffer", "has no roles")
	}
	b := &Buffer{client: c, roles: map[role]bool{}, turn: semaphore.NewWeighted(allReaders), freed: make(chan struct{})}
	for i := range inputs {
		if err := b.addRole(&inputs[i], false); err != nil {
			return nil, nn.Invalid(fmt.Sprintf("input role %d", i), "%w", err)
		}
	}
	for i := range outputs {
		if err := b.addRole(&outputs[i], true); err != nil {
			return nil, nn.Invalid(fmt.Sprintf("output role %d", i), "%w", err)
		}
	}
	if len(d.Dims) > 0 {
		if !b.operand.Type.IsTensor() {
			return nil, nn.Invalid("buffer", "dimensions %v of a scalar", []uint32(d.Dims))
		}
		dims, err := combine(b.operand.Type, b.operand.Dims, d.Dims)
		if err != nil {
			return nil, nn.Invalid("buffer", "dimensions %v; those of the roles are %v", []uint32(d.Dims), []uint32(b.operand.Dims))
		}
		b.operand.Dims = dims
	}
	b.operand.Dims = slices.Clone(b.operand.Dims)
	if _, err := b.operand.ByteSize(); err != nil {
		return nil, nn.Invalid("buffer", "%w", err)
	}
	if b.exportable = d.Exportable; b.exportable && !b.isFixed() {
		return nil, nn.Invalid("buffer", "dimensions %v of a buffer that can be exported are open", []uint32(b.operand.Dims))
	}
	return b, nil
}

// addRole checks a role by itself and against those added before.
func (b *Buffer) addRole(r *BufferRole, output bool) error {
	p := r.Model
	if p == nil {
		return fmt.Errorf("there is no prepared model")
	}
	if p.client != b.client {
		return fmt.Errorf("the prepared model is not the client's")
	}
	if p.isClosed() {
		return closed("prepared model")
	}
	if !(r.Probability > 0 && r.Probability <= 1) {
		return fmt.Errorf("probability %v is not above 0 and at most 1", r.Probability)
	}
	list := p.signature.Main.Inputs
	if output {
		list = p.signature.Main.Outputs
	}
	if r.Index < 0 || r.Index >= len(list) {
		return fmt.Errorf("index %d of %d", r.Index, len(list))
	}
	key := role{p, r.Index, output}
	if b.roles[key] {
		return fmt.Errorf("stands twice in the list")
	}
	o := p.signature.Main.Operands[list[r.Index]]
	if output {
		dims, err := combine(o.Type, o.Dims, p.outputs[r.Index])
		if err != nil {
			return err
		}
		o.Dims = dims
	}
	if len(b.roles) > 0 {
		dims, err := agree(&b.operand, &o)
		if err != nil {
			return err
		}
		o.Dims = dims
	}
	b.operand = nn.Operand{Type: o.Type, Dims: o.Dims, Scale: o.Scale, ZeroPoint: o.ZeroPoint, Channel: o.Channel}
	b.roles[key] = true
	return nil
}

// agree returns the dimensions that operands x and y have together, or why one buffer cannot be both.
func agree(x, y *nn.Operand) (nn.Dims, error) {
	if x.Type != y.Type || x.Scale != y.Scale || x.ZeroPoint != y.ZeroPoint {
		return nil, fmt.Errorf("%v of scale %v, zero point %d; roles before it have %v, %v, %d",
			y.Type, y.Scale, y.ZeroPoint, x.Type, x.Scale, x.ZeroPoint)
	}
	if (x.Channel == nil) != (y.Channel == nil) || x.Channel != nil &&
		(x.Channel.ChannelDim != y.Channel.ChannelDim || !slices.Equal(x.Channel.Scales, y.Channel.Scales)) {
		return nil, fmt.Errorf("scales by channel differ from those of roles before it")
	}
	dims, err := combine(x.Type, x.Dims, y.Dims)
	if err != nil {
		return nil, fmt.Errorf("dimensions %v; roles before it have %v", []uint32(y.Dims), []uint32(x.Dims))
	}
	return dims, nil
}
