package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// againstFlags are the flags of bench that go with --against.
type againstFlags struct {
	rival     string
	rate      float64
	deadline  time.Duration
	noPreempt bool
	plot      string
	files     reportFlags
}

// againstOnly are the flags that mean nothing without --against.
var againstOnly = []string{"rate", "deadline", "no-preempt", "plot", "trace", "html"}

// againstDuration is how long each case is measured by default: the three, with preparations before, stay within a
// minute.
const againstDuration = 10 * time.Second

func (f *againstFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.rival, "against", "", "another model, MODEL[:low|:medium|:high] (default low), that saturates the device meanwhile")
	flags.Float64Var(&f.rate, "rate", 0, "executions a second (default: one after the other, with short random pauses)")
	flags.DurationVar(&f.deadline, "deadline", 0, "time that each execution has (default: any)")
	flags.BoolVar(&f.noPreempt, "no-preempt", false, "no preemption in any case: submit every execution whole")
	flags.StringVar(&f.plot, "plot", "", "write a picture of the latencies, FILE.svg")
	f.files.register(c)
}

// check reports flags that contradict each other or make no sense.
func (f *againstFlags) check(c *cobra.Command) error {
	for _, other := range []string{"startup", "runs", "warmup", "concurrency", "io"} {
		if c.Flags().Changed(other) {
			return usageError("--against and --%s exclude each other", other)
		}
	}
	changed := c.Flags().Changed
	switch {
	case changed("rate") && !(f.rate > 0 && f.rate <= 1e6): // not a number neither
		return usageError("--rate must be above 0 and at most a million a second, not %v", f.rate)
	case changed("deadline") && f.deadline <= 0:
		return usageError("--deadline must be positive, not %v", f.deadline)
	case changed("plot") && !strings.EqualFold(filepath.Ext(f.plot), ".svg"):
		return usageError("--plot writes .svg files, not %q", f.plot)
	}
	if err := f.files.check(); err != nil || f.plot == "" {
		return err
	}
	return checkFolder("--plot", filepath.Dir(f.plot))
}

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

// opponents are both networks of --against as they were read.
type opponents struct {
	path                   string
	front, back            *importer.Network
	inputs                 [][]byte // of front
	rival                  rival
	flags                  *againstFlags
	duration               time.Duration
	deviceName, driverName string        // once opened
	segmentBound           time.Duration // as soon
	frontRuns, backRuns    *runLog       // of the loaded case; nil where no file is wanted
	prepared               []report.Event
}

func (a *app) against(c *cobra.Command, path string, f *benchFlags) error {
	o := opponents{path: path, flags: &f.against, duration: f.duration}
	err := o.flags.check(c)
	if err != nil {
		return err
	}
	if !c.Flags().Changed("duration") {
		o.duration = againstDuration
	}
	if o.duration <= 0 {
		return usageError("--duration must be positive, not %v", o.duration)
	}
	if o.rival, err = parseRival(o.flags.rival); err != nil {
		return err
	}
	if o.front, err = a.loadNetwork(path); err != nil {
		return err
	}
	if o.back, err = loadFile(o.rival.path); err != nil {
		return err
	}
	o.inputs = randomInputs(o.front.Model)
	if len(f.inputs.files) > 0 {
		if o.inputs, err = a.gatherInputs(o.front, &f.inputs); err != nil {
			return err
		}
	}
	res, err := a.measureAgainst(c.Context(), &o)
	if err != nil {
		return err
	}
	if err := o.savePlot(res); err != nil {
		return err
	}
	if o.flags.files.wanted() {
		if err := o.flags.files.write(o.recording(res), func() (*report.Page, error) { return o.page(res), nil }); err != nil {
			return err
		}
	}
	return a.print(res, func() {
		printf(a.out, "%s at high priority against %s at %s, on %s\n", path, o.rival.path, res.Priority, res.Device)
		printLines(a.out, againstTable(res, o.flags.deadline))
	})
}

// measureAgainst measures the three cases: the last on a device of its own, because preemption is switched there.
func (a *app) measureAgainst(ctx context.Context, o *opponents) (*againstResult, error) {
	bar := a.progress(3, "measure")
	defer bar.finish()
	var cases []againstCase
	for _, on := range []struct {
		noPreempt bool
		loaded    []bool
	}{{o.flags.noPreempt, []bool{false, true}}, {true, []bool{true}}} {
		list, err := a.measureOn(ctx, o, on.noPreempt, on.loaded, bar)
		if err != nil {
			return nil, err
		}
		cases = append(cases, list...)
	}
	return &againstResult{
		Device: o.deviceName, Driver: o.driverName, Version: version(), Model: o.path, Against: o.rival.path, Priority: strings.ToLower(o.rival.priority.String()),
		Alone: cases[0], Loaded: cases[1], NoPreempt: cases[2], SegmentBound: milliseconds(o.segmentBound),
	}, nil
}

// measureOn measures cases on a device that it opens, each loaded or not.
func (a *app) measureOn(ctx context.Context, o *opponents, noPreempt bool, loaded []bool, bar *progress) (cases []againstCase, err error) {
	dev, err := a.openWith(nngpu.Options{Cache: a.cacheOptions(), Scheduling: driver.SchedulingOptions{NoPreempt: noPreempt}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	o.deviceName, o.driverName, o.segmentBound = dev.Info().Name, dev.Info().Driver, dev.Vulkan.SegmentBound()
	// Priorities order the executions of one client; between clients shares are fair.
	client, err := dev.NewClient("nngpu")
	if err != nil {
		return nil, err
	}
	front, err := o.prepare(ctx, client, o.path, o.front, o.inputs, nn.PriorityHigh)
	if err != nil {
		return nil, err
	}
	back, err := o.prepare(ctx, client, o.rival.path, o.back, randomInputs(o.back.Model), o.rival.priority)
	if err != nil {
		return nil, err
	}
	front.deadline = o.flags.deadline
	for _, load := range loaded {
		if o.flags.files.wanted() && load && len(loaded) > 1 { // the case that shows who waits for whom
			o.frontRuns, o.backRuns = &runLog{}, &runLog{}
			front.profiles, back.profiles = o.frontRuns, o.backRuns
		}
		c := contest{
			foreground: front, rate: o.flags.rate, deadline: o.flags.deadline, duration: o.duration,
			preemptions: func() int64 { return int64(dev.Scheduling().Preemptions) },
		}
		if load {
			c.background, c.toEnd = back, back.profiles != nil
		}
		seen, err := c.measure(ctx)
		if err != nil {
			return nil, err
		}
		bar.step()
		cases = append(cases, seen.figures())
	}
	return cases, nil
}

// warmUps is the number of executions before measuring: what they take is what the driver then expects.
const warmUps = 3

// prepare makes a runner and warms it up.
func (o *opponents) prepare(ctx context.Context, c *driver.Client, path string, net *importer.Network, inputs [][]byte, p nn.Priority) (*modelRunner, error) {
	began := time.Now()
	model, err := c.PrepareModel(ctx, net.Model, driver.WithPriority(p))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o.prepared = append(o.prepared, report.Event{
		Name: "prepare", Detail: clean(fmt.Sprintf("%s: cache %s", path, model.Cached())), From: began, To: time.Now(),
	})
	r := &modelRunner{model: model, inputs: inputs}
	for range warmUps {
		if _, err := r.Run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return r, nil
}

// savePlot writes the file of --plot, where there is one.
func (o *opponents) savePlot(r *againstResult) error {
	if o.flags.plot == "" {
		return nil
	}
	var b bytes.Buffer
	if err := againstPlot(&b, o.title(r), r, milliseconds(o.flags.deadline)); err != nil {
		return err
	}
	return saveOutputs(filepath.Dir(o.flags.plot), []outputFile{{o.flags.plot, b.Bytes()}})
}
