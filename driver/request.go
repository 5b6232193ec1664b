package driver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// checkedRequest is the first stage of a request: what depends on the request alone is found and tested once, however often
// the request is bound. It takes nothing, maps nothing and waits for nobody. Not safe for concurrent use.
type checkedRequest struct {
	model   *PreparedModel
	request *nn.Request // as it was at reset; nil if there was none
	checked bool
	dims    *validate.Bound
	pools   []pool
	buffers []bufferUse // each once, in the order of tokens
	spans   []validate.Span
	room    room
}

// pool is a pool of the request: a memory, a buffer, or the texels of an image.
type pool struct {
	pools.Pool
	image  *nn.ImageLayout // of the texels that it has; nil: no image
	buffer *Buffer         // that a token stands for
}

// isMapped reports whether the pool is to be found in Data. Precondition: it was opened.
func (x *pool) isMapped() bool {
	return x.Data != nil || x.buffer == nil && x.File == nil && x.Imported == nil
}

type bufferUse struct {
	buffer *Buffer
	write  bool
}

// reset makes c, which is empty, r as it is now, for which nothing was done yet: a client that changes its request while
// it runs gets what it asked for first. The pools stay the client's.
func (c *checkedRequest) reset(p *PreparedModel, r *nn.Request) {
	if c.model = p; r == nil {
		return // check refuses it
	}
	given := *r
	args := append(append(c.room.args[:0], given.Inputs...), given.Outputs...)
	for i := range args {
		if len(args[i].Dims) > 0 {
			args[i].Dims = slices.Clone(args[i].Dims)
		}
	}
	n := len(given.Inputs)
	c.room.request = nn.Request{Inputs: args[:n:n], Outputs: args[n:], Pools: append(c.room.memories[:0], given.Pools...)}
	for i, m := range c.room.request.Pools {
		c.room.request.Pools[i] = asItIs(m)
	}
	c.request = &c.room.request
}

// isOf reports whether r asks for the same: the same places in the same memories.
func (c *checkedRequest) isOf(r *nn.Request) bool {
	same := func(x, y nn.RequestArgument) bool {
		return x.HasNoValue == y.HasNoValue && x.Location == y.Location && x.Dims.Equal(y.Dims)
	}
	return slices.EqualFunc(c.request.Inputs, r.Inputs, same) && slices.EqualFunc(c.request.Outputs, r.Outputs, same) &&
		slices.EqualFunc(c.request.Pools, r.Pools, func(x, y nn.Memory) bool {
			if x, ok := x.(nn.HostMemory); ok {
				y, ok := y.(nn.HostMemory)
				return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
			}
			return pools.Same(x, asItIs(y))
		})
}

// checkOutputs is check, and returns the dimensions of the outputs as far as model, request and buffers give them.
func (c *checkedRequest) checkOutputs() ([]nn.Dims, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	dims := make([]nn.Dims, len(c.request.Outputs))
	for i := range dims {
		var err error
		if dims[i], err = c.outputDims(i, nil); err != nil {
			return nil, err
		}
	}
	return dims, nil
}

// check finds buffers and tests what needs no pool to be mapped, once.
func (c *checkedRequest) check() (err error) {
	if c.checked {
		return nil
	}
	r := c.request
	if c.dims, err = validate.Request(&c.model.signature.Main, c.model.needed, r); err != nil {
		return err
	}
	c.pools = resize(c.room.pools[:], len(r.Pools))
	for i, m := range r.Pools {
		c.pools[i].Source = m
		if token, ok := m.(nn.BufferToken); ok {
			if c.pools[i].buffer = c.model.client.device.buffers.find(c.model.client, token); c.pools[i].buffer == nil {
				return nn.Invalid(poolName(i), "the client has no buffer of this token")
			}
		}
		if m, ok := m.(nn.Image); ok {
			layout := m.Layout()
			c.pools[i].Source, c.pools[i].image = m.Texels(), &layout
		}
	}
	for i := range r.Inputs {
		if r.Inputs[i].HasNoValue {
			continue
		}
		if x := c.poolOf(&r.Inputs[i]); x.buffer != nil {
			if err := c.use(x.buffer, i, false, c.dims.InputDims[i]); err != nil {
				return nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
			}
		}
	}
	for i := range r.Outputs {
		x := c.poolOf(&r.Outputs[i])
		if x.buffer != nil {
			err = c.use(x.buffer, i, true, c.dims.OutputDims[i])
		} else if x.image != nil || x.ReadOnly() {
			err = fmt.Errorf("in a pool that is read only")
		}
		if err != nil {
			return nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
		}
	}
	slices.SortFunc(c.buffers, func(x, y bufferUse) int { return cmp.Compare(x.buffer.token, y.buffer.token) })
	c.checked = true
	return nil
}

// poolOf returns the pool of an argument that has one.
func (c *checkedRequest) poolOf(a *nn.RequestArgument) *pool { return &c.pools[a.Location.PoolIndex] }

// use notes that an argument of the given dimensions is a buffer.
func (c *checkedRequest) use(x *Buffer, index int, output bool, dims nn.Dims) error {
	if !x.roles[role{c.model, index, output}] {
		return fmt.Errorf("the buffer was not allocated for it")
	}
	if _, err := combine(x.operand.Type, dims, x.operand.Dims); err != nil {
		return err
	}
	for _, u := range c.buffers {
		if u.buffer == x {
			if output || u.write {
				return fmt.Errorf("the buffer is another argument, too")
			}
			return nil
		}
	}
	if c.buffers == nil {
		c.buffers = c.room.buffers[:0]
	}
	c.buffers = append(c.buffers, bufferUse{x, output})
	return nil
}

// input is what the model says of input i.
func (c *checkedRequest) input(i int) *nn.Operand {
	g := &c.model.signature.Main
	return &g.Operands[g.Inputs[i]]
}

// output is what the model says of output i.
func (c *checkedRequest) output(i int) *nn.Operand {
	g := &c.model.signature.Main
	return &g.Operands[g.Outputs[i]]
}

// outputDims joins the dimensions of output i: of model and request, of its buffer, and those that are computed.
func (c *checkedRequest) outputDims(i int, computed nn.Dims) (nn.Dims, error) {
	t := c.output(i).Type
	dims, err := combine(t, c.dims.OutputDims[i], computed)
	if err != nil {
		return nil, nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
	}
	if x := c.poolOf(&c.request.Outputs[i]).buffer; x != nil {
		if dims, err = combine(t, x.operand.Dims, dims); err != nil {
			return nil, nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("output %d", i), "does not fit its buffer: %w", err)
		}
	}
	return dims, nil
}

// checkMapped requires the arguments to lie in what was mapped, should a pool have told another size before.
func (c *checkedRequest) checkMapped() error {
	for _, list := range [][]nn.RequestArgument{c.request.Inputs, c.request.Outputs} {
		for i := range list {
			a := &list[i]
			if a.HasNoValue || !c.poolOf(a).isMapped() {
				continue
			}
			x, end := c.poolOf(a), uint64(a.Location.Offset)+uint64(a.Location.Length)
			if x.image != nil {
				end = uint64(x.image.Bytes())
			}
			if end > uint64(len(x.Data)) {
				return nn.Errorf(nn.StatusGeneralFailure, poolName(int(a.Location.PoolIndex)), "has become smaller: %d bytes of %d", len(x.Data), end)
			}
		}
	}
	return nil
}

// checkOverlap refuses an output that shares bytes with another argument or with a pool of constants.
func (c *checkedRequest) checkOverlap() error {
	if c.spans == nil {
		c.spans = c.room.spans[:0]
	}
	spans := c.spans[:0]
	r := c.request
	add := func(a *nn.RequestArgument, role validate.Role, i int) {
		if a.HasNoValue || c.poolOf(a).buffer != nil { // buffers take turns
			return
		}
		x := c.poolOf(a)
		id, offset, length := int(a.Location.PoolIndex), uint64(a.Location.Offset), uint64(a.Location.Length)
		if x.image != nil {
			length = uint64(x.image.Bytes())
		}
		if !x.HasPlace() {
			id = slices.IndexFunc(c.pools, func(y pool) bool { return pools.Same(x.Source, y.Source) })
		}
		spans = x.Spans(spans, validate.Span{Role: role, Index: i}, offset, length, id)
	}
	for i := range r.Inputs {
		add(&r.Inputs[i], validate.InputSpan, i)
	}
	for i := range r.Outputs {
		add(&r.Outputs[i], validate.OutputSpan, i)
	}
	for i, m := range c.model.signature.Pools {
		x := pools.Pool{Source: m}
		id := 0
		if host, ok := m.(nn.HostMemory); ok {
			x.Data = host
		} else if !x.HasPlace() {
			if id = slices.IndexFunc(c.pools, func(y pool) bool { return pools.Same(m, y.Source) }); id < 0 {
				continue
			}
		}
		spans = x.Spans(spans, validate.Span{Role: validate.ConstantSpan, Index: i}, 0, uint64(max(m.Size(), 0)), id)
	}
	c.spans = spans
	return validate.Overlap(spans)
}

// combine joins two lists of dimensions of which either may be open.
func combine(t nn.OperandType, a, b nn.Dims) (nn.Dims, error) {
	switch {
	case t.IsTensor() && len(b) == 0:
		return a, nil
	case t.IsTensor() && len(a) == 0, known(t, a) && a.Equal(b):
		return b, nil
	}
	return ops.MergeDims(t, a, b)
}

// poolName names a pool in messages.
func poolName(i int) string {
	if i < len(poolNames) {
		return poolNames[i]
	}
	return fmt.Sprintf("request pool %d", i)
}

// poolNames are those that each execution would make anew.
var poolNames = [...]string{"request pool 0", "request pool 1", "request pool 2", "request pool 3"}

// room is what binding a request of usual size takes, in one piece with the boundRequest: small allocations would
// be a good part of what an execution of a small network costs the host. Larger requests allocate.
type room struct {
	request  nn.Request
	args     [4]nn.RequestArgument
	memories [4]nn.Memory
	pools    [4]pool
	buffers  [2]bufferUse
	bindings [4]backend.Binding
	spans    [8]validate.Span
	dims     [2]nn.Dims
}

// asItIs is m, and an image with what it says now.
func asItIs(m nn.Memory) nn.Memory {
	if i, ok := m.(nn.Image); ok && !nn.IsNil(m) {
		return imageAsItIs{i, i.Layout(), i.Texels()}
	}
	return m
}

// imageAsItIs is an image with what it said when the request came: a client's own may say something else each time that
// it is asked. Comparable where the image is.
type imageAsItIs struct {
	nn.Memory
	layout nn.ImageLayout
	texels nn.Memory
}

// Layout implements nn.Image.
func (i imageAsItIs) Layout() nn.ImageLayout { return i.layout }

// Texels implements nn.Image.
func (i imageAsItIs) Texels() nn.Memory { return i.texels }

// resize returns room if it is large enough, else a new slice, of n elements.
func resize[T any](room []T, n int) []T {
	if n <= len(room) {
		return room[:n:n]
	}
	return make([]T, n)
}
