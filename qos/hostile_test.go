package qos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// neighbour asks a device for all that it can get, in the name of one client, until ctx ends.
type neighbour struct {
	ctx   context.Context
	s     *qos.Scheduler
	d     *device
	c     *qos.Client
	group *sync.WaitGroup
}

const longest = 5 * ms // of a segment

// repeat runs f in n goroutines again and again.
func (n *neighbour) repeat(times int, f func()) {
	for range times {
		n.group.Go(func() {
			for n.ctx.Err() == nil {
				f()
			}
		})
	}
}

// run executes a job to which do may do something first.
func (n *neighbour) run(segments int, truly, estimate time.Duration, do func(*qos.Job)) {
	j := n.d.misjudged("neighbour", nn.PriorityHigh, each(segments, truly), each(segments, estimate))
	if do != nil {
		do(j)
	}
	_, _ = n.c.Run(n.ctx, j)
}

// behaviours are ways to take more than one's share, if they worked.
var behaviours = map[string]func(n *neighbour){
	"long queues": func(n *neighbour) {
		n.repeat(8, func() { n.run(60, longest, longest, nil) })
	},
	"estimates of too little": func(n *neighbour) {
		n.repeat(8, func() { n.run(60, longest, longest/10, nil) })
	},
	"estimates of centuries": func(n *neighbour) {
		n.repeat(8, func() { n.run(60, longest, math.MaxInt64, nil) })
	},
	"one long job, alone at times": func(n *neighbour) {
		n.repeat(1, func() {
			n.run(1000, longest/10, longest/10, nil)
			time.Sleep(7 * ms)
		})
	},
	"cancelled executions": func(n *neighbour) {
		n.repeat(8, func() {
			ctx, cancel := context.WithCancel(n.ctx)
			defer time.AfterFunc(3*ms, cancel).Stop()
			_, _ = n.c.Run(ctx, n.d.job("neighbour", nn.PriorityHigh, each(60, longest)...))
		})
	},
	"beginnings that fail": func(n *neighbour) {
		n.repeat(8, func() {
			n.run(1, longest, longest, func(j *qos.Job) {
				j.Begin = func(context.Context) error { time.Sleep(19 * ms / 10); return errors.New("cancelled") }
			})
		})
	},
	"submissions that fail": func(n *neighbour) {
		n.repeat(8, func() {
			n.run(1, longest, longest, func(j *qos.Job) {
				j.Submit = func(int, int) (qos.Fence, error) { time.Sleep(ms / 2); return nil, errors.New("refused") }
			})
		})
	},
	"saved up by beginning": func(n *neighbour) {
		n.repeat(3, func() {
			for range 600 {
				n.run(1, ms/100, ms/100, func(j *qos.Job) {
					j.Begin = func(context.Context) error { time.Sleep(19 * ms / 10); return nil }
				})
			}
			for range 400 {
				n.run(1, longest, longest, nil)
			}
		})
	},
	"a new client each time": func(n *neighbour) {
		n.repeat(2, func() {
			c := n.s.MustClient("neighbour", qos.MaxShare)
			_, _ = c.Run(n.ctx, n.d.job("neighbour", nn.PriorityHigh, longest))
			c.Close()
		})
	},
}

// TestLongestWait holds what a client of the least share waits for, beside three of the greatest that want all they
// can get, to the bound that the package states, and its first segments to a second.
func TestLongestWait(t *testing.T) {
	all := func(n *neighbour) {
		for _, f := range behaviours {
			f(n)
		}
	}
	behave := map[string]func(*neighbour){"all of it": all}
	maps.Copy(behave, behaviours)
	for name, f := range behave {
		for _, places := range []int{1, 2} {
			t.Run(fmt.Sprint(name, ", in flight ", places), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &device{t: t}
					s := qos.New(qos.Options{InFlight: places})
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(10*time.Second, cancel)
					victim := s.MustClient("victim", qos.MinShare)
					var group sync.WaitGroup
					for range 3 {
						c := s.MustClient("neighbour", qos.MaxShare)
						f(&neighbour{ctx, s, d, c, &group})
					}
					rest := 3*qos.MaxShare + 6*qos.MaxShare // with the clients that come and go
					clients := 10
					if name != "all of it" && name != "a new client each time" {
						rest, clients = 3*qos.MaxShare, 4
					}
					bound := time.Duration(float64(longest) * (float64(clients-1) + float64(places)*rest/qos.MinShare))
					var first, worst time.Duration
					for n := 0; ctx.Err() == nil; n++ {
						j := d.job("victim", nn.PriorityLow, each(3, longest)...)
						j.Begin = func(context.Context) error { return nil }
						report, err := victim.Run(ctx, j)
						if err != nil {
							require.ErrorIs(t, err, context.Canceled)
						}
						first = max(first, report.Queued)
						time.Sleep(time.Duration(n%20) * ms)
					}
					group.Wait()
					last := d.runs[0].start
					for _, r := range d.runs {
						if r.name == "victim" {
							last = r.end
						} else {
							worst = max(worst, r.end.Sub(last))
						}
					}
					t.Logf("first segments waited %v at most, any %v; bound %v", first, worst, bound)
					require.LessOrEqual(t, first, bound)
					require.LessOrEqual(t, worst, bound+20*ms) // the victim slept
					if clients == 4 {
						require.LessOrEqual(t, first, time.Second)
					}
				})
			})
		}
	}
}
