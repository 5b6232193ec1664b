package live

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// lost is whether an execution failed because the device was lost.
type lost struct{ atomic.Bool }

// note looks at the error of an execution.
func (l *lost) note(err error) {
	if err != nil && nn.StatusOf(err) == nn.StatusDeviceUnavailable {
		l.Store(true)
	}
}

// runOn is run, again after each loss of the device. The driver opens the device again and brings everything back
// except what its memory held, and a frame writes all that it reads. The driver decides when a device is lost for good:
// then there is no result from one loss to the next.
func (x *session) runOn(ctx, wanted context.Context) error {
	before := -1
	for {
		err := x.run(ctx, wanted)
		total, results := x.history.tally()
		if err == nil || ctx.Err() != nil || !x.lost.Swap(false) || results == before {
			return err
		}
		before = results
		if total < x.taken { // one was under way
			x.history.frame(missed, max(0, time.Since(x.due)))
		}
		x.restart()
	}
}

// restart makes the slots free and the canvas empty. Precondition: run has returned.
func (x *session) restart() {
	x.free, x.drawer.pending, x.drawer.shown = make(chan *slot, slots), make(chan *slot, 1), nil
	for _, s := range x.slots {
		x.free <- s
	}
	x.history.resume()
}
