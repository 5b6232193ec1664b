package backend

import (
	"context"
	"time"
)

// Continuing is an Execution of which only the first segments are known when it begins, because what comes then depends on
// what comes out: which branch, and whether there is another iteration. Segments, and the numbers that Submit is called
// with, are those of the part that is known; each part begins with 0.
type Continuing interface {
	Execution
	// LimitLoops bounds how long each loop may go on. It is called before the first Submit.
	LimitLoops(d time.Duration)
	// Next says how it goes on: the segments that come now, by the time that each is expected to take, and the expected
	// time of what may come after them. Without segments it has come to its end. Precondition: all segments were
	// submitted, and the fence of the last was waited for without error. The list is valid until the next call. ctx
	// bounds waiting for resources, of which an execution that has begun usually has all.
	//
	// Errors: MISSED_DEADLINE_TRANSIENT for a loop beyond its limit; those of Begin.
	Next(ctx context.Context) (segments []time.Duration, later time.Duration, err error)
}
