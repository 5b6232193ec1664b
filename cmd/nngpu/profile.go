package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/profile"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
)

type profileFlags struct {
	runs  int
	by    string
	files reportFlags
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
			case !slices.Contains([]string{profile.ByOp, profile.ByKernel, profile.BySegment}, f.by):
				return usageError("--by is op, kernel or segment, not %q", f.by)
			}
			if err := f.files.check(); err != nil {
				return err
			}
			return a.profile(c.Context(), a.net.model(args), &f)
		},
	}
	flags := c.Flags()
	flags.IntVar(&f.runs, "runs", 0, "number of runs (default: as many as fit three seconds, from 10 to 10,000)")
	flags.StringVar(&f.by, "by", profile.ByOp, "what a row of the device is: op, kernel or segment")
	f.files.register(c)
	flags.StringVar(&f.files.pprof, "pprof", "", "write a profile, FILE.pb.gz, which go tool pprof opens")
	complete(c, "by", profile.ByOp, profile.ByKernel, profile.BySegment)
	return c
}

func (a *app) profile(ctx context.Context, path string, f *profileFlags) error {
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	if f.files.trace != "" {
		a.events = &report.EventLog{}
	}
	began := time.Now()
	s, err := a.prepareOn(ctx, path, net)
	if err != nil {
		return err
	}
	a.events.Span("prepare", fmt.Sprintf("%s: cache %s", path, s.model.Cached()), began)
	t, err := a.takeProfiles(ctx, s, f)
	if err == nil && f.files.html != "" {
		err = describe(ctx, s, t)
	}
	info := s.device.Info()
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	res := &profile.Result{Device: info.Name, Driver: info.Driver, Model: path, Runs: len(t.Runs)}
	res.Fill(t.Runs, f.by)
	if f.files.wanted() {
		if err := f.files.write(t.Recording(res, a.events.Events()), func() *report.Page { return t.Page(res) }); err != nil {
			return err
		}
	}
	return a.print(res, func() { res.Print(a.out) })
}

const (
	profileTime   = 3 * time.Second
	profileWarmUp = 2 * time.Second // until every step was timed
	fewestRuns    = 10
	mostRuns      = 10_000
	// stepRuns is how many runs with all timestamps are made of a network that is too small for some.
	stepRuns = 15
)

// takeProfiles measures the device where that was never done, times each step, and then takes the profiles.
func (a *app) takeProfiles(ctx context.Context, s *session, f *profileFlags) (*profile.Taken, error) {
	bar := a.progress(progress.None, "profile")
	defer bar.Finish()
	if m, _ := s.device.Vulkan.Measured(); m.FMA32 == 0 {
		a.note("measuring what the device can do")
		began := time.Now()
		if _, err := s.device.Vulkan.Measure(ctx); err != nil {
			return nil, err
		}
		a.events.Span("measure", "what the device can do", began)
	}
	r, err := bindRun(ctx, s, randomInputs(s.net.Model), ioHost)
	if err != nil {
		return nil, err
	}
	runs, err := f.take(ctx, r)
	return &profile.Taken{Runs: runs}, errors.Join(err, r.close())
}

func (f *profileFlags) take(ctx context.Context, r *boundRun) (runs []*driver.Profile, err error) {
	for range 3 {
		if _, err := r.run(ctx); err != nil {
			return nil, err
		}
	}
	if err := learnSteps(ctx, r); err != nil {
		return nil, err
	}
	var results []*driver.Result
	for begin := time.Now(); !f.enough(len(results), time.Since(begin)); {
		res, err := r.runWith(ctx, driver.WithProfile())
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	for _, res := range results { // afterwards: it takes time
		runs = append(runs, res.Profile())
	}
	return runs, nil
}

// enough reports whether n runs, which took that long, are as many as were asked for.
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

// describe keeps what the page needs of the device and the plan.
func describe(ctx context.Context, s *session, t *profile.Taken) (err error) {
	t.Measured, _ = s.device.Vulkan.Measured()
	t.Description, err = s.device.Vulkan.Describe(ctx, s.net.Model)
	return err
}
