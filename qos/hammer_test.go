package qos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

var errFault = errors.New("a fault that was injected")

// guarded is a random job that checks how the scheduler treats it, on a timeline that others use as well.
type guarded struct {
	t     *testing.T
	busy  atomic.Int32
	begun bool
	next  int
	live  []time.Time // when what was submitted ends
}

func (g *guarded) enter() func() {
	if g.busy.Add(1) != 1 {
		g.t.Error("two functions of a job at the same time")
	}
	return func() { g.busy.Add(-1) }
}

// hammer is the state that all jobs of a run share.
type hammer struct {
	mu    sync.Mutex
	dev   timeline
	there []time.Time // ends of what is on the device
	most  int
	slots chan struct{} // arenas
}

func (h *hammer) job(t *testing.T, rnd *rand.Rand) (*Job, *guarded) {
	g := &guarded{t: t}
	n := 1 + rnd.IntN(12)
	j := &Job{Priority: nn.Priority(rnd.IntN(3))}
	var truly []time.Duration
	for range n {
		d := time.Duration(rnd.IntN(int(3 * ms)))
		truly = append(truly, d)
		j.Segments = append(j.Segments, time.Duration(float64(d)*(0.7+rnd.Float64())))
	}
	badSubmit, badFence := -1, -1
	switch rnd.IntN(30) {
	case 0:
		badSubmit = rnd.IntN(n)
	case 1:
		badFence = rnd.IntN(n)
	}
	if rnd.IntN(3) > 0 {
		j.Deadline = time.Now().Add(time.Duration(rnd.IntN(int(150*ms))) - 5*ms)
	}
	if rnd.IntN(4) > 0 {
		j.Begin = func(ctx context.Context) error {
			defer g.enter()()
			require.False(t, g.begun)
			select {
			case h.slots <- struct{}{}:
				g.begun = true
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	j.Submit = func(first, last int) (Fence, error) {
		defer g.enter()()
		require.Equal(t, g.next, first)
		require.Greater(t, last, first)
		require.True(t, g.begun || j.Begin == nil)
		g.next = last
		if first <= badSubmit && badSubmit < last {
			return nil, errFault
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		now := time.Now()
		at := now
		if h.dev.free.After(at) {
			at = h.dev.free
		}
		for _, d := range truly[first:last] {
			at = at.Add(d)
		}
		h.dev.free = at
		there := 1
		for _, end := range h.there {
			if end.After(now) {
				there++
			}
		}
		h.most = max(h.most, there)
		h.there = append(h.there, at)
		if len(h.there) > 100 {
			h.there = h.there[50:]
		}
		g.live = append(g.live, at)
		if first <= badFence && badFence < last {
			return faulty{landing(at)}, nil
		}
		return landing(at), nil
	}
	if rnd.IntN(2) == 0 {
		seen := 0
		j.Observe = func(first, last int, took time.Duration) {
			defer g.enter()()
			require.Equal(t, seen, first)
			require.GreaterOrEqual(t, took, time.Duration(0))
			seen = last
		}
	}
	return j, g
}

type faulty struct{ landing }

func (f faulty) Wait(ctx context.Context) error {
	_ = f.landing.Wait(ctx)
	return errFault
}

// TestHammer lets four clients with jobs of all priorities, with random deadlines, cancels, faults, too few arenas
// and closing clients at the scheduler: each request ends exactly once, with a legal status and with nothing of
// it on the device, and in the end the scheduler is empty.
func TestHammer(t *testing.T) {
	for _, o := range []Options{{}, {InFlight: 2}, {InFlight: 3, Ageing: 10 * ms, QueueLimit: 4}, {NoPreempt: true}, {InFlight: 2, NoPreempt: true, Ageing: -1}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(o)
				h := &hammer{dev: timeline{time.Now()}, slots: make(chan struct{}, 3)}
				var wg sync.WaitGroup
				var mu sync.Mutex
				statuses := map[string]int{}
				var ended, asked atomic.Int32
				for k := range 4 {
					var client atomic.Pointer[Client]
					client.Store(s.MustClient(fmt.Sprint(k), 1))
					for g := range 3 {
						wg.Go(func() {
							rnd := rand.New(rand.NewPCG(uint64(k), uint64(g)))
							for range 250 {
								if rnd.IntN(100) == 0 {
									client.Swap(s.MustClient(fmt.Sprint(k), 1)).Close()
								}
								if rnd.IntN(200) == 0 {
									s.SetPreemption(rnd.IntN(2) == 0)
								}
								j, guard := h.job(t, rnd)
								ctx, cancel := context.WithCancel(t.Context())
								if rnd.IntN(4) == 0 {
									ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rnd.IntN(int(100*ms))))
								}
								if rnd.IntN(4) == 0 {
									after := time.Duration(rnd.IntN(int(20 * ms)))
									wg.Go(func() {
										time.Sleep(after)
										cancel()
									})
								}
								asked.Add(1)
								_, err := client.Load().Run(ctx, j)
								ended.Add(1)
								cancel()
								for _, end := range guard.live {
									require.False(t, end.After(time.Now()), "still on the device")
								}
								if err == nil {
									require.Equal(t, len(j.Segments), guard.next)
								}
								if guard.begun {
									<-h.slots
								}
								mu.Lock()
								statuses[legal(t, err)]++
								mu.Unlock()
								time.Sleep(time.Duration(rnd.IntN(int(30 * ms))))
							}
						})
					}
					t.Cleanup(func() { client.Load().Close() })
				}
				wg.Wait()
				t.Log(statuses)
				require.EqualValues(t, 4*3*250, ended.Load())
				require.Equal(t, asked.Load(), ended.Load())
				s.mu.Lock()
				defer s.mu.Unlock()
				require.LessOrEqual(t, h.most, s.slots)
				require.Zero(t, s.jobs)
				require.Zero(t, s.inFlight)
				require.Empty(t, s.flight)
				require.Empty(t, s.active)
				require.Nil(t, s.last)
				require.Len(t, s.clients, 4)
				for _, c := range s.clients {
					require.Zero(t, c.waiting+len(c.begins))
				}
			})
		})
	}
}

// legal names how a request ended.
func legal(t *testing.T, err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, ErrClosed):
		return "closed"
	case errors.Is(err, errFault):
		return "fault"
	}
	status := nn.StatusOf(err)
	require.Contains(t, []nn.Status{
		nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent, nn.StatusResourceExhaustedTransient,
	}, status, "%v", err)
	return status.String()
}

// instant is a fence that is signalled at once.
type instant struct{}

func (instant) Wait(context.Context) error { return nil }

// TestStorm is many jobs at once in real time, on a device that takes none: for what virtual time hides.
func TestStorm(t *testing.T) {
	for _, slots := range []int{1, 2, 5} {
		s := New(Options{InFlight: slots, QueueLimit: 3})
		var wg sync.WaitGroup
		var done, refused, missed atomic.Int32
		for k := range 4 {
			c := s.MustClient(fmt.Sprint(k), 1)
			defer c.Close()
			for g := range 3 {
				wg.Go(func() {
					for i := range 300 {
						j := &Job{
							Priority: nn.Priority(i % 3),
							Segments: make([]time.Duration, 1+(i+g)%5),
							Submit:   func(int, int) (Fence, error) { return instant{}, nil },
							Begin:    func(context.Context) error { return nil },
						}
						if i%2 == 0 {
							j.Deadline = time.Now().Add(time.Hour)
						}
						if i%50 == 0 {
							j.Deadline = time.Now()
						}
						switch _, err := c.Run(t.Context(), j); nn.StatusOf(err) {
						case nn.StatusNone:
							done.Add(1)
						case nn.StatusMissedDeadlinePersistent:
							missed.Add(1)
						default:
							refused.Add(1)
						}
					}
				})
			}
		}
		wg.Wait()
		require.EqualValues(t, 4*3*300, done.Load()+missed.Load()+refused.Load())
		require.EqualValues(t, 4*3*6, missed.Load())
		require.Zero(t, refused.Load())
		require.Zero(t, s.inFlight+s.jobs+len(s.flight)+len(s.active))
	}
}
