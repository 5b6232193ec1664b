package qos_test

import (
	"context"
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
		priority nn.Priority
	}{
		{"one segment", 1, false, nn.PriorityMedium},
		{"one segment, deadline", 1, true, nn.PriorityMedium},
		{"100 segments", 100, false, nn.PriorityMedium},
		{"100 segments, high", 100, false, nn.PriorityHigh},
	} {
		b.Run(k.name, func(b *testing.B) {
			s := qos.New(qos.Options{})
			c := s.NewClient("c", 1)
			defer c.Close()
			e := qos.NewEstimator(each(k.segments, time.Microsecond))
			b.ReportAllocs()
			for b.Loop() {
				j := &qos.Job{
					Priority: k.priority,
					Segments: e.Segments(),
					Submit:   func(first, last int) (qos.Fence, error) { return signalled{}, nil },
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
