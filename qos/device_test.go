package qos_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

const ms = time.Millisecond

// device is a device in virtual time: submissions run in order, each as long as it truly takes.
type device struct {
	t  *testing.T
	mu sync.Mutex

	free time.Time // when it will have done all it has
	runs []span
	most int // submissions that were on it at once
}

// span is a submission of a device.
type span struct {
	name        string
	first, last int
	start, end  time.Time
	submitted   time.Time
}

// doneAt is a fence that is signalled at a time.
type doneAt struct {
	at  time.Time
	err error
}

func (f doneAt) Wait(ctx context.Context) error {
	select {
	case <-time.After(time.Until(f.at)):
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *device) submit(name string, first, last int, took time.Duration) qos.Fence {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	start := now
	if d.free.After(now) {
		start = d.free
	}
	d.free = start.Add(took)
	d.runs = append(d.runs, span{name, first, last, start, d.free, now})
	there := 0
	for i := len(d.runs) - 1; i >= 0 && d.runs[i].end.After(now); i-- {
		there++
	}
	d.most = max(d.most, there)
	return doneAt{at: d.free}
}

// order is the names of the submissions, in order.
func (d *device) order() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, r := range d.runs {
		out = append(out, r.name)
	}
	return out
}

// job is one of truly segments, which are estimated rightly.
func (d *device) job(name string, p nn.Priority, truly ...time.Duration) *qos.Job {
	j := d.misjudged(name, p, truly, truly)
	for _, took := range truly {
		j.Fastest += took
	}
	return j
}

// misjudged is one whose estimates are not the truth.
func (d *device) misjudged(name string, p nn.Priority, truly, estimates []time.Duration) *qos.Job {
	return &qos.Job{
		Priority: p,
		Segments: estimates,
		Submit: func(first, last int) (qos.Fence, error) {
			var took time.Duration
			for _, s := range truly[first:last] {
				took += s
			}
			return d.submit(name, first, last, took), nil
		},
	}
}

// each is n segments of d.
func each(n int, d time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = d
	}
	return out
}

// outcome is how a Run ended.
type outcome struct {
	report qos.Report
	err    error
	end    time.Time
}

// start runs j in a goroutine.
func start(ctx context.Context, c *qos.Client, j *qos.Job) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		report, err := c.Run(ctx, j)
		out <- outcome{report, err, time.Now()}
	}()
	return out
}
