package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/against"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
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

// rival is the second model of --against: a file and the priority that it runs with.
type rival struct {
	path     string
	priority nn.Priority
}

var priorities = map[string]nn.Priority{"low": nn.PriorityLow, "medium": nn.PriorityMedium, "high": nn.PriorityHigh}

// parseRival reads MODEL[:PRIORITY]; without a priority it is low. A file may have a colon in its name.
func parseRival(text string) (rival, error) {
	path, word, cut := cutLast(text, ":")
	if p, known := priorities[strings.ToLower(word)]; cut && known {
		if path == "" {
			return rival{}, usageError("--against has no model; give MODEL or MODEL:low, :medium or :high")
		}
		return rival{path, p}, nil
	}
	if text == "" {
		return rival{}, usageError("--against is empty; give MODEL or MODEL:low, :medium or :high")
	}
	if cut && !exists(text) && exists(path) {
		return rival{}, usageError("--against %s: %q is no priority; they are low, medium and high", text, word)
	}
	return rival{text, nn.PriorityLow}, nil
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (a *app) against(c *cobra.Command, path string, f *benchFlags) error {
	g := &f.against
	if err := g.check(c); err != nil {
		return err
	}
	duration := f.duration
	if !c.Flags().Changed("duration") {
		duration = againstDuration
	}
	if duration <= 0 {
		return usageError("--duration must be positive, not %v", duration)
	}
	second, err := parseRival(g.rival)
	if err != nil {
		return err
	}
	front, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	back, err := loadFile(second.path)
	if err != nil {
		return err
	}
	inputs, err := a.benchInputs(front, f)
	if err != nil {
		return err
	}
	bar := a.progress(against.Cases, "measure")
	s := against.Setup{
		Foreground: against.Network{Path: path, Model: front.Model, Inputs: inputs, Priority: nn.PriorityHigh},
		Background: against.Network{Path: second.path, Model: back.Model, Inputs: randomInputs(back.Model), Priority: second.priority},
		Open: func(noPreempt bool) (*nngpu.Device, error) {
			return a.openWith(nngpu.Options{Cache: a.cacheOptions(), Scheduling: driver.SchedulingOptions{NoPreempt: noPreempt}})
		},
		Rate: g.rate, Deadline: g.deadline, Duration: duration, NoPreempt: g.noPreempt, Record: g.files.wanted(), Step: bar.Step,
	}
	res, err := s.Measure(c.Context())
	bar.Finish()
	if err != nil {
		return err
	}
	res.Version = version()
	if err := g.savePlot(res); err != nil {
		return err
	}
	if g.files.wanted() {
		if err := g.files.write(res.Recording(), res.Page); err != nil {
			return err
		}
	}
	return a.print(res, func() {
		a.printf("%s at high priority against %s at %s, on %s\n", path, second.path, res.Priority, res.Device)
		console.Lines(a.out, res.Table(g.deadline))
	})
}

// savePlot writes the file of --plot, where there is one.
func (f *againstFlags) savePlot(r *against.Result) error {
	if f.plot == "" {
		return nil
	}
	var b bytes.Buffer
	switch err := r.Plot(&b, stats.Milliseconds(f.deadline)); {
	case errors.Is(err, against.ErrNothing):
		return usageError("%w", err)
	case err != nil:
		return err
	}
	return saveOutputs(filepath.Dir(f.plot), []outputFile{{f.plot, b.Bytes()}})
}
