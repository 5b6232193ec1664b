package qos

import "time"

const (
	// doubtAfter is how long estimates may refuse work while nothing of it is measured, before they are doubted.
	doubtAfter = 500 * time.Millisecond
	// trialEvery is the least time between two trials of one model. It is less than the second within which work is to
	// succeed after a disturbance: requests come at moments of their own, and have to run.
	trialEvery = 850 * time.Millisecond
)

// doubt says when estimates that refuse work are to be put to the test: what is refused is not measured, so that
// estimates which a disturbance has spoilt would refuse for ever.
type doubt struct {
	since     time.Time // of the first refusal after the last measurement; zero: there was none
	lastTrial time.Time
}

// refused notes that the estimates refused work, though it was done quicker before.
func (d *doubt) refused(now time.Time) {
	if d.since.IsZero() {
		d.since = now
	}
}

// due reports whether work is to be let through for a trial.
func (d *doubt) due(now time.Time) bool {
	return !d.since.IsZero() && now.Sub(d.since) >= doubtAfter && now.Sub(d.lastTrial) >= trialEvery
}

// tried notes that work was let through for a trial.
func (d *doubt) tried(now time.Time) { d.lastTrial = now }

// measured notes that work was measured.
func (d *doubt) measured() { d.since = time.Time{} }
