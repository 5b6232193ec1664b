package driver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
)

// BucketOf is the bucket of a Histogram that counts d.
func BucketOf(d time.Duration) int {
	var h histogram
	h.observe(d)
	for i, n := range h.read().Buckets {
		if n > 0 {
			return i
		}
	}
	return -1
}

// ended is an execution that succeeded, for executionEnded.
func ended() (*execution, *Result) {
	a := newExecution(&PreparedModel{}, nil)
	a.o.deadline = time.Now().Add(time.Hour)
	a.submitted, a.queued, a.onDevice, a.took = true, 3*time.Microsecond, 2*time.Millisecond, 3*time.Millisecond
	return a, &Result{Traffic: backend.Traffic{Copied: 1, Converted: 2}}
}

// TestRecordingAllocatesNothing where the execution succeeded; errors allocate anyway.
func TestRecordingAllocatesNothing(t *testing.T) {
	var c counters
	a, res := ended()
	require.Zero(t, testing.AllocsPerRun(100, func() { c.executionEnded(a, res, nil) }))
}

// BenchmarkRecording is what the metrics of an execution cost, alone and with as many goroutines as there are cores.
func BenchmarkRecording(b *testing.B) {
	a, res := ended()
	b.Run("alone", func(b *testing.B) {
		var c counters
		b.ReportAllocs()
		for b.Loop() {
			c.executionEnded(a, res, nil)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		var c counters
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				c.executionEnded(a, res, nil)
			}
		})
	})
}
