package driver

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// ReusableExecution runs one request again and again, one run at a time. What a run needs is made once: on a device
// that keeps everything between two runs, runs allocate nothing. It needs no closing.
type ReusableExecution struct {
	options executeOptions  // of every run
	given   []ExecuteOption // that options came from
	running sync.Mutex

	// Of the run that goes on, or the last one.
	execution *execution
	result    Result
}

// errRunning is the error of a run that begins before the last one has ended.
var errRunning = errors.New("a run of this execution is going on")

// NewExecution checks r and returns an execution of it, each run of which has the options opts: WithTimeout rather than
// WithDeadline, which is one moment for all of them. r is copied, so that it may change; its pools are borrowed as long
// as the execution is used. The bytes in the pools may change between runs.
//
// Errors: INVALID_ARGUMENT for what is wrong with r or an option; GENERAL_FAILURE, with ErrClosed, for a closed model.
func (p *PreparedModel) NewExecution(r *nn.Request, opts ...ExecuteOption) (*ReusableExecution, error) {
	e := &ReusableExecution{execution: newExecution(p, r), given: slices.Clone(opts)}
	if err := decodeExecute(context.Background(), opts, &e.options); err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.running.Done()
	if _, err := e.execution.b.checkOutputs(); err != nil {
		return nil, err
	}
	return e, nil
}

// Run is PreparedModel.Execute of the request, with its errors. While another run goes on it is GENERAL_FAILURE. opts are
// of this run alone and go before those of NewExecution. The result is valid until the next run.
func (e *ReusableExecution) Run(ctx context.Context, opts ...ExecuteOption) (*Result, error) {
	if !e.running.TryLock() {
		return nil, busyExecution()
	}
	defer e.running.Unlock()
	a := e.execution
	if err := a.again(ctx, &e.options, opts); err != nil {
		return nil, err
	}
	a.o.exported = nil // for RunFenced
	if err := a.p.enter(); err != nil {
		return nil, err
	}
	defer a.p.running.Done()
	return a.execute(ctx, &e.result)
}

// RunFenced is PreparedModel.ExecuteFenced of the request, with its errors. Until its fence is signalled any other run is
// GENERAL_FAILURE. opts as of Run.
func (e *ReusableExecution) RunFenced(ctx context.Context, waits []*Fence, opts ...ExecuteOption) (*FencedExecution, error) {
	if !e.running.TryLock() {
		return nil, busyExecution()
	}
	launched := false
	defer func() {
		if !launched {
			e.running.Unlock()
		}
	}()
	// Each run has a sync_file of its own: the options are applied anew.
	if err := e.execution.again(ctx, &executeOptions{}, slices.Concat(e.given, opts)); err != nil {
		return nil, err
	}
	run, err := e.execution.executeFenced(ctx, waits)
	if err != nil {
		return nil, err
	}
	launched = true
	run.fence.onSignal(e.running.Unlock)
	return run, nil
}

func busyExecution() error {
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: "reusable execution", Err: errRunning}
}

// cloneShapes returns list without memory in common with it.
func cloneShapes(list []nn.OutputShape) []nn.OutputShape {
	list = slices.Clone(list)
	for i := range list {
		list[i].Dims = slices.Clone(list[i].Dims)
	}
	return list
}
