// Package qos decides which execution goes next on a device that runs one submission after the other: fairly
// between clients, by priority within a client, by deadline within a priority. It refuses what cannot be
// done in time, and gives up what no longer can.
//
// It knows no GPU. It sees jobs made of segments with estimated times, a function that submits a range of
// segments, and fences. There is no goroutine of the scheduler's own: the goroutine that calls Client.Run submits
// its job's segments and waits for their fences, and whoever frees a place on the device chooses who gets it.
//
// The order of choice, whenever there is room on the device:
//
//  1. The client with the least virtual time: device time used, divided by its share. A client that comes back
//     starts no lower than those that stayed, so that sleeping earns nothing.
//  2. Within the client the highest level: the priority, plus one for every Options.Ageing that the job has waited
//     since it came or last had the device.
//  3. Within the level the earliest deadline; none is latest. Then the order of arrival, in which a job keeps its
//     place until it ends.
//  4. A job of a lower level whose deadline is in danger goes before them, while all jobs of the client that are on
//     higher levels have deadlines and are expected to meet them nevertheless.
//
// A job of PriorityHigh that is alone in the scheduler goes in submissions of up to 16 ms, unless its deadline leaves
// less than twice the time that it needs; all others go segment by segment.
//
// The longest wait: let n clients have jobs, W be the sum of their shares, and L the longest time that a place on the
// device is kept by one submission. Whatever the others ask for, cancel or fail, a client of share w with a job that
// has begun waits for its next submission at most
//
//	L * (n-1 + InFlight*(W-w)/w)
//
// For it is never more than InFlight submissions ahead of its share, which is worth InFlight*(W-w)/w to the others
// together, and each of them may exceed its own share by one submission. A new client starts as far ahead as closed ones
// were, so that for its first job w is the least of their shares and its own. With four clients, shares as far apart as
// MinShare and MaxShare, and segments of 5 ms that is 0.26 s for one in flight. Options.NoPreempt has no such bound.
//
// Invariants: at most Options.InFlight submissions are on the device; a Run returns only when nothing of its job
// is on the device; each Run ends exactly once.
//
// Lock order: Scheduler.mu and Estimator's lock are never held together. No callback of a Job is called with a
// lock held.
package qos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// Defaults of Options.
const (
	// DefaultAgeing keeps the longest wait of a LOW job that a stream of HIGH ones of its client overtakes near
	// 1.5 s, and costs such a stream one segment in that time.
	DefaultAgeing = 500 * time.Millisecond
	// DefaultQueueLimit bounds the memory that waiting jobs of a client hold.
	DefaultQueueLimit = 256
)

// ErrClosed is the cause when a job ends because its client was closed. It is nn.ErrClosed as well.
var ErrClosed = fmt.Errorf("the client is %w", nn.ErrClosed)

// ErrDeadline is the cause of every MISSED_DEADLINE status of this package. It is context.DeadlineExceeded as
// well.
var ErrDeadline = fmt.Errorf("the deadline cannot be met: %w", context.DeadlineExceeded)

// ErrRefused is the cause where work was refused for its deadline before any of it was done. It is ErrDeadline as well.
var ErrRefused = fmt.Errorf("refused: %w", ErrDeadline)

// Options steer a Scheduler. The zero value is usable.
type Options struct {
	// InFlight is how many submissions of preemptible work are on the device at once, at most; 0 for 1. More
	// than one hides the time between submissions and lengthens what an urgent job waits for.
	InFlight int
	// Ageing bounds how long a job waits behind more urgent ones of its own client: a job that waited n
	// times this long without getting the device counts n levels higher. 0 for DefaultAgeing, negative: never.
	//
	// The bound: let a job be d levels below the highest of its client, and n be the other jobs of the client
	// that wait. While the client has the device to itself, the job waits at most
	//
	//	(d+1)*Ageing + (n+InFlight)*(longest segment)
	//
	// for the device, and as long again between two of its segments; other clients stretch the second term by their
	// shares. A job that may be made to wait by rescue, because it has a deadline and time to spare, waits Ageing longer
	// in all. For whoever got the device, or came, after the job had waited (d+1)*Ageing is a level below it
	// from then on, so each of the n goes before it at most once more.
	Ageing time.Duration
	// QueueLimit is how many jobs of one client may wait for their first turn; 0 for DefaultQueueLimit. Beyond it
	// Run refuses with RESOURCE_EXHAUSTED_TRANSIENT, or, where one of a lower priority waits, the last of the lowest
	// ends with that in its place.
	QueueLimit int
	// NoPreempt submits each execution whole, in the order in which they came, whatever their client and
	// priority. It is there for comparison, and SetPreemption changes it.
	NoPreempt bool
}

// Job is one execution. The scheduler borrows it and what its functions hold until Run returns; Run never
// calls two of the functions at the same time.
type Job struct {
	Priority nn.Priority
	// Deadline is when the job must be done; zero for none. A time decades away counts as none.
	Deadline time.Time
	// Segments has the estimated time of each segment. It must not change during Run. Negative times count as 0.
	Segments []time.Duration
	// Later is the estimated time of what More will say. It must not change during Run.
	Later time.Duration
	// Fastest is the least time that all segments together ever took; 0 where nothing is known. A deadline that is nearer
	// is MISSED_DEADLINE_PERSISTENT.
	Fastest time.Duration
	// Trial allows the job to test its estimates: where these say that it will be late even alone, it is let through if they
	// have refused its Group for half a second in which nothing of it was measured, and the last trial was most of a second
	// ago. It makes nobody late who was admitted, and is given up when its deadline has passed.
	Trial bool
	// Begin is optional and called once, before the first Submit, as soon as the job is next in the order of
	// choice; jobs that are refused never begin. It may block, for instance until arenas are free: meanwhile
	// others use the device. Its ctx is done when the deadline is or the client is closed, and must not be used after
	// Begin has returned. An error ends the job with it.
	Begin func(ctx context.Context) error
	// Group is optional: it joins jobs whose Begins wait for the same thing, such as the arenas of one model. While one
	// of them is blocked no other begins, so that they get what they wait for in the order of choice.
	Group *Group
	// Lane is 0 or 1: which of two queues of the device the job's submissions go to. Within a lane they end in order.
	Lane int
	// Submit hands segments [first, last) to the device and does not wait for them. The ranges come in order and
	// without gaps. An error ends the job with it.
	Submit func(first, last int) (Fence, error)
	// More is optional, for work that depends on earlier results, such as a loop. It is called when all segments are
	// done, and says which come now, numbered from 0 again, and the estimated time of what may come after them; without
	// any, the job is done. The list must not change before the next call. Begin may still set More. The job keeps its
	// place in the order of choice, and others go before it as between any two segments. While it blocks, the device
	// waits for a moment, then others use it. An error ends the job with it.
	More func(ctx context.Context) (segments []time.Duration, later time.Duration, err error)
	// Observe is optional and called with the measured time of segments [first, last), in order: from when they
	// could start (their submission, or the end of what was on the device before them) until their fence was
	// seen. It is not called for work that failed, nor for what was behind it. Segments count as for Submit.
	Observe func(first, last int, took time.Duration)
}

// Group is what jobs of one model have in common: their Begins wait for each other, and their estimates are of the same
// kind. The zero value is ready, for one Scheduler.
type Group struct {
	begins []*run // guarded by Scheduler.mu: inside Begin, in the order in which they were told to
	doubt  doubt  // guarded by Scheduler.mu: of their estimates
}

// Fence is signalled when submitted work is done or failed.
type Fence interface {
	// Wait blocks until the work is done, failed, or ctx is done. The scheduler waits with a context that is
	// never done: a device that hangs must make its fences fail.
	Wait(ctx context.Context) error
}

// Report says what became of a job.
type Report struct {
	Queued      time.Duration // from the call of Run to the first Submit, or to the end without one
	Preemptions int           // how often another job went between two of its segments
	Submissions int           // calls of Submit
	Trial       bool          // it was let through to test its estimates
}

// Scheduler orders the work of all clients of one device. Safe for concurrent use. There is nothing to close.
type Scheduler struct {
	slots      int
	ageing     time.Duration
	queueLimit int
	epoch      time.Time // all instants below are since this

	mu        sync.Mutex
	noPreempt bool                 // guarded by mu
	clients   []*Client            // guarded by mu: the open ones, and closed ones with jobs
	active    []*Client            // guarded by mu: those with jobs
	jobs      int                  // guarded by mu: in all clients
	idle      [2]chan struct{}     // guarded by mu: closed when jobs is no more than the index; nil while nobody waits for that
	inFlight  int                  // guarded by mu: places on the device that are taken, at most slots
	looking   bool                 // guarded by mu: dispatch will be called when a job inside Begin counts as blocked
	arrivals  uint64               // guarded by mu: numbers the jobs
	vclock    float64              // guarded by mu: where a client that comes back starts, ns per share
	departed  float64              // guarded by mu: the most virtual time of a client that was closed
	last      *run                 // guarded by mu: who got the device last
	flight    []*submission        // guarded by mu: what is on the device, in order
	lastEnd   [lanes]time.Duration // guarded by mu: when the device last was seen to end a submission
	stats     Stats                // guarded by mu: totals; Clients unused
	pace      pace                 // guarded by mu
	version   uint64               // guarded by mu: changes with all that a forecast depends on
	forecast  forecast             // guarded by mu: room that the admission test uses again
	above     []*run               // guarded by mu: room that rescue uses again
	spare     []*run               // guarded by mu: for jobs to come
}

// New makes a scheduler for one device.
func New(o Options) *Scheduler {
	s := &Scheduler{
		slots:      max(o.InFlight, 1),
		ageing:     o.Ageing,
		queueLimit: o.QueueLimit,
		noPreempt:  o.NoPreempt,
		epoch:      time.Now(),
	}
	if s.ageing == 0 {
		s.ageing = DefaultAgeing
	}
	if s.queueLimit <= 0 {
		s.queueLimit = DefaultQueueLimit
	}
	return s
}

// SetPreemption changes Options.NoPreempt while work goes on. What is on the device, or has a place there, stays as it
// was handed over; what goes next follows the other order. Without preemption shares are not kept, so what clients had
// beyond theirs is forgotten when it is on again.
func (s *Scheduler) SetPreemption(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPreempt == !on {
		return
	}
	s.noPreempt = !on
	s.version++
	if !on {
		return
	}
	for _, c := range s.clients {
		s.vclock = max(s.vclock, c.virtual)
	}
	for _, c := range s.clients {
		c.virtual = s.vclock
	}
}

// Idle blocks until no job waits or runs; when ctx is done first it returns the error of ctx. New jobs may have come by
// the time that the caller acts: it is for work that should keep out of the way, not for excluding jobs. A nil context
// is INVALID_ARGUMENT.
func (s *Scheduler) Idle(ctx context.Context) error { return s.atMost(ctx, 0) }

// IdleButOne is Idle for what is done for a job that runs: it blocks until no other waits or runs.
func (s *Scheduler) IdleButOne(ctx context.Context) error { return s.atMost(ctx, 1) }

// atMost blocks until there are at most n jobs, n being 0 or 1.
func (s *Scheduler) atMost(ctx context.Context, n int) error {
	if err := nn.NotNil("context", ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.jobs <= n {
		s.mu.Unlock()
		return nil
	}
	if s.idle[n] == nil {
		s.idle[n] = make(chan struct{})
	}
	idle := s.idle[n]
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now is the time since the epoch, which neither jumps nor goes back.
func (s *Scheduler) now() time.Duration { return time.Since(s.epoch) }
