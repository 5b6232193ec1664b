package driver

import (
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
	// RESOURCE_EXHAUSTED_TRANSIENT, or, where one of a lower priority waits, the last of the lowest is.
	QueueLimit int
	// NoPreempt submits every execution whole, whatever waits: to compare with. Device.SetPreemption changes it.
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

// lane is the queue of the device that the model's work goes to, as its scheduler numbers them: where there are two,
// work of high priority has one of its own.
func (p *PreparedModel) lane() int {
	if p.priority != nn.PriorityHigh {
		return 0
	}
	if n, _ := p.client.device.backend.Queues(); n < 2 {
		return 0
	}
	return 1
}

// SetPreemption says whether executions give way to others between their segments. It changes
// SchedulingOptions.NoPreempt while work goes on. Safe for concurrent use.
func (d *Device) SetPreemption(on bool) { d.scheduler.SetPreemption(on) }

// Scheduling counts what the device's scheduler has done.
func (d *Device) Scheduling() qos.Stats { return d.scheduler.Stats() }

// checkDeadline refuses work whose deadline has passed. Where it had not passed yet at since, the time of the call,
// another attempt may succeed.
func checkDeadline(what string, deadline, since time.Time) error {
	if deadline.IsZero() {
		return nil
	}
	late := time.Since(deadline)
	if late < 0 {
		return nil
	}
	status := nn.StatusMissedDeadlinePersistent
	if deadline.After(since) {
		status = nn.StatusMissedDeadlineTransient
	}
	return nn.Errorf(status, what, "the deadline passed %v ago: %w", late, qos.ErrRefused)
}
