package driver

import (
	"context"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
)

// PreparedModel is a compiled model, or, where the model leaves dimensions of its inputs open, a template of compiled models:
// an execution that brings the dimensions runs on the instance for them, which is compiled when it is first wanted. See
// WithInstances. Executions on it may run at the same time in any number.
type PreparedModel struct {
	client    *Client
	model     *prepare.Model
	signature *nn.Model // model.Signature
	needed    []string  // model.Needed
	outputs   []nn.Dims // model.Outputs
	saved     *prepare.Saved
	priority  nn.Priority
	images    imageTable
	closing   sync.Once

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // executions; added to under mu while open
}

// Stats are the figures of the compiled model; of a template those of the instance that was used last, and zero where there
// is none.
func (p *PreparedModel) Stats() backend.Stats {
	if x := p.model.Latest(); x != nil {
		if f := x.Form(); f != nil {
			return f.Stats()
		}
	}
	return backend.Stats{}
}

// Cached says what the transparent cache, or the files of WithCaching, did for the model; CacheOff where the
// client brought files itself. Of a template it is that of the instance that was used last.
func (p *PreparedModel) Cached() CacheStatus {
	if x := p.model.Latest(); x != nil {
		return CacheStatus(x.Status())
	}
	return CacheOff
}

// Instance is a compiled model of a template, for inputs of some dimensions. It belongs to the caller.
type Instance struct {
	// Inputs and Outputs have the dimensions of each; nil of an input that is left off.
	Inputs, Outputs []nn.Dims
	Stats           backend.Stats
	// Estimates has the expected time of each segment on the device.
	Estimates []time.Duration
	Cached    CacheStatus
}

// Instances lists the compiled instances that a template has at the moment, the last used first; none for a model whose
// sizes are known.
func (p *PreparedModel) Instances() (list []Instance) {
	for _, x := range p.model.Instances() {
		list = append(list, Instance{Inputs: x.Inputs, Outputs: x.Outputs, Stats: x.Stats, Estimates: x.Estimates, Cached: CacheStatus(x.Status)})
	}
	return list
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

func (p *PreparedModel) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Execution is a run that was started and may still be going on.
type Execution struct {
	done   chan struct{}
	result *Result
	err    error
}

// ExecuteAsync starts an execution and returns at once. The pools of r are borrowed until Wait returned, whose errors are
// those of Execute.
func (p *PreparedModel) ExecuteAsync(ctx context.Context, r *nn.Request, opts ...ExecuteOption) *Execution {
	e := &Execution{done: make(chan struct{})}
	a := newExecution(p, r)
	if e.err = decodeExecute(ctx, opts, &a.o); e.err == nil {
		a.o.since = a.start
		e.err = p.enter() // here, so that a Close after this call waits for the execution
	}
	if e.err == nil {
		if e.err = p.client.beginPending(); e.err != nil {
			a.refused(e.err)
			p.running.Done()
		}
	}
	if e.err != nil {
		close(e.done)
		return e
	}
	go func() {
		defer close(e.done)
		defer p.running.Done()
		defer p.client.endPending()
		e.result, e.err = a.execute(ctx, &Result{})
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
// size of the model's operand; a nil input is an omitted one. Errors: those of Execute.
func (p *PreparedModel) Run(ctx context.Context, inputs, outputs [][]byte, opts ...ExecuteOption) (*Result, error) {
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
	return p.Execute(ctx, r, opts...)
}

// NewOutputs returns a zeroed buffer of the right size for each output, an empty one where dimensions are open.
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

// Close waits for running executions and frees the model. Idempotent. Those that wait for fences count as running:
// where the fences may never be signalled, end the execution's context first.
func (p *PreparedModel) Close() (err error) {
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.running.Wait()
		// Last, so that whoever closes the client finds the model and waits here as well.
		defer func() {
			p.client.mu.Lock()
			defer p.client.mu.Unlock()
			delete(p.client.models, p)
		}()
		p.closeImages()
		err = p.model.Close()
	})
	return err
}
