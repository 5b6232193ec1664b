package qos

import (
	"context"
	"sync"
	"time"
)

// beginContext is the context of a job's Begin. Most jobs never wait there, so that it becomes one of package context,
// with all that this takes, only when somebody asks for Done.
type beginContext struct {
	mu       sync.Mutex
	parent   context.Context    // guarded by mu
	deadline time.Time          // guarded by mu; zero: that of parent, which is nearer
	stopped  bool               // guarded by mu
	made     context.Context    // guarded by mu; nil until it is needed
	cancel   context.CancelFunc // guarded by mu; of made
}

// start makes c the context of the next Begin. Precondition: it is not made.
func (c *beginContext) start(parent context.Context, deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parent, c.deadline, c.stopped = parent, deadline, false
}

// stop ends the context.
func (c *beginContext) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.made != nil {
		c.cancel()
	}
}

// isMade reports whether somebody may still wait for c, so that it cannot be started again.
func (c *beginContext) isMade() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made != nil
}

// Deadline implements context.Context.
func (c *beginContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deadline.IsZero() {
		return c.deadline, true
	}
	return c.parent.Deadline()
}

// Done implements context.Context.
func (c *beginContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		if c.deadline.IsZero() {
			c.made, c.cancel = context.WithCancel(c.parent)
		} else {
			c.made, c.cancel = context.WithDeadline(c.parent, c.deadline)
		}
		if c.stopped {
			c.cancel()
		}
	}
	return c.made.Done()
}

// Err implements context.Context.
func (c *beginContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.made != nil:
		return c.made.Err()
	case c.parent.Err() != nil:
		return c.parent.Err()
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	case c.stopped:
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (c *beginContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parent.Value(key)
}
