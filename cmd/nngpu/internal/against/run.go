package against

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// modelRunner is a runner on a prepared model.
type modelRunner struct {
	model    *driver.PreparedModel
	inputs   [][]byte
	deadline time.Duration // 0: none
	outputs  sync.Pool     // of *[][]byte
	profiles *runLog       // nil: nobody asked
}

// Run implements runner.
func (r *modelRunner) Run(ctx context.Context) (time.Duration, error) {
	outputs, ok := r.outputs.Get().(*[][]byte)
	if !ok {
		fresh := r.model.NewOutputs()
		outputs = &fresh
	}
	defer r.outputs.Put(outputs)
	start := time.Now()
	var opts []driver.ExecuteOption
	if r.deadline > 0 {
		opts = append(opts, driver.WithDeadline(start.Add(r.deadline)))
	}
	if r.profiles != nil {
		opts = append(opts, driver.WithProfile())
	}
	res, err := r.model.Run(ctx, r.inputs, *outputs, opts...)
	took := time.Since(start)
	if err == nil && r.profiles != nil {
		r.profiles.add(res)
	}
	return took, err
}

// Network is one of the two that are measured against each other.
type Network struct {
	Path     string
	Model    *nn.Model
	Inputs   [][]byte
	Priority nn.Priority
}

// Setup says what is measured.
type Setup struct {
	Foreground, Background Network
	// Open opens the device, with preemption or without. What it returns is closed.
	Open      func(noPreempt bool) (*nngpu.Device, error)
	Rate      float64       // executions of the foreground a second; 0: one after the other with short pauses
	Deadline  time.Duration // of each; 0: none
	Duration  time.Duration // of each case
	NoPreempt bool          // in all cases
	Record    bool          // keep what Recording tells
	Step      func()        // called after each case
}

// Cases is how many Measure takes.
const Cases = 3

// Measure measures the three cases: the last on a device of its own, because preemption is switched there. Version of the
// result is left to the caller.
func (s *Setup) Measure(ctx context.Context) (*Result, error) {
	r := &Result{Model: s.Foreground.Path, Against: s.Background.Path, Priority: strings.ToLower(s.Background.Priority.String())}
	if s.Record {
		r.recorded = &recorded{}
	}
	if err := s.measureOn(ctx, r, s.NoPreempt, &r.Alone, &r.Loaded); err != nil {
		return nil, err
	}
	return r, s.measureOn(ctx, r, true, nil, &r.NoPreempt)
}

// measureOn measures on a device that it opens: alone, where that is wanted, and loaded.
func (s *Setup) measureOn(ctx context.Context, r *Result, noPreempt bool, alone, loaded *Case) (err error) {
	dev, err := s.Open(noPreempt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	r.Device, r.Driver, r.SegmentBound = dev.Info().Name, dev.Info().Driver, stats.Milliseconds(dev.Vulkan.SegmentBound())
	// Priorities order the executions of one client; between clients shares are fair.
	client, err := dev.NewClient("nngpu")
	if err != nil {
		return err
	}
	front, err := s.Foreground.prepare(ctx, client, r.recorded)
	if err != nil {
		return err
	}
	back, err := s.Background.prepare(ctx, client, r.recorded)
	if err != nil {
		return err
	}
	front.deadline = s.Deadline
	c := contest{
		foreground: front, rate: s.Rate, deadline: s.Deadline, duration: s.Duration,
		preemptions: func() int64 { return int64(dev.Scheduling().Preemptions) },
	}
	measure := func(into *Case) error {
		seen, err := c.measure(ctx)
		if err != nil {
			return err
		}
		s.Step()
		*into = seen.figures()
		return nil
	}
	if alone != nil {
		if err := measure(alone); err != nil {
			return err
		}
		if r.recorded != nil { // the case that follows shows who waits for whom
			front.profiles, back.profiles = &r.recorded.front, &r.recorded.back
			c.toEnd = true
		}
	}
	c.background = back
	return measure(loaded)
}

// warmUps is the number of executions before measuring: what they take is what the driver then expects.
const warmUps = 3

// prepare makes a runner and warms it up.
func (n *Network) prepare(ctx context.Context, c *driver.Client, rec *recorded) (*modelRunner, error) {
	began := time.Now()
	model, err := c.PrepareModel(ctx, n.Model, driver.WithPriority(n.Priority))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Path, err)
	}
	if rec != nil {
		rec.prepared = append(rec.prepared, report.Event{
			Name: "prepare", Detail: console.Clean(fmt.Sprintf("%s: cache %s", n.Path, model.Cached())), From: began, To: time.Now(),
		})
	}
	r := &modelRunner{model: model, inputs: n.Inputs}
	for range warmUps {
		if _, err := r.Run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Path, err)
		}
	}
	return r, nil
}
