package driver

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// Client owns prepared models and buffers. Everything that a caller does belongs to one, so that its memory can be
// accounted and freed together, and its share of the device be fair.
type Client struct {
	device   *Device
	identity string
	queue    *qos.Client
	budget   int64 // bytes; 0: the device's own limit
	closing  sync.Once

	pending atomic.Int64 // executions that run without their caller

	mu     sync.Mutex
	models map[*PreparedModel]bool // nil once closed; guarded by mu
	used   int64                   // guarded by mu; bytes
}

// ClientOption changes a client.
type ClientOption func(*clientOptions)

type clientOptions struct {
	share  float64
	budget int64
}

// WithShare gives the client that part of the device, in relation to other clients that want it at the same time:
// within qos.MinShare and qos.MaxShare, 1 by default. Package qos says how long a client waits at most.
func WithShare(s float64) ClientOption {
	return func(o *clientOptions) { o.share = s }
}

// WithClientBudget bounds, in bytes, the device memory of the client's models, with one execution each, and buffers, and
// the memory of the driver's copies of constants (see PrepareModel). More is RESOURCE_EXHAUSTED_PERSISTENT where it could
// never fit, else RESOURCE_EXHAUSTED_TRANSIENT.
func WithClientBudget(bytes int64) ClientOption {
	return func(o *clientOptions) { o.budget = bytes }
}

// NewClient returns a new client. identity names it in messages: a user, a process, a connection.
func (d *Device) NewClient(identity string, opts ...ClientOption) (*Client, error) {
	o := clientOptions{share: 1}
	if err := apply(opts, &o); err != nil {
		return nil, err
	}
	if o.budget < 0 {
		return nil, nn.Invalid("client", "budget of %d bytes", o.budget)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return nil, d.gone
	}
	c := &Client{device: d, identity: identity, budget: o.budget, models: map[*PreparedModel]bool{}}
	var err error
	if c.queue, err = d.scheduler.NewClient(identity, o.share); err != nil {
		return nil, err
	}
	d.clients[c] = true
	return c, nil
}

// Identity is the name that the client was made with.
func (c *Client) Identity() string { return c.identity }

// share is the nth part of the budget, or of the device's memory where that is less; as much as there may be where neither is
// bounded.
func (c *Client) share(n int64) int64 {
	bound := int64(math.MaxInt64)
	if c.budget > 0 {
		bound = c.budget
	}
	if _, _, limit := c.device.backend.Memory(); limit > 0 {
		bound = min(bound, limit)
	}
	return bound / n
}

// Memory is how many bytes of the client's budget are in use.
func (c *Client) Memory() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// maxPending bounds the executions of a client that run without their caller: each holds a goroutine, and what it
// waits for may never come.
const maxPending = 4096

// beginPending counts one more; RESOURCE_EXHAUSTED_TRANSIENT where there are too many.
func (c *Client) beginPending() error {
	if c.pending.Add(1) > maxPending {
		c.pending.Add(-1)
		return nn.Errorf(nn.StatusResourceExhaustedTransient, "execution", "%d of the client have been started and have not ended", maxPending)
	}
	return nil
}

func (c *Client) endPending() { c.pending.Add(-1) }

// take accounts for bytes of memory.
func (c *Client) take(bytes int64, what string) error { return c.takeBeside(0, bytes, what) }

// takeBeside is take of what is needed together with that many bytes, which were taken before.
func (c *Client) takeBeside(taken, bytes int64, what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := taken + bytes; c.budget > 0 && all > c.budget {
		return nn.Errorf(nn.StatusResourceExhaustedPersistent, what, "%d bytes exceed the client's budget of %d", all, c.budget)
	}
	if c.budget > 0 && bytes > c.budget-c.used {
		return nn.Errorf(nn.StatusResourceExhaustedTransient, what, "%d bytes, %d of the client's budget of %d are in use",
			bytes, c.used, c.budget)
	}
	c.used += bytes
	return nil
}

// give undoes take.
func (c *Client) give(bytes int64) { c.change(-bytes) }

// change corrects the account, whatever the budget.
func (c *Client) change(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used += bytes; c.used < 0 {
		panic(fmt.Sprintf("driver: client gave back %d bytes too many", -c.used))
	}
}

// outgrow is change for what the client cannot be refused any more.
func (c *Client) outgrow(bytes int64) {
	c.change(bytes)
	if used := c.Memory(); bytes > 0 && c.budget > 0 && used > c.budget {
		c.device.log.Warn("a model that was optimised in the background has outgrown its client's budget",
			"client", c.identity, "bytes", used, "budget", c.budget)
	}
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models == nil
}

// Close closes the client's prepared models and buffers, which waits for their executions, as Device.Close says.
// Idempotent.
func (c *Client) Close() (err error) {
	c.closing.Do(func() {
		c.mu.Lock()
		models := c.models
		c.models = nil
		c.mu.Unlock()
		var errs []error
		for m := range models {
			errs = append(errs, m.Close())
		}
		errs = append(errs, c.device.buffers.closeAll(c))
		c.queue.Close()
		c.device.mu.Lock()
		delete(c.device.clients, c)
		c.device.mu.Unlock()
		err = errors.Join(errs...)
	})
	return err
}
