package null

import (
	"time"

	"github.com/nngpu/nngpu/driver/backend"
)

// tracer fills a trace with Backend.Steps: the device counts as busy from each submission to the end of the wait for it,
// and divides that among all steps alike. A nil one does nothing.
type tracer struct {
	to    *backend.Trace
	steps []backend.Step
	at    time.Time // of the last submission
}

func (b *Backend) tracer(t *backend.Trace, from time.Time) *tracer {
	if t == nil {
		return nil
	}
	t.Recorded = backend.Span{From: from, To: time.Now()}
	return &tracer{to: t, steps: b.Steps}
}

func (t *tracer) submitted() {
	if t != nil {
		t.at = time.Now()
	}
}

func (t *tracer) waited() {
	if t != nil {
		t.to.Busy = append(t.to.Busy, backend.Span{From: t.at, To: time.Now()})
	}
}

func (t *tracer) finish() {
	if t == nil || len(t.steps) == 0 {
		return
	}
	t.to.Steps, t.to.Late = t.steps, t
}

// Resolve sets what each step took.
func (t *tracer) Resolve() {
	var busy time.Duration
	for _, s := range t.to.Busy {
		busy += s.Length()
	}
	t.to.Times = make([]backend.StepTime, len(t.steps))
	each := busy / time.Duration(len(t.steps))
	for i := range t.to.Times {
		t.to.Times[i] = backend.StepTime{At: t.to.Busy[0].From, Took: each, Uncertainty: each / 2}
	}
}
