package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver/nn"
)

// Command is a wish of somebody at the window while frames go on.
type Command uint8

const (
	Redraw           Command = iota // the window wants its picture again
	SwitchRival                     // the second network stops, or goes on
	RaiseRival                      // the second network gets the next priority
	LowerRival                      // and the one before
	LongerDeadline                  // frames get a quarter more time
	ShorterDeadline                 // and a fifth less
	SwitchPreemption                // executions give way to others, or no longer
	Quit
)

// errQuit ends a run by Quit.
var errQuit = errors.New("quit")

const (
	leastDeadline = time.Millisecond
	mostDeadline  = time.Minute
)

// controls are what commands change. Safe for concurrent use.
type controls struct {
	mu       sync.Mutex
	deadline time.Duration // guarded by mu; 0: none
	preempt  bool          // guarded by mu
}

func (c *controls) get() (deadline time.Duration, preempt bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, c.preempt
}

// longer multiplies the deadline. Where there is none it becomes twice what the last frame took.
func (c *controls) longer(factor float64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := time.Duration(factor * float64(c.deadline)); d > 0 {
		c.deadline = min(max(d, leastDeadline), mostDeadline)
	} else if took > 0 {
		c.deadline = min(max(2*took, leastDeadline), mostDeadline)
	}
}

// listen obeys commands until ctx ends. quit ends the frames.
func (x *session) listen(ctx context.Context, quit func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-x.Commands:
			x.obey(c, quit)
		}
	}
}

func (x *session) obey(c Command, quit func()) {
	switch c {
	case Quit:
		quit()
	case LongerDeadline:
		x.controls.longer(1.25, x.history.last())
	case ShorterDeadline:
		x.controls.longer(0.8, x.history.last())
	case SwitchPreemption:
		x.controls.mu.Lock()
		x.controls.preempt = !x.controls.preempt
		x.dev.SetPreemption(x.controls.preempt)
		x.controls.mu.Unlock()
	}
	if r := x.rival; r != nil {
		switch c {
		case SwitchRival:
			r.change(func() { r.on = !r.on })
		case RaiseRival:
			r.change(func() { r.priority = min(r.priority+1, nn.PriorityHigh) })
		case LowerRival:
			r.change(func() { r.priority = max(r.priority, nn.PriorityLow+1) - 1 })
		}
	}
	select {
	case x.again <- struct{}{}:
	default: // somebody asked already
	}
}

// summary is what happened until now, with the latest settings.
func (x *session) summary() *Summary {
	sum := x.history.summary(x.Setup)
	deadline, preempt := x.controls.get()
	sum.Deadline, sum.Preempt = stats.Milliseconds(deadline), preempt
	if x.rival != nil {
		_, p, _ := x.rival.wanted()
		sum.Against.Priority = priorityWord(p)
	}
	return sum
}
