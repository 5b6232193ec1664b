// Package pool bounds what executions need for themselves, such as arenas and command buffers: there are as many of a
// kind as executions run at once, and each is used again by the next. It knows nothing of what it holds.
package pool

import (
	"context"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// Pool hands out things that it makes when they are first needed, up to a limit. Safe for concurrent use.
type Pool[T any] struct {
	make    func(context.Context) (T, error)
	free    chan T        // not in use
	closing chan struct{} // closed by Close

	mu     sync.Mutex
	n      int // guarded by mu; things that exist or are being made
	closed bool
	uses   sync.WaitGroup // added to under mu while open
}

// ErrClosed is GENERAL_FAILURE with nn.ErrClosed.
var ErrClosed error = &nn.Error{Status: nn.StatusGeneralFailure, Where: "executable", Err: nn.ErrClosed}

// New returns a pool of things that create makes, no more than most.
func New[T any](most int, create func(context.Context) (T, error)) *Pool[T] {
	return &Pool[T]{make: create, free: make(chan T, most), closing: make(chan struct{})}
}

// Add adds x, which the caller has made. Precondition: there is room for it.
func (p *Pool[T]) Add(x T) {
	p.mu.Lock()
	p.n++
	p.mu.Unlock()
	p.free <- x
}

// Take returns a thing that is not in use, and makes one if there is none and room for it; Give returns it. Where there is no
// room, or no memory for one more, Take waits for one that is in use; without memory for the first it fails.
//
// Errors: ErrClosed, those of making one, that of ctx.
func (p *Pool[T]) Take(ctx context.Context) (x T, err error) {
	select {
	case <-p.closing:
		return x, ErrClosed
	default:
	}
	select {
	case x = <-p.free:
		return x, nil
	default:
	}
	if err = ctx.Err(); err != nil {
		return x, err
	}
	if p.mayGrow() {
		others := false
		if x, others, err = p.grow(ctx); err == nil || !others || !isExhausted(err) {
			return x, err
		}
	}
	select {
	case x = <-p.free:
		return x, nil
	case <-p.closing:
		return x, ErrClosed
	case <-ctx.Done():
		return x, ctx.Err()
	}
}

func (p *Pool[T]) mayGrow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.n == cap(p.free) {
		return false
	}
	p.n++
	return true
}

// grow makes what mayGrow has counted, and reports whether there are others.
func (p *Pool[T]) grow(ctx context.Context) (x T, others bool, err error) {
	x, err = p.make(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		p.free <- x // Close collects as many as there are, zero values too
		err = ErrClosed
	case err != nil:
		p.n--
	}
	return x, p.n > 0, err
}

func isExhausted(err error) bool {
	s := nn.StatusOf(err)
	return s == nn.StatusResourceExhaustedTransient || s == nn.StatusResourceExhaustedPersistent
}

// Give undoes Take.
func (p *Pool[T]) Give(x T) { p.free <- x }

// Use makes Close wait until done is called.
//
// Errors: ErrClosed.
func (p *Pool[T]) Use() (done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	p.uses.Add(1)
	return p.uses.Done, nil
}

// Close ends Take and destroys all things, each when it has been given back. It reports false if it was called before.
func (p *Pool[T]) Close(destroy func(T)) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.closed = true
	n := p.n
	p.mu.Unlock()
	close(p.closing)
	for range n {
		destroy(<-p.free)
	}
	p.uses.Wait()
	return true
}
