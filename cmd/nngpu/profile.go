package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
)

type profileFlags struct {
	runs  int
	by    string
	files reportFlags
}

// Values of --by: what rows of the device are put together.
const (
	byOp      = "op"
	byKernel  = "kernel"
	bySegment = "segment"
)

// profileResult is the JSON of `nngpu profile`; its field names are an interface.
type profileResult struct {
	Device string `json:"device"`
	Driver string `json:"driver"`
	Model  string `json:"model"`
	Runs   int    `json:"runs"`
	// Wall is the time of a run, the mean of those in the middle, and Sum that of all rows of the same runs.
	Wall float64      `json:"wall_ms"`
	Sum  float64      `json:"sum_ms"`
	Rows []profileRow `json:"rows"`
}

// profileRow is a part of the time. What it has of the device is 0, or empty, for rows of the host.
type profileRow struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // op, or what it is else: see driver.ProfileKind
	// MS is the mean over the runs of the middle fifth, and Uncertainty by how much it may be wrong (a standard deviation).
	MS          float64 `json:"ms"`
	Uncertainty float64 `json:"uncertainty_ms"`
	Share       float64 `json:"share"` // of the sum of all rows
	GFLOPS      float64 `json:"gflops"`
	GBPS        float64 `json:"gbps"`
	// Ceiling is what binds on this device at most, and Percent how much of that was reached.
	Ceiling string  `json:"ceiling"`
	Percent float64 `json:"percent"`
	Kernel  string  `json:"kernel"`
	Why     string  `json:"why"` // the kernel was chosen
}

func (a *app) profileCommand() *cobra.Command {
	var f profileFlags
	c := &cobra.Command{
		Use:   "profile MODEL",
		Short: "Say where the time of a network goes",
		Long: `Runs a network and says where every microsecond goes: a row for each operation, with what is fused into it, the
kernel that was chosen and why, and how far it is from what the device can do at most; and rows for what is no kernel.
All rows add up to the time of a run.

Timestamps cost something. A run takes as many as slow it by 3 % at most, and others at the next one; what they leave
open is attributed by the differences, and the column ± says how sure that is. Networks so small that no timestamp is
that cheap are run some more times with all of them, which do not count as runs.

The ceilings are those of info --measure, which is done first where the device was never measured.`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case c.Flags().Changed("runs") && f.runs < 1:
				return usageError("--runs must be at least 1, not %d", f.runs)
			case !slices.Contains([]string{byOp, byKernel, bySegment}, f.by):
				return usageError("--by is op, kernel or segment, not %q", f.by)
			}
			if err := f.files.check(); err != nil {
				return err
			}
			return a.profile(c.Context(), args[0], &f)
		},
	}
	flags := c.Flags()
	flags.IntVar(&f.runs, "runs", 0, "number of runs (default: as many as fit three seconds, from 10 to 10,000)")
	flags.StringVar(&f.by, "by", byOp, "what a row of the device is: op, kernel or segment")
	f.files.register(c)
	flags.StringVar(&f.files.pprof, "pprof", "", "write a profile, FILE.pb.gz, which go tool pprof opens")
	complete(c, "by", byOp, byKernel, bySegment)
	return c
}

func (a *app) profile(ctx context.Context, path string, f *profileFlags) error {
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	if f.files.trace != "" {
		a.events = &eventLog{}
	}
	began := time.Now()
	s, err := a.prepareOn(ctx, path, net)
	if err != nil {
		return err
	}
	a.events.span("prepare", fmt.Sprintf("%s: cache %s", path, s.model.Cached()), began)
	p, err := a.takeProfiles(ctx, s, f)
	if err == nil && f.files.html != "" {
		err = p.describe(ctx, s)
	}
	info := s.device.Info()
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	res := &profileResult{Device: info.Name, Driver: info.Driver, Model: path, Runs: len(p.runs)}
	res.fill(p.runs, f.by)
	if f.files.wanted() {
		if err := f.files.write(p.recording(a, res), func() (*report.Page, error) { return p.page(res), nil }); err != nil {
			return err
		}
	}
	return a.print(res, func() { a.printProfile(res) })
}

const (
	profileTime   = 3 * time.Second
	profileWarmUp = 2 * time.Second // until every step was timed
	fewestRuns    = 10
	mostRuns      = 10_000
	// stepRuns is how many runs with all timestamps a network gets that is too small for some.
	stepRuns = 15
)

// takeProfiles measures the device where it never was, finds out about each step, and then takes the profiles.
func (a *app) takeProfiles(ctx context.Context, s *session, f *profileFlags) (*profiles, error) {
	bar := a.progress(nothingToCount, "profile")
	defer bar.finish()
	if m, _ := s.device.Vulkan.Measured(); m.FMA32 == 0 {
		a.note("measuring what the device can do")
		began := time.Now()
		if _, err := s.device.Vulkan.Measure(ctx); err != nil {
			return nil, err
		}
		a.events.span("measure", "what the device can do", began)
	}
	r, err := bindRun(ctx, s, randomInputs(s.net.Model), ioHost)
	if err != nil {
		return nil, err
	}
	p := &profiles{}
	err = p.take(ctx, r, f)
	return p, errors.Join(err, r.close())
}

func (p *profiles) take(ctx context.Context, r *boundRun, f *profileFlags) error {
	for range 3 {
		if _, err := r.run(ctx); err != nil {
			return err
		}
	}
	if err := learnSteps(ctx, r); err != nil {
		return err
	}
	var results []*driver.Result
	for begin := time.Now(); !f.enough(len(results), time.Since(begin)); {
		res, err := r.runWith(ctx, driver.WithProfile())
		if err != nil {
			return err
		}
		results = append(results, res)
	}
	for _, res := range results { // afterwards: it takes time
		p.runs = append(p.runs, res.Profile())
	}
	return nil
}

// enough: so many runs, which took that long, are as many as were asked for.
func (f *profileFlags) enough(n int, took time.Duration) bool {
	if f.runs > 0 {
		return n == f.runs
	}
	return n >= fewestRuns && took > profileTime || n == mostRuns
}

// learnSteps runs the network until each step was timed, in passing or, where that cannot be, by runs with all
// timestamps.
func learnSteps(ctx context.Context, r *boundRun) error {
	timed := map[int]bool{}
	begin := time.Now()
	for n := 0; ; n++ {
		res, err := r.runWith(ctx, driver.WithProfile())
		if err != nil {
			return err
		}
		steps := 0
		for i, row := range res.Profile().Rows {
			if row.Kernel != "" {
				steps++
				timed[i] = timed[i] || row.Measured
			}
		}
		missing := 0
		for _, done := range timed {
			if !done {
				missing++
			}
		}
		switch {
		case missing == 0:
			return nil
		case n >= 3 && missing == steps, time.Since(begin) > profileWarmUp: // at this rate it would take long
			for range stepRuns {
				if _, err := r.runWith(ctx, driver.WithStepProfile()); err != nil {
					return err
				}
			}
			return nil
		}
	}
}
