package driver

import (
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// SchedulingOptions say how a device orders executions. The zero value is the default.
type SchedulingOptions struct {
	// Ageing is how long an execution waits before it counts one level higher among those of its client; 0 for
	// the default of package qos, negative for never.
	Ageing time.Duration
	// QueueLimit bounds the executions of one client that wait; 0 for the default of package qos. One more is
	// RESOURCE_EXHAUSTED_TRANSIENT.
	QueueLimit int
	// NoPreempt submits every execution whole, whatever waits: to compare with.
	NoPreempt bool
}

// WithScheduling changes how the device orders executions.
func WithScheduling(s SchedulingOptions) DeviceOption {
	return func(o *deviceOptions) { o.scheduling = s }
}

// newScheduler returns the scheduler of a device of type t. Two segments in flight hide the time between them on a
// GPU; a software device gains nothing by the second one, and urgent work waits three times as long.
func newScheduler(t backend.DeviceType, o SchedulingOptions) *qos.Scheduler {
	inFlight := 1
	if t == backend.TypeGPU {
		inFlight = 2
	}
	return qos.New(qos.Options{InFlight: inFlight, Ageing: o.Ageing, QueueLimit: o.QueueLimit, NoPreempt: o.NoPreempt})
}

// Scheduling counts what the device's scheduler has done.
func (d *Device) Scheduling() qos.Stats { return d.scheduler.Stats() }

// expectation is what the executions of a prepared model are expected to take. Safe for concurrent use.
type expectation struct {
	mu  sync.Mutex
	est *qos.Estimator // guarded by mu; replaced with the executable
}

// estimator returns the one for an executable whose segments were first expected to take seed.
func (e *expectation) estimator(seed []time.Duration) *qos.Estimator {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.est == nil || e.est.Len() != len(seed) {
		e.est = qos.NewEstimator(seed)
	}
	return e.est
}

// prepareRates learns what preparations on a device take.
type prepareRates struct {
	est qos.PrepareEstimator

	mu   sync.Mutex
	seen map[[2]int32]bool // guarded by mu; operations with their first input's type, once prepared
}

// cost of preparing m: an operation and type not seen before wants a pipeline of its own, more or less.
func (r *prepareRates) cost(m *nn.Model) qos.PrepareCost {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := qos.PrepareCost{Steps: len(m.Main.Operations), WeightBytes: int64(len(m.Values))}
	for _, p := range m.Pools {
		if p != nil {
			c.WeightBytes += p.Size()
		}
	}
	fresh := map[[2]int32]bool{}
	for i := range m.Main.Operations {
		if k := kindOf(m, i); !r.seen[k] && !fresh[k] {
			fresh[k] = true
			c.Pipelines++
		}
	}
	return c
}

// observe notes that a preparation of that cost took that long.
func (r *prepareRates) observe(m *nn.Model, c qos.PrepareCost, took time.Duration) {
	r.est.Observe(c, took)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[[2]int32]bool{}
	}
	for i := range m.Main.Operations {
		r.seen[kindOf(m, i)] = true
	}
}

func kindOf(m *nn.Model, op int) [2]int32 {
	o := &m.Main.Operations[op]
	k := [2]int32{int32(o.Type), -1}
	if len(o.Inputs) > 0 {
		k[1] = int32(m.Main.Operands[o.Inputs[0]].Type)
	}
	return k
}

// checkDeadline refuses work whose deadline has passed.
func checkDeadline(what string, deadline time.Time) error {
	if deadline.IsZero() {
		return nil
	}
	if late := time.Since(deadline); late >= 0 {
		return nn.Errorf(nn.StatusMissedDeadlinePersistent, what, "the deadline passed %v ago: %w", late, qos.ErrRefused)
	}
	return nil
}
