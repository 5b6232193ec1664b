package vulkan

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// Execution is one run; it implements backend.Execution. It is a part of its slot, and the next run uses it again.
type Execution struct {
	slot      *slot // nil once released
	recording *recording
	copied    int64  // bytes that the host copied so far
	next      int    // the first segment that is not submitted
	last      *fence // of the last submission; one of the slot's
	// Where the host takes the times: when the first submission was made, and the timeline's value before it.
	begun  time.Duration
	before uint64
	traced *traced // nil without a trace
	// exported are the semaphores behind the sync_files that were given away.
	exported []vk.Semaphore
}

var errReleased = errors.New("execution is released")

// Submit implements backend.Execution.
func (e *Execution) Submit(first, last int) (backend.Fence, error) {
	if e.slot == nil {
		return nil, errReleased
	}
	if first != e.next || last <= first || last > len(e.recording.cmds) {
		return nil, fmt.Errorf("segments %d to %d submitted after %d of %d", first, last, e.next, len(e.recording.cmds))
	}
	cmds, at := e.recording.cmds[first:last], time.Duration(0)
	if e.traced != nil {
		cmds, at = e.traced.commands(e.recording, first, last), now()
	}
	f, err := e.slot.x.dev.submit(e.slot.x.queue(), cmds, e.slot.x.cost(first, last))
	if err != nil {
		return nil, err
	}
	if e.last == nil {
		e.begun, e.before = now(), f.value-1
	}
	e.next, e.last = last, &e.slot.fences[first]
	*e.last = f
	if e.traced != nil {
		e.traced.list = append(e.traced.list, submitted{first: first, last: last, at: at, fence: e.last})
	}
	e.slot.x.dev.counters.submissions.Add(1)
	return e.last, nil
}

// Finish implements backend.Execution.
func (e *Execution) Finish() error {
	if err := e.submitted(); err != nil {
		return err
	}
	var to *backend.Trace
	if e.traced != nil {
		to = e.traced.to
	}
	from := to.Now()
	copied, err := e.slot.store()
	e.copied += copied
	if err != nil || to == nil {
		return err
	}
	to.Stored = backend.Span{From: from, To: time.Now()}
	return e.finishTrace()
}

// submitted returns an error unless all segments were submitted.
func (e *Execution) submitted() error {
	if e.slot == nil {
		return errReleased
	}
	if e.next != len(e.recording.cmds) {
		return fmt.Errorf("%d of %d segments were submitted", e.next, len(e.recording.cmds))
	}
	return nil
}

// OutputDims implements backend.Execution: a plan knows all sizes.
func (e *Execution) OutputDims() []nn.Dims { return nil }

// SyncFile implements backend.Execution.
func (e *Execution) SyncFile() (*os.File, error) {
	if err := e.submitted(); err != nil {
		return nil, err
	}
	if e.slot.stores() {
		return nil, fmt.Errorf("%w: the host copies outputs afterwards", backend.ErrNoSyncFile)
	}
	d := e.slot.x.dev
	d.queueMu.Lock()
	fd, sem, err := d.dev.SyncFD(e.slot.x.queue().index)
	d.queueMu.Unlock()
	if sem != 0 {
		e.exported = append(e.exported, sem)
	}
	if errors.Is(err, vk.ErrNotSupported) {
		return nil, fmt.Errorf("%w: %w", backend.ErrNoSyncFile, err)
	}
	if err != nil {
		return nil, d.failure("sync file", err)
	}
	if fd < 0 {
		return nil, nil
	}
	return os.NewFile(uintptr(fd), "sync_file"), nil
}

// DeviceTime implements backend.Execution.
func (e *Execution) DeviceTime() time.Duration {
	if e.slot == nil || e.last == nil {
		return 0
	}
	var took time.Duration
	if e.slot.stamps == 0 {
		took = e.hostTime()
	} else if t := e.stamps(0, 2*e.Segments()); len(t) > 0 {
		took = e.elapsed(t[0], t[len(t)-1])
	}
	e.slot.x.compare(took)
	return took
}

// hostTime is the time from when the device could begin to when a waiter saw the end, by the host's clock.
func (e *Execution) hostTime() time.Duration {
	ends := &e.last.queue.ends
	end := e.last.reached()
	if end == 0 || !e.slot.x.dev.hostTimed {
		return 0
	}
	return max(end-max(e.begun, ends.when(e.before)), 0)
}

// SegmentTimes is the time that each segment took on the device, nil where it cannot be measured, as on devices that
// are timed by the host. It is valid until Release. Precondition: that of Finish.
func (e *Execution) SegmentTimes() []time.Duration {
	t := e.stamps(0, 2*e.Segments())
	if len(t) == 0 {
		return nil
	}
	list := e.slot.times[:0]
	for i := 0; i < len(t); i += 2 {
		list = append(list, e.elapsed(t[i], t[i+1]))
	}
	return list
}

// Traffic implements backend.Execution.
func (e *Execution) Traffic() backend.Traffic {
	if e.slot == nil {
		return backend.Traffic{}
	}
	t := e.recording.traffic
	t.Copied += e.copied
	return t
}

// Segments implements backend.Execution.
func (e *Execution) Segments() int {
	if e.slot == nil {
		return 0
	}
	return len(e.recording.cmds)
}

// stamps reads n timestamps from query first on; nil when there are none. They are valid until these are read again, or
// Release.
func (e *Execution) stamps(first, n int) []uint64 {
	if e.slot == nil || e.slot.stamps == 0 || n == 0 || e.next != len(e.recording.cmds) {
		return nil
	}
	t := e.slot.ticks[first : first+n]
	if err := e.slot.x.dev.dev.Timestamps(e.slot.stamps, first, t); err != nil {
		return nil
	}
	return t
}

// elapsed is the time between two timestamps, which wrap around at the queue's number of bits.
func (e *Execution) elapsed(from, to uint64) time.Duration {
	d := e.slot.x.dev
	return time.Duration(float64((to-from)&d.stampMask) * d.info.Facts.TimestampPeriod)
}

// Release implements backend.Execution.
func (e *Execution) Release() {
	s := e.slot
	if s == nil {
		return
	}
	if e.last != nil && e.last.reached() == 0 {
		// A lost device ends the wait too; the slot goes back all the same, and its next use fails.
		_ = e.last.settle()
	}
	if d := s.x.dev; !d.abandoned() {
		for _, sem := range e.exported {
			d.dev.DestroySemaphore(sem)
		}
	}
	e.slot, e.recording, e.last, e.exported, e.traced = nil, nil, nil, nil, nil
	s.forget()
	s.x.slots[s.number].Give(s)
}

var (
	_ backend.Executable = (*Executable)(nil)
	_ backend.Execution  = (*Execution)(nil)
)
