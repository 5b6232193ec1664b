package qos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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

// replay says of a request that was refused whether it could have been met: it plays the documented order of choice
// anew, with its own code, from what was there when the request came, with what was admitted later, and with how long
// all of it truly takes.
type replay struct {
	s       *Scheduler
	q       *request
	busy    time.Duration // until when the device truly was
	vclock  float64
	virtual map[*Client]float64
	there   []pending
}

type pending struct {
	q       *request
	next    int
	level   int // without ageing
	since   time.Duration
	arrival uint64
}

// newReplay notes what is there before q comes.
func newReplay(s *Scheduler, q *request, truth map[*Job]*request, busy time.Duration) *replay {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &replay{s: s, q: q, busy: busy, vclock: s.vclock, virtual: map[*Client]float64{}}
	for _, c := range s.clients {
		o.virtual[c] = c.virtual
	}
	for _, c := range s.active {
		for _, r := range c.runs {
			o.there = append(o.there, pending{truth[r.job], r.granted, r.level, r.since, r.arrival})
		}
	}
	return o
}

// possible reports whether the request would have met its deadline without making another miss that was there, of its
// level or above or of another client.
func (o *replay) possible(later []*request) bool {
	with := o.play(true, later)
	if !with[o.q] {
		return false
	}
	without := o.play(false, later)
	for _, p := range o.there {
		if without[p.q] && !with[p.q] && (p.q.client != o.q.client || p.q.job.Priority >= o.q.job.Priority) {
			return false
		}
	}
	return true
}

// play returns which of the requests with a deadline meet it.
func (o *replay) play(with bool, later []*request) map[*request]bool {
	met := map[*request]bool{}
	wait := slices.Clone(o.there)
	open := 0 // of those that matter
	for _, p := range wait {
		if p.q.deadline > 0 {
			open++
		}
	}
	virtual, vclock := maps.Clone(o.virtual), o.vclock
	enter := func(q *request) {
		if !slices.ContainsFunc(wait, func(p pending) bool { return p.q.client == q.client }) {
			virtual[q.client] = max(virtual[q.client], vclock)
		}
		wait = append(wait, pending{q: q, level: int(q.job.Priority), since: q.came, arrival: uint64(q.came) + 1<<50})
	}
	if with {
		enter(o.q)
		open++
	}
	matters := func(q *request) bool { return q.deadline > 0 && q.came <= o.q.came }
	at := max(o.q.came, o.busy)
	for open > 0 {
		for len(later) > 0 && (later[0].came <= at || len(wait) == 0) {
			if later[0].admitted {
				at = max(at, later[0].came)
				enter(later[0])
			}
			later = later[1:]
		}
		level := func(p *pending) int {
			if o.s.ageing < 0 {
				return p.level
			}
			return p.level + int((at-p.since)/o.s.ageing)
		}
		rest := func(p *pending) (sum time.Duration) {
			for _, d := range p.q.truly[p.next:] {
				sum += d
			}
			return sum
		}
		due := func(p *pending) time.Duration {
			if p.q.deadline == 0 {
				return never
			}
			return p.q.deadline
		}
		compare := func(a, b *pending) int {
			return cmp.Or(cmp.Compare(level(b), level(a)), cmp.Compare(due(a), due(b)), cmp.Compare(a.arrival, b.arrival))
		}
		best := 0
		for i := range wait {
			a, b := &wait[i], &wait[best]
			if i != best && cmp.Or(cmp.Compare(virtual[a.q.client], virtual[b.q.client]), compare(a, b)) < 0 {
				best = i
			}
		}
		// One of a lower level that can wait no longer goes before those that can.
		first, client, shares := &wait[best], wait[best].q.client, map[*Client]float64{}
		for i := range wait {
			shares[wait[i].q.client] = wait[i].q.client.share
		}
		slower := 0.0
		for _, share := range shares {
			slower += share / client.share
		}
		end := func(work time.Duration) time.Duration { return at + time.Duration(float64(work)*slower) }
		urgent := -1
		for i := range wait {
			p := &wait[i]
			if p.q.client != client || level(p) >= level(first) || first.next == len(first.q.truly) ||
				at+rest(p) > due(p) || end(rest(p)+first.q.truly[first.next]) <= due(p) {
				continue
			}
			if urgent < 0 || compare(p, &wait[urgent]) < 0 {
				urgent = i
			}
		}
		if urgent >= 0 {
			harmless := true
			for i := range wait {
				k := &wait[i]
				if k.q.client != client || level(k) <= level(&wait[urgent]) {
					continue
				}
				work := rest(&wait[urgent])
				for j := range wait {
					if wait[j].q.client == client && compare(&wait[j], k) <= 0 {
						work += rest(&wait[j])
					}
				}
				harmless = harmless && due(k) < never && end(work) <= due(k)
			}
			if harmless {
				best = urgent
			}
		}
		p := &wait[best]
		gone := p.next == len(p.q.truly)
		if p.q.deadline > 0 {
			gone = gone || at+rest(p) > p.q.deadline // the late ones are given up
		}
		if !gone {
			vclock = max(vclock, virtual[p.q.client])
			took := p.q.truly[p.next]
			p.next++
			at += took
			p.since = at
			virtual[p.q.client] += float64(took) / p.q.client.share
			gone = p.next == len(p.q.truly)
		}
		if gone {
			met[p.q] = p.next == len(p.q.truly) && at <= p.q.deadline
			if matters(p.q) {
				open--
			}
			wait = slices.Delete(wait, best, best+1)
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
		truth := map[*Job]*request{}
		var replays []*replay
		var clients []*Client
		for i := range tr.clients {
			clients = append(clients, s.MustClient(fmt.Sprint(i), 1))
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
			truth[q.job] = q
			mu.Lock()
			busy := max(dev.free.Sub(s.epoch), now)
			mu.Unlock()
			before := newReplay(s, q, truth, busy)
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
					q.admitted, q.refused = false, q.err
					delete(truth, q.job)
					before.q = q
					replays = append(replays, before)
				}
			default:
			}
			all = append(all, q)
		}
		wg.Wait()
		for _, o := range replays {
			i := slices.Index(all, o.q)
			o.q.possible = o.possible(all[i+1:])
		}
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

// TestAdmission holds admission to what is asked of it, on random requests with deadlines from unreachable to
// generous under load, whose segments vary and whose first estimates are up to twice off: none admitted ends later
// than its deadline plus one segment, at most 2 % of the admitted miss, and at most 5 % of all are refused that an
// oracle, which knows the true times and what comes later, says could have been met. Priorities are stronger than
// promises: where clients ask on several levels for three times what there is, later jobs of higher levels displace
// admitted ones, which are then told and not judged, and leave time that nobody could have foreseen.
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
		{"overload, one client", traffic{clients: 1, levels: 1, offered: 3, noise: 0.1}},
		{"overload, three levels", traffic{clients: 3, levels: 3, offered: 3, noise: 0.1}},
		{"very uneven", traffic{clients: 1, levels: 1, offered: 0.9, noise: 0.3}},
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
			}
			if tc.tr.offered > 1 && tc.tr.levels > 1 {
				missed -= displaced
			} else if !tc.tr.options.NoPreempt {
				require.LessOrEqual(t, float64(wrongly), 0.05*float64(len(all)))
			}
			require.LessOrEqual(t, float64(missed), 0.02*float64(admitted))
			require.Greater(t, refused, 100, "the test must refuse some")
		})
	}
}
