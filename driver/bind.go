package driver

import (
	"context"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
)

// boundRequest is a request on its way to the device. It goes through stages, each of which has what it needs from those
// before it: checked, taken (pools are open, buffers wait for nobody, an instance is there), sized (the dimensions of outputs
// are known as far as data need not tell) and placed. What the first and third stage found stays when it is bound again.
// Not safe for concurrent use.
type boundRequest struct {
	checkedRequest
	takenRequest
	outputSizes
	placement
}

// takenRequest is what start takes and release gives back. It begins anew each time that the request is bound.
type takenRequest struct {
	execution *execution        // that it is for
	instance  *prepare.Instance // nil: none was taken
	inputDims []nn.Dims         // with what buffers know
	held      int               // buffers whose turn it is
	images    []imageTensor     // that images became
	bound     bool              // and not finished
	released  bool
	// unsubmitted says, before finish with an error, that the device saw nothing of the execution: buffers then
	// keep what they hold.
	unsubmitted bool
	copied      int64 // bytes that bind and finish moved
	converted   int64 // bytes that bind had converted
}

// outputSizes are the dimensions of the outputs.
type outputSizes struct {
	shapes      []nn.OutputShape // valid until the request is bound again
	computed    []nn.Dims        // as far as they follow from those of the inputs; nil: not known yet
	computedFor []nn.Dims        // of the inputs
	sized       bool             // the backend says what is missing: only the data tells
	heard       []nn.Dims        // what it said then; nil: nothing
}

// placement says where each argument lies.
type placement struct {
	inputs, outputs []backend.Binding
	data            [][]byte // of inputs, then outputs, in files; kept for the next time
	files           []fileOutput
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
func (b *boundRequest) start(ctx context.Context, a *execution) error {
	b.takenRequest = takenRequest{execution: a, inputDims: b.inputDims[:0], images: b.images[:0]}
	b.files = b.files[:0]
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

// bind goes through the stages.
func (b *boundRequest) bind(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.execution.admit(); err != nil {
		return err
	}
	if err := b.take(ctx); err != nil {
		return err
	}
	if err := b.fit(); err != nil {
		return err
	}
	return b.place(ctx)
}

// take opens the pools, waits for the buffers and takes the instance for what they hold.
func (b *boundRequest) take(ctx context.Context) error {
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
	b.instance, b.execution.instance = x, x
	return nil
}

// takeTurns waits for the buffers.
func (b *boundRequest) takeTurns(ctx context.Context) error {
	for _, u := range b.buffers {
		if err := u.buffer.enter(); err != nil {
			return nn.Invalid("buffer", "%w", err) // since it was found
		}
		if !u.buffer.turn.TryAcquire(turnOf(u.write)) {
			waiting, cancel := prepare.WithDeadline(ctx, b.execution.o.deadline)
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
		if x.isEmpty() {
			return nn.Invalid(fmt.Sprintf("input %d", i), "the buffer holds no elements: dimensions %v", []uint32(x.shape))
		}
		dims, err := combine(x.operand.Type, b.inputDims[i], x.shape)
		if err != nil {
			return nn.Invalid(fmt.Sprintf("input %d", i), "%w: the shape of the last write", err)
		}
		b.inputDims[i] = dims
	}
	return nil
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
		b.sized = b.sized || !known(b.output(i).Type, list[i])
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
		o := nn.Operand{Type: b.output(i).Type, Dims: dims}
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
