package driver

import (
	"context"
	"errors"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// ReusableExecution runs one request again and again, one run at a time. It needs no closing.
type ReusableExecution struct {
	model   *PreparedModel
	request *nn.Request
	running sync.Mutex
}

// errRunning is the error of a run that begins before the last one has ended.
var errRunning = errors.New("a run of this execution is going on")

// NewExecution checks r and returns an execution of it. r and its pools are borrowed as long as it is used, and must
// not change; the bytes in the pools may, between runs.
func (p *PreparedModel) NewExecution(r *nn.Request) (*ReusableExecution, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.running.Done()
	if _, err := p.checkRequest(r); err != nil {
		return nil, err
	}
	return &ReusableExecution{model: p, request: r}, nil
}

// Run is PreparedModel.Execute of the request, with its errors. While another run goes on it is GENERAL_FAILURE.
func (e *ReusableExecution) Run(ctx context.Context, opts ...ExecuteOption) (*Result, error) {
	if !e.running.TryLock() {
		return nil, busyExecution()
	}
	defer e.running.Unlock()
	return e.model.Execute(ctx, e.request, opts...)
}

// RunFenced is PreparedModel.ExecuteFenced of the request, with its errors. Until its fence is signalled any other run is
// GENERAL_FAILURE.
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
	run, err := e.model.ExecuteFenced(ctx, e.request, waits, opts...)
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
