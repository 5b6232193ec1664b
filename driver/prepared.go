package driver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// PreparedModel is a compiled model. Executions on it may run at the same time in any number.
type PreparedModel struct {
	client    *Client
	exe       backend.Executable
	signature *nn.Model // the main graph, its names and the pools
	needed    []string  // of each input: validate.Needed
	kept      int64     // bytes of constants that signature has to itself
	own       *ownModel // what exe may yet be compiled from; nil: nothing
	outputs   []nn.Dims // of each output, after inference
	cached    CacheStatus
	saving    *saving
	priority  nn.Priority
	group     qos.Group // of its executions, which wait for the same slots
	expected  expectation
	// timedByDevice: its segments are, so that what the host sees of them is not wanted.
	timedByDevice atomic.Bool
	images        imageTable
	closing       sync.Once

	mu      sync.Mutex
	closed  bool           // guarded by mu
	bytes   int64          // guarded by mu; in the client's account
	counted bool           // guarded by mu; a form of the model was once
	running sync.WaitGroup // executions; added to under mu while open
}

// Stats are the figures of the compiled model.
func (p *PreparedModel) Stats() backend.Stats { return p.exe.Stats() }

// Cached says what the transparent cache, or the files of WithCaching, did for the model; CacheOff where the
// client brought files itself.
func (p *PreparedModel) Cached() CacheStatus {
	if d, ok := p.exe.(*delayed); ok {
		return d.cacheStatus()
	}
	return p.cached
}

// size is what the model takes in the client's account.
func (p *PreparedModel) size() int64 {
	s := p.exe.Stats()
	return s.ArenaBytes + s.WeightBytes + p.kept
}

// account keeps the client's account up with an executable that is compiled late, or replaced by a better one. The
// latter may go beyond the client's budget: it is there already, and the model worked before.
func (p *PreparedModel) account() error {
	n := p.size()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case n == p.bytes:
	case p.counted:
		p.client.outgrow(n - p.bytes)
	default:
		if err := p.client.takeBeside(p.bytes+p.own.held(), n-p.bytes, "model"); err != nil {
			return err
		}
	}
	p.bytes, p.counted = n, true
	return nil
}

const (
	// enoughRuns is how often a model has to run before what its segments take is worth keeping.
	enoughRuns = 5
	// newsworthy is by what factor the times must differ from those that are kept already.
	newsworthy = 1.25
)

// keepLearned keeps in the cache what the executions took, if that is news. Precondition: the executable stays the one
// that it is.
func (p *PreparedModel) keepLearned() {
	f := p.expected.of(p.exe)
	if f == nil || f.runs.Load() < enoughRuns {
		return
	}
	learned := f.est.Segments()
	was, is := sum(f.exe.Estimates()), sum(learned)
	if is < time.Duration(float64(was)*newsworthy) && was < time.Duration(float64(is)*newsworthy) {
		return
	}
	p.client.device.keepEstimates(p, learned)
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
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
	a := newAttempt(p, r)
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

// Close waits for running executions and frees the model. Idempotent. An execution that waits for fences runs, too:
// where they may never be signalled, ending its context is what ends it.
func (p *PreparedModel) Close() (err error) {
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.running.Wait()
		// In the end: who closes the client must find the model and wait here, too.
		defer func() {
			p.client.mu.Lock()
			defer p.client.mu.Unlock()
			p.client.used -= p.bytes // nobody changes it any more
			delete(p.client.models, p)
		}()
		defer func() { err = p.exe.Close() }()
		settle(p.exe)
		p.keepLearned()
		p.closeImages()
	})
	return err
}
