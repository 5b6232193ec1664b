package qos_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// signalled is a fence of work that takes no time.
type signalled struct{}

func (signalled) Wait(context.Context) error { return nil }

func BenchmarkRun(b *testing.B) {
	for _, k := range []struct {
		name     string
		segments int
		deadline bool
		begin    bool
		priority nn.Priority
	}{
		{"one segment", 1, false, false, nn.PriorityMedium},
		{"one segment, deadline, begin, observe", 1, true, true, nn.PriorityMedium},
		{"100 segments", 100, false, false, nn.PriorityMedium},
		{"100 segments, high", 100, false, false, nn.PriorityHigh},
	} {
		b.Run(k.name, func(b *testing.B) {
			s := qos.New(qos.Options{})
			c := s.MustClient("c", 1)
			defer c.Close()
			e := qos.NewEstimator(each(k.segments, time.Microsecond))
			b.ReportAllocs()
			for b.Loop() {
				j := &qos.Job{
					Priority: k.priority,
					Segments: e.Segments(),
					Submit:   func(first, last int) (qos.Fence, error) { return signalled{}, nil },
				}
				if k.begin {
					j.Begin = func(context.Context) error { return nil }
					j.Observe = e.ObserveRange
				}
				if k.deadline {
					j.Deadline = time.Now().Add(time.Second)
				}
				if _, err := c.Run(context.Background(), j); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAdmit is the admission test behind long queues of several clients: of what will be in time, and of what
// others are in the way of, in a client of its own.
func BenchmarkAdmit(b *testing.B) {
	for _, k := range []struct{ clients, jobs int }{{4, 1}, {4, 10}, {4, 250}, {64, 256}} {
		s := qos.New(qos.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		blocked := make(chan struct{})
		for range k.clients {
			c := s.MustClient("c", 1)
			for i := range k.jobs {
				wg.Go(func() {
					j := &qos.Job{
						Segments: each(100, 2*ms),
						Submit:   func(int, int) (qos.Fence, error) { return until(blocked), nil },
					}
					if i == 0 {
						j.Deadline = time.Now().Add(24 * time.Hour)
					}
					_, _ = c.Run(ctx, j)
				})
			}
		}
		for n := 0; n < k.clients*k.jobs; time.Sleep(ms) {
			n = 0
			for _, c := range s.Stats().Clients {
				n += c.Jobs
			}
		}
		c := s.MustClient("asks", 1)
		for name, left := range map[string]time.Duration{"met": 48 * time.Hour, "refused": 201 * ms} {
			j := &qos.Job{Segments: each(100, 2*ms)}
			b.Run(fmt.Sprintf("%s, %d clients with %d jobs", name, k.clients, k.jobs), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					j.Deadline = time.Now().Add(left)
					if err := c.CanMeet(j); (err == nil) != (left > time.Hour) {
						b.Fatal(err)
					}
				}
			})
		}
		cancel()
		close(blocked)
		wg.Wait()
	}
}

// until is a fence that is signalled when the channel is closed.
type until chan struct{}

func (u until) Wait(context.Context) error {
	<-u
	return nil
}
