package qos_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// fenceOf is a fence that calls a function.
type fenceOf func() error

func (f fenceOf) Wait(context.Context) error { return f() }

// ending runs j and returns what Run panicked with, or its error.
func ending(t *testing.T, c *qos.Client, j *qos.Job) any {
	t.Helper()
	ended := make(chan any, 1)
	go func() {
		var end any
		defer func() {
			if p := recover(); p != nil {
				end = p
			}
			ended <- end
		}()
		if _, err := c.Run(context.Background(), j); err != nil {
			end = err
		}
	}()
	select {
	case end := <-ended:
		return end
	case <-time.After(5 * time.Second):
		require.FailNow(t, "the scheduler is stuck")
		return nil
	}
}

// TestPanicsLeaveNothing: a function of a job that panics takes Run with it, and nothing else: no place on the device, in
// the queue or among those that begin stays taken.
func TestPanicsLeaveNothing(t *testing.T) {
	explode := func() { panic("the job is mined") }
	done := fenceOf(func() error { return nil })
	segments := []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	good := func() *qos.Job {
		return &qos.Job{Priority: nn.PriorityMedium, Segments: segments, Submit: func(int, int) (qos.Fence, error) { return done, nil }}
	}
	for name, mine := range map[string]func(*qos.Job){
		"begin":   func(j *qos.Job) { j.Begin = func(context.Context) error { explode(); return nil } },
		"submit":  func(j *qos.Job) { j.Submit = func(int, int) (qos.Fence, error) { explode(); return nil, nil } },
		"observe": func(j *qos.Job) { j.Observe = func(int, int, time.Duration) { explode() } },
		"fence": func(j *qos.Job) {
			j.Submit = func(int, int) (qos.Fence, error) { return fenceOf(func() error { explode(); return nil }), nil }
		},
		"a later segment": func(j *qos.Job) {
			j.Submit = func(first, _ int) (qos.Fence, error) {
				if first == 1 {
					explode()
				}
				return done, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := qos.New(qos.Options{InFlight: 2, QueueLimit: 2})
			c, err := s.NewClient("test", 1)
			require.NoError(t, err)
			for range 5 { // more than there are places
				j := good()
				mine(j)
				require.Contains(t, ending(t, c, j), "the job is mined")
			}
			require.Nil(t, ending(t, c, good()))
			require.Zero(t, s.Stats().Clients[0].Jobs)
			c.Close()
			require.Empty(t, s.Stats().Clients)
		})
	}
}
