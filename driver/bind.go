package driver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// boundRequest is a request whose arguments were found, and all that they need kept and locked, for one execution. After
// release it can be bound again: what was checked and found stays. Not safe for concurrent use.
type boundRequest struct {
	inputs, outputs []backend.Binding
	shapes          []nn.OutputShape // valid until the request is bound again

	model   *PreparedModel
	request *nn.Request // as it was at reset; nil if there was none
	checked bool
	dims    *validate.Bound
	pools   []pool
	buffers []bufferUse // each once, in the order of tokens
	binding

	// What bindings leave to those after them.
	data        [][]byte  // of inputs, then outputs, in files
	computed    []nn.Dims // dimensions of the outputs; nil: not known yet
	computedFor []nn.Dims // dimensions of the inputs, from which they follow
	sized       bool      // computed are not all that the backend says: some of it only the data tells
	heard       []nn.Dims // what the backend said then; nil: nothing
	spans       []validate.Span
	room        room
}

// binding is what begins anew each time that a request is bound.
type binding struct {
	copied    int64 // bytes that bind and finish moved
	converted int64 // bytes that bind had converted
	// unsubmitted says, before finish with an error, that the device saw nothing of the execution: buffers then
	// keep what they hold.
	unsubmitted bool

	attempt   *attempt          // that it is for
	instance  *prepare.Instance // nil: none was taken
	inputDims []nn.Dims         // with what buffers know
	held      int               // buffers whose turn it is
	files     []fileOutput
	images    []imageTensor // that images became
	bound     bool          // and not finished
	released  bool
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

// fileOutput is an output that finish writes to a file.
type fileOutput struct {
	index  int
	data   []byte
	file   nn.File
	offset int64
}

// start checks the request, asks a whether there is time for it, keeps and maps its pools, waits for the turns of its buffers, and
// says where each argument lies. It holds all of it until release, which the caller must call where start succeeded;
// finish comes before it, when the device is done with what it was given.
//
// Fences that the execution has to wait for come before bind: an execution that held a buffer while it waits for one
// that wants the buffer would wait forever.
//
// With OUTPUT_INSUFFICIENT_SIZE shapes are there all the same.
func (b *boundRequest) start(ctx context.Context, a *attempt) error {
	b.binding = binding{attempt: a, inputDims: b.inputDims[:0], files: b.files[:0], images: b.images[:0]}
	defer func() {
		if !b.bound {
			b.release()
		}
	}()
	if err := b.bind(ctx); err != nil {
		return err
	}
	b.bound = true
	return nil
}

// checkOutputs is the part of start that depends on nothing but the request: it takes nothing, maps nothing and
// waits for nobody. It returns the dimensions of the outputs as far as model, request and buffers give them.
func (b *boundRequest) checkOutputs() ([]nn.Dims, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	dims := make([]nn.Dims, len(b.request.Outputs))
	for i := range dims {
		var err error
		if dims[i], err = b.outputDims(i, nil); err != nil {
			return nil, err
		}
	}
	return dims, nil
}

func (b *boundRequest) bind(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.attempt.admit(); err != nil {
		return err
	}
	b.inputDims = append(b.inputDims, b.dims.InputDims...)
	for i := range b.pools {
		if b.pools[i].buffer == nil {
			if err := b.model.client.device.pools.Open(&b.pools[i].Pool, poolName(i)); err != nil {
				return err
			}
		}
	}
	if err := b.checkMapped(); err != nil {
		return err
	}
	if err := b.checkOverlap(); err != nil {
		return err
	}
	if err := b.takeTurns(ctx); err != nil {
		return err
	}
	if err := b.resolveInputs(); err != nil {
		return err
	}
	x, err := b.model.model.Take(b.inputDims)
	if err != nil {
		return err
	}
	b.instance, b.attempt.instance = x, x
	if err := b.fit(); err != nil {
		return err
	}
	return b.place(ctx)
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

// check finds buffers and tests what needs no pool to be mapped, once.
func (b *boundRequest) check() (err error) {
	if b.checked {
		return nil
	}
	r := b.request
	if b.dims, err = validate.Request(&b.model.signature.Main, b.model.needed, r); err != nil {
		return err
	}
	b.pools = resize(b.room.pools[:], len(r.Pools))
	for i, m := range r.Pools {
		b.pools[i].Source = m
		if token, ok := m.(nn.BufferToken); ok {
			if b.pools[i].buffer = b.model.client.device.buffers.find(b.model.client, token); b.pools[i].buffer == nil {
				return nn.Invalid(poolName(i), "the client has no buffer of this token")
			}
		}
		if m, ok := m.(nn.Image); ok {
			layout := m.Layout()
			b.pools[i].Source, b.pools[i].image = m.Texels(), &layout
		}
	}
	for i := range r.Inputs {
		if r.Inputs[i].HasNoValue {
			continue
		}
		if x := b.poolOf(&r.Inputs[i]); x.buffer != nil {
			if err := b.use(x.buffer, i, false, b.dims.InputDims[i]); err != nil {
				return nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
			}
		}
	}
	for i := range r.Outputs {
		x := b.poolOf(&r.Outputs[i])
		if x.buffer != nil {
			err = b.use(x.buffer, i, true, b.dims.OutputDims[i])
		} else if x.image != nil || x.ReadOnly() {
			err = fmt.Errorf("in a pool that is read only")
		}
		if err != nil {
			return nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
		}
	}
	slices.SortFunc(b.buffers, func(x, y bufferUse) int { return cmp.Compare(x.buffer.token, y.buffer.token) })
	b.checked = true
	return nil
}

// poolOf returns the pool of an argument that has one.
func (b *boundRequest) poolOf(a *nn.RequestArgument) *pool { return &b.pools[a.Location.PoolIndex] }

// use notes that an argument of the given dimensions is a buffer.
func (b *boundRequest) use(x *Buffer, index int, output bool, dims nn.Dims) error {
	if !x.roles[role{b.model, index, output}] {
		return fmt.Errorf("the buffer was not allocated for it")
	}
	if _, err := combine(x.operand.Type, dims, x.operand.Dims); err != nil {
		return err
	}
	for _, u := range b.buffers {
		if u.buffer == x {
			if output || u.write {
				return fmt.Errorf("the buffer is another argument, too")
			}
			return nil
		}
	}
	if b.buffers == nil {
		b.buffers = b.room.buffers[:0]
	}
	b.buffers = append(b.buffers, bufferUse{x, output})
	return nil
}

// checkMapped requires the arguments to lie in what was mapped, should a pool have told another size before.
func (b *boundRequest) checkMapped() error {
	for _, list := range [][]nn.RequestArgument{b.request.Inputs, b.request.Outputs} {
		for i := range list {
			a := &list[i]
			if a.HasNoValue || !b.poolOf(a).isMapped() {
				continue
			}
			x, end := b.poolOf(a), uint64(a.Location.Offset)+uint64(a.Location.Length)
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
func (b *boundRequest) checkOverlap() error {
	if b.spans == nil {
		b.spans = b.room.spans[:0]
	}
	spans := b.spans[:0]
	r := b.request
	add := func(a *nn.RequestArgument, role validate.Role, i int) {
		if a.HasNoValue || b.poolOf(a).buffer != nil { // buffers take turns
			return
		}
		x := b.poolOf(a)
		id, offset, length := int(a.Location.PoolIndex), uint64(a.Location.Offset), uint64(a.Location.Length)
		if x.image != nil {
			length = uint64(x.image.Bytes())
		}
		if !x.HasPlace() {
			id = slices.IndexFunc(b.pools, func(y pool) bool { return pools.Same(x.Source, y.Source) })
		}
		spans = x.Spans(spans, validate.Span{Role: role, Index: i}, offset, length, id)
	}
	for i := range r.Inputs {
		add(&r.Inputs[i], validate.InputSpan, i)
	}
	for i := range r.Outputs {
		add(&r.Outputs[i], validate.OutputSpan, i)
	}
	for i, m := range b.model.signature.Pools {
		x := pools.Pool{Source: m}
		id := 0
		if host, ok := m.(nn.HostMemory); ok {
			x.Data = host
		} else if !x.HasPlace() {
			if id = slices.IndexFunc(b.pools, func(y pool) bool { return pools.Same(m, y.Source) }); id < 0 {
				continue
			}
		}
		spans = x.Spans(spans, validate.Span{Role: validate.ConstantSpan, Index: i}, 0, uint64(max(m.Size(), 0)), id)
	}
	b.spans = spans
	return validate.Overlap(spans)
}

// takeTurns waits for the buffers.
func (b *boundRequest) takeTurns(ctx context.Context) error {
	for _, u := range b.buffers {
		if err := u.buffer.enter(); err != nil {
			return nn.Invalid("buffer", "%w", err) // since it was found
		}
		if !u.buffer.turn.TryAcquire(turnOf(u.write)) {
			waiting, cancel := prepare.WithDeadline(ctx, b.attempt.o.deadline)
			err := u.buffer.turn.Acquire(waiting, turnOf(u.write))
			cancel()
			if err != nil {
				u.buffer.leave()
				return err
			}
		}
		b.held++
	}
	return nil
}

// resolveInputs completes the dimensions of the inputs that lie in buffers.
func (b *boundRequest) resolveInputs() error {
	if len(b.buffers) == 0 {
		return nil
	}
	for i := range b.request.Inputs {
		a := &b.request.Inputs[i]
		if a.HasNoValue || b.poolOf(a).buffer == nil {
			continue
		}
		x := b.poolOf(a).buffer
		if !x.initialised() {
			return nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("input %d", i), "the buffer is not initialised")
		}
		dims, err := combine(x.operand.Type, b.inputDims[i], x.shape)
		if err != nil {
			return nn.Invalid(fmt.Sprintf("input %d", i), "%w: the shape of the last write", err)
		}
		b.inputDims[i] = dims
	}
	return nil
}

// outputDims joins the dimensions of output i: of model and request, of its buffer, and those that are computed.
func (b *boundRequest) outputDims(i int, computed nn.Dims) (nn.Dims, error) {
	t := b.model.signature.Main.Operands[b.model.signature.Main.Outputs[i]].Type
	dims, err := combine(t, b.dims.OutputDims[i], computed)
	if err != nil {
		return nil, nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
	}
	if x := b.poolOf(&b.request.Outputs[i]).buffer; x != nil {
		if dims, err = combine(t, x.operand.Dims, dims); err != nil {
			return nil, nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("output %d", i), "does not fit its buffer: %w", err)
		}
	}
	return dims, nil
}

// compute finds the dimensions of the outputs, unless they follow from the same inputs as the last time.
func (b *boundRequest) compute() error {
	if b.computed != nil && slices.EqualFunc(b.computedFor, b.inputDims, nn.Dims.Equal) {
		return nil
	}
	b.computed = nil // which may lie there
	list := append(b.room.dims[:0], b.inferred()...)
	b.sized = false
	for i := range list {
		o := &b.model.signature.Main.Operands[b.model.signature.Main.Outputs[i]]
		b.sized = b.sized || !known(o.Type, list[i])
		var err error
		if list[i], err = b.outputDims(i, list[i]); err != nil {
			return err
		}
	}
	b.computed, b.computedFor = list, append(b.computedFor[:0], b.inputDims...)
	return nil
}

// fit finds the shapes of the outputs, as far as the data need not tell. OUTPUT_INSUFFICIENT_SIZE comes with shapes.
func (b *boundRequest) fit() (short error) {
	if err := b.compute(); err != nil {
		return err
	}
	if b.shapes == nil {
		b.shapes = make([]nn.OutputShape, len(b.request.Outputs))
	}
	for i, dims := range b.computed {
		o := nn.Operand{Type: b.model.signature.Main.Operands[b.model.signature.Main.Outputs[i]].Type, Dims: dims}
		size, err := o.ByteSize()
		if err != nil {
			return nn.Invalid(fmt.Sprintf("output %d", i), "%w", err)
		}
		a := &b.request.Outputs[i]
		sufficient := true
		if b.poolOf(a).buffer == nil && known(o.Type, dims) && a.Location.Length < size {
			sufficient = false
			short = nn.Errorf(nn.StatusOutputInsufficientSize, fmt.Sprintf("output %d", i), "%d bytes of room; %v%v has %d",
				a.Location.Length, o.Type, []uint32(dims), size)
		}
		b.shapes[i] = nn.OutputShape{Dims: append(b.shapes[i].Dims[:0], dims...), IsSufficient: sufficient}
	}
	return short
}

// finish writes outputs to files and says of buffers whether they are initialised, err being how the execution ended.
// It returns err, or what went wrong then. Precondition: the device is done with what bind returned.
func (b *boundRequest) finish(err error) error {
	for i := range b.files {
		if err != nil {
			break
		}
		f := &b.files[i]
		if ferr := pools.Flush(f.file, f.data, f.offset); ferr != nil {
			err = nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("output %d", f.index), "%w", ferr)
		}
		b.copied += int64(len(f.data))
	}
	for _, u := range b.buffers[:b.held] {
		if u.write && (err == nil || !b.unsubmitted) {
			u.buffer.written = err == nil
		}
	}
	b.bound = false
	return err
}

// release ends the turns and lets go of the pools. Without finish the execution counts as failed. Idempotent.
func (b *boundRequest) release() {
	if b.released {
		return
	}
	b.released = true
	if b.instance != nil {
		b.model.model.Give(b.instance)
	}
	for _, u := range b.buffers[:b.held] {
		if u.write && b.bound {
			u.buffer.written = false
		}
		u.buffer.turn.Release(turnOf(u.write))
		u.buffer.leave()
	}
	for _, x := range b.images {
		b.model.giveTensor(x)
	}
	for i := range b.pools {
		b.pools[i].Close()
	}
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
