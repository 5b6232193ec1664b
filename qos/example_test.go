package qos_test

import (
	"context"
	"fmt"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// A client runs a job of three segments, then asks for what cannot be done in time.
func Example() {
	s := qos.New(qos.Options{})
	c, err := s.NewClient("camera", 1)
	if err != nil {
		panic(err)
	}
	defer c.Close()

	estimates := qos.NewEstimator([]time.Duration{2 * time.Millisecond, 2 * time.Millisecond, time.Millisecond})
	j := &qos.Job{
		Priority: nn.PriorityMedium,
		Segments: estimates.Segments(),
		Submit: func(first, last int) (qos.Fence, error) {
			fmt.Println("segments", first, "to", last)
			return signalled{}, nil // of the device
		},
		Observe: estimates.ObserveRange,
	}
	report, err := c.Run(context.Background(), j)
	fmt.Println(report.Submissions, report.Preemptions, err)

	late := &qos.Job{Segments: []time.Duration{20 * time.Millisecond}, Fastest: 18 * time.Millisecond, Deadline: time.Now().Add(5 * time.Millisecond)}
	_, err = c.Run(context.Background(), late)
	fmt.Println(nn.StatusOf(err))
	// Output:
	// segments 0 to 1
	// segments 1 to 2
	// segments 2 to 3
	// 3 0 <nil>
	// MISSED_DEADLINE_PERSISTENT
}
