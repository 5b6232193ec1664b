package vulkan

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
)

// Lost says since when the device can no longer be used, and why, as an error with DEVICE_UNAVAILABLE; nil for a
// device that works.
func (d *Device) Lost() (since time.Time, why error) {
	if why = d.failure("device", nil); why != nil {
		since = start.Add(time.Duration(d.failedAt.Load()))
	}
	return since, why
}

// giveUp abandons the device because of err: waits for it end, and nothing of it is freed.
func (d *Device) giveUp(err error) {
	d.hung.Store(true)
	d.fail(err)
}

// drainLimit bounds how long a lost device may take to end the work on it.
const drainLimit = 10 * time.Second

// drain blocks until a lost device has stopped working, so that memory can be freed. Vulkan promises that this comes
// soon; a device that breaks the promise is given up, and with it the goroutine that waits inside the driver.
func (d *Device) drain() {
	d.drained.Do(func() {
		if d.abandoned() {
			return
		}
		d.queueMu.Lock() // later submissions find the device lost
		done := make(chan struct{})
		d.queueMu.Unlock()
		go func() {
			defer close(done)
			_ = d.dev.WaitIdle() // a lost device says so
		}()
		limit := time.NewTimer(drainLimit)
		defer limit.Stop()
		select {
		case <-done:
		case <-limit.C:
			d.giveUp(ErrAbandoned)
		}
	})
}

// quiet waits once, for a limited time, until an abandoned device has ended its work after all: host memory that it
// imported is about to go. A software device that was only slow would fault on it; a GPU keeps the pages.
func (d *Device) quiet() {
	if !d.abandoned() {
		return
	}
	d.quieted.Do(func() {
		if !d.queueMu.TryLock() { // somebody is stuck in a submission
			return
		}
		last := make([]uint64, len(d.queues))
		for i, q := range d.queues {
			last[i] = q.next
		}
		d.queueMu.Unlock()
		for i, value := range last {
			_, _ = d.dev.Wait(i, value, drainLimit)
		}
	})
}

// holders tracks who needs a device open. Safe for concurrent use.
type holders struct {
	mu       sync.Mutex
	n        int              // guarded by mu
	memories map[*Memory]bool // guarded by mu; those that are not closed
	// retired is called once when n is 0; nil while the device is in use. Guarded by mu.
	retired func()
}

// Hold keeps a device from being closed by Retire until Release. Executables hold theirs until they are closed, and
// callers hold one while they make something on it.
func (d *Device) Hold() {
	d.holders.mu.Lock()
	defer d.holders.mu.Unlock()
	d.holders.n++
}

// Release undoes Hold.
func (d *Device) Release() {
	h := &d.holders
	h.mu.Lock()
	if h.n--; h.n < 0 {
		panic("vulkan: device released twice")
	}
	var last func()
	if h.n == 0 {
		last, h.retired = h.retired, nil
	}
	h.mu.Unlock()
	if last != nil {
		last()
	}
}

// remember notes a memory that was made, and forget that it is closed.
func (d *Device) remember(m *Memory) *Memory {
	d.holders.mu.Lock()
	defer d.holders.mu.Unlock()
	if d.holders.memories == nil {
		d.holders.memories = map[*Memory]bool{}
	}
	d.holders.memories[m] = true
	return m
}

func (d *Device) forget(m *Memory) {
	d.holders.mu.Lock()
	defer d.holders.mu.Unlock()
	delete(d.holders.memories, m)
}

// closeMemories frees the memories that are left. Precondition: no executable is left.
func (d *Device) closeMemories() {
	d.holders.mu.Lock()
	list := slices.Collect(maps.Keys(d.holders.memories))
	d.holders.mu.Unlock()
	for _, m := range list {
		m.mu.Lock()
		m.free()
		m.mu.Unlock()
	}
}

// Retire closes the device, which is lost, and its memories once nothing holds it, perhaps at once, and then calls done
// with the last messages of the validation layer. It is called once, in place of Close.
func (d *Device) Retire(done func(messages []string, err error)) {
	d.Hold()
	d.holders.mu.Lock()
	d.holders.retired = func() {
		if !d.abandoned() { // else nothing is freed
			d.closeMemories()
		}
		messages := d.ValidationMessages()
		done(messages, d.Close())
	}
	d.holders.mu.Unlock()
	d.Release()
}

// Reopen opens the device of d once more, after a loss; d stays as it is. Errors: those of Open, in particular
// ErrUnknownDevice where the device has gone or has another driver.
func (d *Device) Reopen() (*Device, error) {
	was := d.props
	n, err := openChosen(d.selector, d.options, func(list []DeviceInfo) (int, error) {
		for i := range list {
			p := list[i].Properties
			if list[i].Name == d.info.Name && p.VendorID == was.VendorID && p.DeviceID == was.DeviceID &&
				p.DeviceUUID == was.DeviceUUID && p.DriverUUID == was.DriverUUID && p.DriverVersion == was.DriverVersion {
				return usable(&list[i])
			}
		}
		return 0, fmt.Errorf("%w: %q is gone; known are %s", ErrUnknownDevice, d.info.Name, names(list))
	})
	if err != nil {
		return nil, err
	}
	n.rates.Store(d.rates.Load())
	n.ceilings.Store(d.ceilings.Load())
	return n, nil
}

// MapsWeights says whether executables have their packed constants where the host reads them as fast as its own
// memory.
func (d *Device) MapsWeights() bool {
	t := deviceMemory(d.props, ^uint32(0))
	const fast = hostFlags | vk.HostCached
	return t >= 0 && d.props.MemoryTypes[t].Flags&fast == fast
}

// MappedWeights are the packed constants where the device has them; nil where the host cannot see them, or slowly. They
// must not be written and are valid until Close, also after the device is lost, when they may hold anything.
func (x *Executable) MappedWeights() []byte {
	if x.weights == nil || x.weights.host == nil || !x.weights.cached {
		return nil
	}
	return x.weights.host[:x.plan.WeightBytes]
}

// Device is where x runs.
func (x *Executable) Device() *Device { return x.dev }

// Lost says whether the memory went with its device: what it held is gone, and nothing but Close works.
func (m *Memory) Lost() bool { return m.dev.failed.Load() != nil }

// cost is the estimate of segments [first, last) by the cost model alone. What was learned may come from a file, which
// must not decide how long a device may hang.
func (x *Executable) cost(first, last int) time.Duration {
	var sum time.Duration
	for _, t := range x.estimates[first:last] {
		sum += min(max(t, 0), maxCost)
	}
	return sum
}

// maxCost bounds what the cost model may say of one segment: those that are cut take milliseconds.
const maxCost = time.Minute

const (
	// leastPatience is the default of Options.Watchdog.
	leastPatience = 10 * time.Second
	// patienceFactor is how many times its estimate work may take: estimates assume a device that has nothing else to
	// do, and may be wrong.
	patienceFactor = 50
	// maxGap bounds the time that is counted between two looks. While the process is stopped, or the machine asleep, a
	// software device is stopped as well.
	maxGap = 20 * waitSlice
	// compileTime is the estimate of work with a pipeline that the driver may yet have to compile: software devices do
	// that at the first dispatch, in up to 2 s, and in more than 10 s on a machine that has other work.
	compileTime = time.Second
)

// watchdog notices work that does not end, by the time for which waiters see it running after the end of the work
// before it. Time without waiters does not count. Safe for concurrent use.
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

// drop does what ended does. Precondition: mu is held.
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
