package driver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// PreparedModel is a compiled model. Executions on it may run at the same time in any number.
type PreparedModel struct {
	client    *Client
	exe       backend.Executable
	signature *nn.Model // the main graph and the pools
	outputs   []nn.Dims // of each output, after inference
	cached    CacheStatus
	closing   sync.Once

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // executions; added to under mu while open
}

// Result is what an execution reports beside its outputs.
type Result struct {
	// Shapes has one entry for each output.
	Shapes []nn.OutputShape
	// OnDevice is the time between the first and the last work on the device; 0 where it is not known.
	OnDevice time.Duration
	// InDriver is the time from the call until the outputs were written.
	InDriver time.Duration
}

// Stats are the figures of the compiled model.
func (p *PreparedModel) Stats() backend.Stats { return p.exe.Stats() }

// Cached says what the transparent cache, or the files of WithCaching, did for the model; CacheOff where the
// client brought files itself.
func (p *PreparedModel) Cached() CacheStatus { return p.cached }

// Execute runs the model once and returns when the outputs are written. The pools of r are borrowed until
// then; outputs may be half written when it fails. When ctx ends, work that was not submitted is given
// up; the call returns when the device has finished with what was.
//
// Where the model leaves the dimensions of an output open, its argument gives the room. Too little of it is
// OUTPUT_INSUFFICIENT_SIZE: then, and with no other error, there is a result, whose Shapes say what is needed.
func (p *PreparedModel) Execute(ctx context.Context, r *nn.Request) (*Result, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.running.Done()
	return p.execute(ctx, r)
}

// enter keeps the executable open until running.Done is called.
func (p *PreparedModel) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return closed("prepared model")
	}
	p.running.Add(1)
	return nil
}

func (p *PreparedModel) execute(ctx context.Context, r *nn.Request) (*Result, error) {
	start := time.Now()
	bound, err := validate.Request(p.signature, r)
	if err != nil {
		return nil, err
	}
	res := &Result{}
	if res.Shapes, err = p.fit(bound); err != nil {
		if res.Shapes == nil {
			return nil, err
		}
		return res, err
	}
	if res.OnDevice, err = p.run(ctx, bound.Inputs, bound.Outputs); err != nil {
		return nil, fmt.Errorf("execute: %w", err)
	}
	res.InDriver = time.Since(start)
	return res, nil
}

// fit cuts the outputs of b to their size and returns their shapes. With shapes its error is
// OUTPUT_INSUFFICIENT_SIZE.
func (p *PreparedModel) fit(b *validate.Bound) (shapes []nn.OutputShape, err error) {
	for i, index := range p.signature.Main.Outputs {
		where := fmt.Sprintf("output %d", i)
		o := nn.Operand{Type: p.signature.Main.Operands[index].Type, Dims: b.OutputDims[i]}
		if len(p.outputs[i]) > 0 {
			dims, err := ops.MergeDims(o.Type, o.Dims, p.outputs[i])
			if err != nil {
				return nil, nn.Invalid(where, "%w", err)
			}
			o.Dims = dims
		}
		size, serr := o.ByteSize()
		if serr != nil {
			return nil, nn.Invalid(where, "%w", serr)
		}
		room, sufficient := len(b.Outputs[i]), true
		switch {
		case !o.Dims.Known() || o.Type.IsTensor() && len(o.Dims) == 0: // the backend's matter
		case room < int(size):
			sufficient = false
			err = nn.Errorf(nn.StatusOutputInsufficientSize, where, "%d bytes of room; %v%v has %d", room, o.Type, []uint32(o.Dims), size)
		default:
			b.Outputs[i] = b.Outputs[i][:size]
		}
		shapes = append(shapes, nn.OutputShape{Dims: slices.Clone(o.Dims), IsSufficient: sufficient})
	}
	return shapes, err
}

func (p *PreparedModel) run(ctx context.Context, inputs, outputs [][]byte) (onDevice time.Duration, err error) {
	x, err := p.exe.Begin(ctx, backend.Hosts(inputs), backend.Hosts(outputs))
	if err != nil {
		return 0, err
	}
	defer x.Release()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	fence, err := x.Submit(0, x.Segments())
	if err != nil {
		return 0, err
	}
	if err := fence.Wait(ctx); err != nil {
		return 0, err
	}
	if err := x.Finish(); err != nil {
		return 0, err
	}
	return x.DeviceTime(), nil
}

// Execution is a run that was started and may still be going on.
type Execution struct {
	done   chan struct{}
	result *Result
	err    error
}

// ExecuteAsync starts an execution and returns at once. The pools of r are borrowed until Wait returned.
func (p *PreparedModel) ExecuteAsync(ctx context.Context, r *nn.Request) *Execution {
	e := &Execution{done: make(chan struct{})}
	// Entered here, so that a Close after this call waits for the execution.
	if e.err = p.enter(); e.err != nil {
		close(e.done)
		return e
	}
	go func() {
		defer close(e.done)
		defer p.running.Done()
		e.result, e.err = p.execute(ctx, r)
	}()
	return e
}

// Done is closed when the execution has ended.
func (e *Execution) Done() <-chan struct{} { return e.done }

// Wait blocks until the execution has ended and returns its result.
func (e *Execution) Wait() (*Result, error) {
	<-e.done
	return e.result, e.err
}

// Run executes the model on whole buffers: inputs[i] and outputs[i] are dense and row-major, of exactly the
// size of the model's operand; a nil input is an omitted one.
func (p *PreparedModel) Run(ctx context.Context, inputs, outputs [][]byte) (*Result, error) {
	r := &nn.Request{}
	arg := func(b []byte) nn.RequestArgument {
		if b == nil {
			return nn.RequestArgument{HasNoValue: true}
		}
		r.Pools = append(r.Pools, nn.HostMemory(b))
		return nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1), Length: uint32(len(b))}}
	}
	for _, b := range inputs {
		r.Inputs = append(r.Inputs, arg(b))
	}
	for _, b := range outputs {
		r.Outputs = append(r.Outputs, arg(b))
	}
	return p.Execute(ctx, r)
}

// NewOutputs returns a zeroed buffer of the right size for each output.
func (p *PreparedModel) NewOutputs() [][]byte {
	var out [][]byte
	for i, index := range p.signature.Main.Outputs {
		o := nn.Operand{Type: p.signature.Main.Operands[index].Type, Dims: p.outputs[i]}
		// PrepareModel accepted the model, so that the size is known and in range.
		n, _ := o.ByteSize()
		out = append(out, make([]byte, n))
	}
	return out
}

// Close waits for running executions and frees the model. Idempotent.
func (p *PreparedModel) Close() (err error) {
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.running.Wait()
		err = p.exe.Close()
		// Only now: who closes the client must find the model and wait here, too.
		p.client.mu.Lock()
		delete(p.client.models, p)
		p.client.mu.Unlock()
	})
	return err
}
