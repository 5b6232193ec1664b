package vulkan

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// leastPatience is the default of Options.Watchdog.
	leastPatience = 10 * time.Second
	// patienceFactor is how many times its estimate work may take: estimates are of a device that has nothing else
	// to do, and may be wrong.
	patienceFactor = 50
	// maxGap bounds what is counted between two looks. A process that was stopped, or a machine that was asleep,
	// stopped a software device as well.
	maxGap = 20 * waitSlice
	// compileTime is the estimate of work with a pipeline that the driver may yet have to compile: software devices do
	// that at the first dispatch, in up to 2 s.
	compileTime = 200 * time.Millisecond
)

// watchdog notices work that does not end, by the time for which waiters see it running: from the end of what was
// submitted before it. Where nobody waits, nobody is kept waiting. Safe for concurrent use.
type watchdog struct {
	least time.Duration // immutable; what any work may take, negative for no end

	mu     sync.Mutex
	queue  []watched     // guarded by mu; by value: submissions that are not known to have ended
	spent  time.Duration // guarded by mu; how long the first of queue was seen running
	looked time.Duration // guarded by mu; when that was counted, by now()
}

// watched is a submission.
type watched struct {
	value    uint64 // of the timeline at its end
	estimate time.Duration
}

// init takes Options.Watchdog.
func (w *watchdog) init(least time.Duration) {
	if w.least = least; least == 0 {
		w.least = leastPatience
	}
}

// limit is what the submission may take.
func (w *watchdog) limit(s watched) time.Duration { return max(w.least, patienceFactor*s.estimate) }

// add notes a submission; the estimate is 0 where there is none.
func (w *watchdog) add(value uint64, estimate, at time.Duration) {
	if w.least < 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := len(w.queue)
	for i > 0 && w.queue[i-1].value > value {
		i--
	}
	w.queue = slices.Insert(w.queue, i, watched{value, estimate})
	if i == 0 {
		w.spent, w.looked = 0, at
	}
}

// ended notes that the timeline has reached value.
func (w *watchdog) ended(value uint64, at time.Duration) {
	if w.least < 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(value, at)
}

// drop is ended. Precondition: mu is held.
func (w *watchdog) drop(value uint64, at time.Duration) {
	n := 0
	for n < len(w.queue) && w.queue[n].value <= value {
		n++
	}
	if n > 0 {
		w.queue = slices.Delete(w.queue, 0, n)
		w.spent, w.looked = 0, at
	}
}

// look is called by waiters now and then, with the value that the timeline has reached. The error says that the work
// on the device has taken too long.
func (w *watchdog) look(reached uint64, at time.Duration) error {
	if w.least < 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(reached, at)
	if len(w.queue) == 0 {
		return nil
	}
	w.spent += min(max(at-w.looked, 0), maxGap)
	w.looked = max(w.looked, at)
	first := w.queue[0]
	if limit := w.limit(first); w.spent >= limit {
		return fmt.Errorf("work estimated at %v has not ended after %v: %w", first.estimate, w.spent, ErrAbandoned)
	}
	return nil
}
