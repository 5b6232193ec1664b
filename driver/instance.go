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

// instance is a compiled model and what is known of its executions: the only one of a prepared model whose sizes are known,
// of a template one for each list of dimensions that executions came with. Safe for concurrent use.
type instance struct {
	exe      backend.Executable
	kept     CacheStatus // of an exe that is not delayed
	group    qos.Group   // of its executions, which wait for the same slots
	expected expectation
	// timedByDevice: its segments are, so that what the host sees of them is not wanted.
	timedByDevice atomic.Bool

	inputs, outputs []nn.Dims     // of a template's
	users           int           // of a template's: guarded by its mutex; executions
	held            *atomic.Int64 // of a template's: what all of them take; else nil

	mu      sync.Mutex
	bytes   int64 // guarded by mu; in the client's account
	counted bool  // guarded by mu; a form of the model was once
}

// size is what the compiled model takes in the client's account.
func (x *instance) size() int64 {
	s := x.exe.Stats()
	return s.ArenaBytes + s.WeightBytes
}

// account keeps the client's account up with an executable that is compiled late, or replaced by a better one, beside
// what its constants take there. A better one may go beyond the client's budget: it is there already, and the model worked
// before.
func (x *instance) account(c *Client, constants int64) error {
	n := x.size()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case n == x.bytes:
	case x.counted:
		c.outgrow(n - x.bytes)
	default:
		if err := c.takeBeside(x.bytes+constants, n-x.bytes, "model"); err != nil {
			return err
		}
	}
	x.set(n)
	x.counted = true
	return nil
}

// set notes what is in the account. Precondition: x.mu held.
func (x *instance) set(n int64) {
	if x.held != nil {
		x.held.Add(n - x.bytes)
	}
	x.bytes = n
}

// taken is what it has in the client's account.
func (x *instance) taken() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes
}

// ready compiles the model where that was put off and nobody has.
func (x *instance) ready(ctx context.Context, deadline time.Time) error {
	if d, ok := x.exe.(*delayed); ok {
		return d.ready(ctx, deadline)
	}
	return nil
}

// cached says what a cache did for it; CacheOff before it was compiled.
func (x *instance) cached() CacheStatus {
	if d, ok := x.exe.(*delayed); ok {
		return d.cacheStatus()
	}
	return x.kept
}

// isIdle reports whether nobody compiles it or waits for that. Precondition: no execution uses it or will.
func (x *instance) isIdle() bool {
	d, ok := x.exe.(*delayed)
	return !ok || d.isIdle()
}

// isCompiled reports whether it takes anything of the device.
func (x *instance) isCompiled() bool {
	d, ok := x.exe.(*delayed)
	return !ok || d.known() != nil
}

// close keeps what was learned of d's executions and frees everything. Precondition: no execution uses it or will.
func (x *instance) close(c *Client) error {
	settle(x.exe)
	x.keepLearned(c.device)
	err := x.exe.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	c.give(x.bytes)
	x.set(0)
	return err
}

const (
	// enoughRuns is how often a model has to run before what its segments take is worth keeping.
	enoughRuns = 5
	// newsworthy is by what factor the times must differ from those that are kept already.
	newsworthy = 1.25
)

// keepLearned keeps in the cache what the executions took, if that is news. Precondition: the executable stays the one
// that it is.
func (x *instance) keepLearned(d *Device) {
	f := x.expected.of(x.exe)
	if f == nil || f.runs.Load() < enoughRuns {
		return
	}
	learned := f.est.Segments()
	was, is := sum(f.exe.Estimates()), sum(learned)
	if is < time.Duration(float64(was)*newsworthy) && was < time.Duration(float64(is)*newsworthy) {
		return
	}
	d.keepEstimates(x.exe, learned)
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
}
