package driver

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/internal/budget"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// Client owns prepared models and buffers. Everything that a caller does belongs to one, so that its memory can be
// accounted and freed together, and its share of the device be fair.
type Client struct {
	device   *Device
	identity string
	queue    *qos.Client
	memory   *budget.Account
	closing  sync.Once

	pending atomic.Int64 // executions that run without their caller

	mu     sync.Mutex
	models map[*PreparedModel]bool // nil once closed; guarded by mu
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
	c := &Client{device: d, identity: identity, models: map[*PreparedModel]bool{}}
	c.memory = budget.New(o.budget, func(used int64) {
		d.log.Warn("a model that was optimised in the background has outgrown its client's budget",
			"client", identity, "bytes", used, "budget", o.budget)
	})
	var err error
	if c.queue, err = d.scheduler.NewClient(identity, o.share); err != nil {
		return nil, err
	}
	d.clients[c] = true
	return c, nil
}

// Identity is the name that the client was made with.
func (c *Client) Identity() string { return c.identity }

// Memory is how many bytes of the client's budget are in use.
func (c *Client) Memory() int64 { return c.memory.Used() }

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
