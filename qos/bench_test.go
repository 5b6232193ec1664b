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

// BenchmarkAdmit is the admission test behind long queues of several clients.
func BenchmarkAdmit(b *testing.B) {
	for _, jobs := range []int{1, 10, 250} {
		b.Run(fmt.Sprintf("4 clients, %d jobs each", jobs), func(b *testing.B) {
			s := qos.New(qos.Options{})
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			var last *qos.Client
			blocked := make(chan struct{})
			for range 4 {
				c := s.MustClient("c", 1)
				last = c
				for range jobs {
					wg.Go(func() {
						_, _ = c.Run(ctx, &qos.Job{
							Segments: each(100, 2*ms),
							Deadline: time.Now().Add(time.Hour),
							Submit:   func(int, int) (qos.Fence, error) { return until(blocked), nil },
						})
					})
				}
			}
			for n := 0; n < 4*jobs; time.Sleep(ms) {
				n = 0
				for _, c := range s.Stats().Clients {
					n += c.Jobs
				}
			}
			j := &qos.Job{Segments: each(100, 2*ms), Deadline: time.Now().Add(time.Hour)}
			b.ReportAllocs()
			for b.Loop() {
				if err := last.Admit(j); err != nil {
					b.Fatal(err)
				}
			}
			cancel()
			close(blocked)
			wg.Wait()
		})
	}
}

// until is a fence that is signalled when the channel is closed.
type until chan struct{}

func (u until) Wait(context.Context) error {
	<-u
	return nil
}
