package qos

import (
	"context"
	"time"
)

// plan sets the segments that come now, and the estimate of what comes after them.
func (r *run) plan(segments []time.Duration, later time.Duration) {
	r.segments, r.later = segments, clampEstimate(later)
	r.rest = r.later
	for _, d := range segments {
		r.rest = min(r.rest+clampEstimate(d), never)
	}
}

// mayGoOn reports whether More is to be asked, once what is on the device has ended.
//
// Preconditions: s.mu held.
func (r *run) mayGoOn() bool {
	return r.err == nil && r.job.More != nil && !r.complete && r.state == begun && r.next == len(r.segments)
}

// submitted reports whether nothing of r is to be submitted any more, as far as is known.
//
// Preconditions: s.mu held.
func (r *run) submitted() bool {
	return r.state == begun && r.next == len(r.segments) && (r.job.More == nil || r.complete)
}

// goOn asks what comes now. It unlocks meanwhile. Where that takes long, because something is compiled say, others get the
// device as they do beside a Begin that blocks.
//
// Preconditions: s.mu held, mayGoOn, nothing of r is on the device.
func (r *run) goOn(ctx context.Context) {
	s := r.c.s
	if s.jobs > 1 {
		s.lookAgain(beginPatience)
	}
	s.mu.Unlock()
	var segments []time.Duration
	var later time.Duration
	err := r.call(func() (err error) {
		segments, later, err = r.job.More(ctx)
		return err
	})
	s.mu.Lock()
	s.version++
	if r.err != nil { // it was displaced, or its client closed
		return
	}
	if r.err = err; err != nil {
		return
	}
	if r.complete = len(segments) == 0; r.complete {
		later = 0
	}
	r.next, r.granted = 0, 0
	r.plan(segments, later)
}
