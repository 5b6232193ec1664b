package qos

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestIdle: it ends when the last job does, waiting ones counted, or with its context.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		require.NoError(t, s.Idle(t.Context()))
		c, err := s.NewClient("test", 1)
		require.NoError(t, err)
		release := make(chan struct{})
		job := func() {
			_, err := c.Run(context.Background(), &Job{
				Segments: []time.Duration{time.Second},
				Submit:   func(int, int) (Fence, error) { return gate(release), nil },
			})
			require.NoError(t, err)
		}
		go job()
		go job() // waits
		synctest.Wait()
		var idle atomic.Int32
		for range 3 {
			go func() {
				require.NoError(t, s.Idle(context.Background()))
				idle.Add(1)
			}()
		}
		var alone atomic.Bool
		go func() {
			require.NoError(t, s.IdleButOne(context.Background()))
			alone.Store(true)
		}()
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Idle(short), context.DeadlineExceeded)
		require.False(t, alone.Load())
		release <- struct{}{}
		synctest.Wait()
		require.Zero(t, idle.Load(), "one is left")
		require.True(t, alone.Load())
		require.NoError(t, s.IdleButOne(context.Background()))
		release <- struct{}{}
		synctest.Wait()
		require.EqualValues(t, 3, idle.Load())
		require.NoError(t, s.Idle(context.Background()))
		c.Close()
	})
}

// gate is a fence that is signalled by a value.
type gate chan struct{}

func (g gate) Wait(context.Context) error {
	<-g
	return nil
}
