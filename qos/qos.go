// Package qos decides which execution runs next: by priority within a client, by deadline within a priority,
// fairly between clients.
//
// It knows no GPU: it sees jobs made of segments with estimated times, and a device that runs one segment
// after the other. This file is its contract; the scheduler is not there yet, and the driver submits whole
// executions in the order in which they come.
package qos

import (
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// Job is an execution that waits to run.
type Job struct {
	Client   string
	Priority nn.Priority
	Deadline time.Time // zero: none
	// Segments holds the estimated time of each part. Between parts another job may go first.
	Segments []time.Duration
}
