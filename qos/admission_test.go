package qos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

const ms = time.Millisecond

// timeline is a device in virtual time.
type timeline struct{ free time.Time }

type landing time.Time

func (f landing) Wait(context.Context) error {
	time.Sleep(time.Until(time.Time(f)))
	return nil
}

// model is something that clients run, which truly takes about the times of segments.
type model struct {
	segments  []time.Duration
	estimates *Estimator
}

// request is one execution of a model.
type request struct {
	job      *Job
	client   *Client
	truly    []time.Duration
	deadline time.Duration // since the epoch
	admitted bool
	refused  error
	possible bool // the oracle says that it could have been met
	err      error
	came     time.Duration
	end      time.Duration
	longest  time.Duration // of its segments
}

// oracle says, from what is truly there and how long all of it truly takes, whether q would meet its deadline if it
// were admitted now and nothing came after it, and would not make another miss, of its level or above or of another
// client.
// It plays the documented order of choice anew, with its own code.
type oracle struct {
	s     *Scheduler
	truth map[*Job]*request
	busy  time.Duration // until when the device truly is
}

type pending struct {
	q       *request
	next    int
	level   int
	arrival uint64
}

func (o *oracle) possible(q *request, now time.Duration) bool {
	with := o.play(q, now)
	if !with[q] {
		return false
	}
	without := o.play(nil, now)
	for other, met := range without {
		if met && !with[other] && (other.client != q.client || other.job.Priority >= q.job.Priority) {
			return false
		}
	}
	return true
}

// play returns which of the requests with a deadline meet it.
func (o *oracle) play(extra *request, now time.Duration) map[*request]bool {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	queues, virtual, met := map[*Client][]pending{}, map[*Client]float64{}, map[*request]bool{}
	at := max(now, o.busy)
	for _, c := range o.s.active {
		virtual[c] = c.virtual
		for _, r := range c.runs {
			p := pending{q: o.truth[r.job], next: r.granted, level: o.s.levelOf(r, now), arrival: r.arrival}
			if p.next < len(p.q.truly) {
				queues[c] = append(queues[c], p)
			} else if p.q.deadline > 0 {
				met[p.q] = at <= p.q.deadline
			}
		}
	}
	if extra != nil {
		c := extra.client
		if _, ok := virtual[c]; !ok {
			virtual[c] = max(c.virtual, o.s.vclock)
		}
		queues[c] = append(queues[c], pending{q: extra, level: int(extra.job.Priority), arrival: 1 << 60})
	}
	sooner := func(a, b pending) bool {
		if a.level != b.level {
			return a.level > b.level
		}
		if a.q.deadline != b.q.deadline {
			return b.q.deadline == 0 || a.q.deadline > 0 && a.q.deadline < b.q.deadline
		}
		return a.arrival < b.arrival
	}
	for len(queues) > 0 {
		var best *Client
		bestAt := map[*Client]int{}
		for c, list := range queues {
			for i := range list {
				if sooner(list[i], list[bestAt[c]]) {
					bestAt[c] = i
				}
			}
			if best == nil || virtual[c] < virtual[best] ||
				virtual[c] == virtual[best] && sooner(list[bestAt[c]], queues[best][bestAt[best]]) {
				best = c
			}
		}
		p := &queues[best][bestAt[best]]
		took := p.q.truly[p.next]
		p.next++
		at += took
		virtual[best] += float64(took) / best.share
		gone := p.next == len(p.q.truly)
		if p.q.deadline > 0 && (at > p.q.deadline || gone) {
			met[p.q] = at <= p.q.deadline
			gone = true // the late ones are given up
		}
		if gone {
			i := bestAt[best]
			queues[best] = append(queues[best][:i:i], queues[best][i+1:]...)
			if len(queues[best]) == 0 {
				delete(queues, best)
			}
		}
	}
	return met
}

// traffic is a run of random requests.
type traffic struct {
	options  Options
	clients  int
	levels   int     // priorities in use
	offered  float64 // device time asked for, as part of what there is
	noise    float64 // by how much a segment differs from one execution to the next
	spikes   float64 // how many segments take three times as long
	requests int
	seed     uint64
	none     float64 // how many have no deadline
}

func (tr traffic) play(t *testing.T) []*request {
	var all []*request
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(tr.seed, 7))
		s := New(tr.options)
		var mu sync.Mutex
		dev := timeline{free: time.Now()}
		o := oracle{s: s, truth: map[*Job]*request{}}
		var clients []*Client
		for i := range tr.clients {
			clients = append(clients, s.NewClient(fmt.Sprint(i), 1))
		}
		var models []*model
		var mean time.Duration
		for range 8 {
			m := &model{}
			seeds := []time.Duration{}
			for range 1 + rnd.IntN(40) {
				d := time.Duration(rnd.IntN(int(3800*time.Microsecond))) + 200*time.Microsecond
				m.segments = append(m.segments, d)
				seeds = append(seeds, time.Duration(float64(d)*(0.5+1.5*rnd.Float64())))
				mean += d / 8
			}
			m.estimates = NewEstimator(seeds)
			models = append(models, m)
		}
		var wg sync.WaitGroup
		for range tr.requests {
			time.Sleep(time.Duration(rnd.ExpFloat64() * float64(mean) / tr.offered))
			synctest.Wait()
			m := models[rnd.IntN(len(models))]
			q := &request{client: clients[rnd.IntN(len(clients))]}
			var sum time.Duration
			for _, d := range m.segments {
				d = time.Duration(float64(d) * (1 - tr.noise + 2*tr.noise*rnd.Float64()))
				if rnd.Float64() < tr.spikes {
					d *= 3
				}
				q.truly = append(q.truly, d)
				q.longest = max(q.longest, d)
				sum += d
			}
			q.job = &Job{
				Priority: nn.Priority(rnd.IntN(tr.levels)),
				Segments: m.estimates.Segments(),
				Submit: func(first, last int) (Fence, error) {
					mu.Lock()
					defer mu.Unlock()
					at := time.Now()
					if dev.free.After(at) {
						at = dev.free
					}
					for _, d := range q.truly[first:last] {
						at = at.Add(d)
					}
					dev.free = at
					return landing(at), nil
				},
				Observe: m.estimates.ObserveRange,
			}
			now := s.now()
			q.came = now
			if rnd.Float64() >= tr.none {
				left := time.Duration(8 * rnd.Float64() * float64(sum))
				q.job.Deadline, q.deadline = time.Now().Add(left), now+left
			}
			o.truth[q.job] = q
			mu.Lock()
			o.busy = max(dev.free.Sub(s.epoch), now)
			mu.Unlock()
			possible := q.deadline == 0 || o.possible(q, now)
			done := make(chan struct{})
			wg.Go(func() {
				defer close(done)
				_, err := q.client.Run(t.Context(), q.job)
				q.err, q.end = err, s.now()
			})
			synctest.Wait()
			q.admitted = true
			select {
			case <-done:
				if q.err != nil {
					q.admitted, q.refused, q.possible = false, q.err, possible
					delete(o.truth, q.job)
				}
			default:
			}
			all = append(all, q)
		}
		wg.Wait()
	})
	return all
}

// overtaken reports whether a job of a higher level of the same client, which came later, was done before q ended.
func overtaken(q *request, later []*request) bool {
	for _, o := range later {
		if o.came > q.end {
			return false
		}
		if o.admitted && o.client == q.client && o.job.Priority > q.job.Priority {
			return true
		}
	}
	return false
}

// TestAdmission holds admission to what is asked of it, on random requests with deadlines from hopeless to
// generous under load, whose segments vary and whose first estimates are up to twice off: none admitted ends later
// than its deadline plus one segment, at most 2 % of the admitted miss, and at most 5 % of all are refused that an
// oracle, which knows the true times, says could have been met. Priorities are stronger than promises: where there
// are several, those that later jobs of a higher level displaced are not counted as missed, only printed.
func TestAdmission(t *testing.T) {
	for _, tc := range []struct {
		name string
		tr   traffic
	}{
		{"one client", traffic{clients: 1, levels: 1, offered: 0.9, noise: 0.1}},
		{"one client, three levels", traffic{clients: 1, levels: 3, offered: 0.9, noise: 0.1}},
		{"three clients", traffic{clients: 3, levels: 1, offered: 0.9, noise: 0.1}},
		{"three clients, three levels", traffic{clients: 3, levels: 3, offered: 0.9, noise: 0.1}},
		{"overload", traffic{clients: 3, levels: 1, offered: 3, noise: 0.1}},
		{"overload, three levels", traffic{clients: 3, levels: 3, offered: 3, noise: 0.1}},
		{"steady", traffic{clients: 2, levels: 1, offered: 0.9}},
		{"spikes", traffic{clients: 3, levels: 3, offered: 0.9, noise: 0.05, spikes: 0.005}},
		{"some without deadlines", traffic{clients: 3, levels: 3, offered: 0.7, noise: 0.1, none: 0.2}},
		{"two in flight", traffic{clients: 3, levels: 3, offered: 0.9, noise: 0.1, options: Options{InFlight: 2}}},
		{"no preemption", traffic{clients: 3, levels: 1, offered: 0.9, noise: 0.1, options: Options{NoPreempt: true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.tr.requests, tc.tr.seed = 2000, 42
			admitted, missed, displaced, refused, wrongly, late := 0, 0, 0, 0, 0, 0
			all := tc.tr.play(t)
			for i, q := range all {
				if q.refused != nil {
					require.Contains(t, []nn.Status{nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent}, nn.StatusOf(q.refused))
					refused++
					if q.possible {
						wrongly++
					}
					continue
				}
				admitted++
				if q.deadline == 0 {
					require.NoError(t, q.err)
					continue
				}
				if q.err != nil || q.end > q.deadline {
					missed++
					if overtaken(q, all[i+1:]) {
						displaced++
					}
				}
				if q.end > q.deadline+q.longest {
					late++
				}
			}
			t.Logf("admitted %d, missed %d (%.1f %%), of them displaced %d; refused %d, of them wrongly %d (%.1f %% of all)",
				admitted, missed, 100*float64(missed)/float64(admitted), displaced, refused, wrongly, 100*float64(wrongly)/float64(len(all)))
			if !tc.tr.options.NoPreempt { // what is submitted whole cannot be given up, and the oracle knows the order of choice only
				require.Zero(t, late)
				require.LessOrEqual(t, float64(wrongly), 0.05*float64(len(all)))
			}
			require.LessOrEqual(t, float64(missed-displaced), 0.02*float64(admitted))
			require.Greater(t, refused, 100, "the test must refuse some")
		})
	}
}
