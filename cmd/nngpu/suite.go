package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/suite"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/networks"
)

// suiteProduct is the matrix product among the networks of the suite.
const suiteProduct = networks.Gemm + "1024,1024,1024"

// suiteFlags are the flags of bench that have a meaning with --suite.
var suiteFlags = []string{"suite", "type", "batch", "duration", "budget", "io", "output"}

// suite measures the named networks, or all of the suite.
func (a *app) suite(c *cobra.Command, names []string, f *benchFlags) error {
	if other := otherFlag(c, suiteFlags...); other != "" {
		return usageError("--suite and --%s exclude each other", other)
	}
	if f.duration <= 0 {
		return usageError("--duration must be positive, not %v", f.duration)
	}
	if f.budget <= 0 {
		return usageError("--budget must be positive, not %v", f.budget)
	}
	if err := checkIO(f.io); err != nil {
		return err
	}
	if err := checkFolder("--output", f.output); err != nil {
		return err
	}
	if len(names) == 0 {
		names = append(networks.Names(), suiteProduct)
	}
	types := networks.Types
	if c.Flags().Changed("type") {
		types = []networks.Type{networks.Type(a.net.typ)}
	}
	var specs []networks.Spec
	for _, name := range names {
		for _, t := range types {
			s := networks.Spec{Name: name, Type: t, Batch: max(a.shape.batch, 1)}
			if err := s.Check(); err != nil {
				return usageError("%w", err)
			}
			specs = append(specs, s)
		}
	}
	res, err := a.measureSuite(c.Context(), specs, f)
	if err != nil {
		return err
	}
	if f.output != "" {
		if err := saveSuite(f.output, res); err != nil {
			return err
		}
	}
	return a.print(res, func() { console.Lines(a.out, res.Markdown()) })
}

// saveSuite writes the result as suite.md and suite.json.
func saveSuite(dir string, r *suite.Result) error {
	var data bytes.Buffer
	if err := console.JSON(&data, r, "  "); err != nil {
		return err
	}
	return saveOutputs(dir, []outputFile{
		{filepath.Join(dir, "suite.md"), []byte(r.Markdown())}, {filepath.Join(dir, "suite.json"), data.Bytes()},
	})
}

// measureSuite prepares all networks on one device and measures them side by side.
func (a *app) measureSuite(ctx context.Context, specs []networks.Spec, f *benchFlags) (_ *suite.Result, err error) {
	begin := time.Now()
	dev, err := a.openCached(a.cacheOptions())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	info := dev.Info()
	res := &suite.Result{
		Device: info.Name, Driver: info.Driver, Version: version(), At: begin.UTC().Truncate(time.Second),
		Batch: specs[0].Batch, IO: f.io,
	}
	bar := a.progress(len(specs), "prepare")
	var subjects []*suite.Subject
	for _, s := range specs {
		// At least half of the time is for measuring.
		subject, done, err := a.subject(ctx, dev, s, f.io, begin.Add(f.budget/2))
		if err != nil {
			bar.Finish()
			return nil, err
		}
		defer done()
		subjects = append(subjects, subject)
		bar.Step()
	}
	bar.Finish()
	gauges, done := a.openGauges(ctx, dev)
	defer func() { err = errors.Join(err, done()) }()
	bar = a.progress(len(subjects)*suite.Rounds, "networks")
	defer bar.Finish()
	return res, suite.Measure(ctx, subjects, &suite.Plan{
		Gauges: gauges, Duration: f.duration, Until: begin.Add(f.budget), Step: bar.Step,
	}, res)
}

// openGauges makes gauges of what the device can do at most, as far as it can: the networks' times are useful without
// them. The caller calls done at the end.
func (a *app) openGauges(ctx context.Context, dev *nngpu.Device) (of map[suite.Bound]suite.Gauge, done func() error) {
	of = map[suite.Bound]suite.Gauge{}
	var list []*gpu.Gauge
	for what, bound := range map[gpu.Ceiling]suite.Bound{
		gpu.CeilingF32: suite.ByF32, gpu.CeilingF16: suite.ByF16, gpu.CeilingInt8: suite.ByInt8, gpu.CeilingMemory: suite.ByMemory,
		gpu.CeilingMatrixF16: suite.ByMatrixF16, gpu.CeilingMatrixInt8: suite.ByMatrixInt8,
	} {
		g, err := dev.Vulkan.Gauge(ctx, what)
		if err != nil {
			if !errors.Is(err, gpu.ErrNoCeiling) && ctx.Err() == nil {
				a.warn("the device was not measured: %v", err)
			}
			continue
		}
		list = append(list, g)
		of[bound] = func(ctx context.Context) (float64, error) {
			rate, err := g.Rate(ctx)
			return rate / 1e9, err
		}
	}
	return of, func() (err error) {
		for _, g := range list {
			err = errors.Join(err, g.Close())
		}
		return err
	}
}

// suiteWarmup is how often a network runs before it is measured.
const suiteWarmup = 2

// subject prepares a network and runs it a little. One that the device refuses, or that is not ready in time, is a
// subject with an error; the error returned is only the end of ctx. The caller calls done at the end.
func (a *app) subject(
	ctx context.Context, dev *nngpu.Device, spec networks.Spec, io string, until time.Time,
) (s *suite.Subject, done func(), err error) {
	s = &suite.Subject{Network: spec.Name, Type: string(spec.Type)}
	done = func() {}
	whole := ctx
	ctx, cancel := context.WithDeadline(whole, until)
	defer cancel()
	fail := func(err error) (*suite.Subject, func(), error) {
		if whole.Err() != nil {
			return nil, nil, whole.Err()
		}
		s.Error = err.Error()
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) { // or refused, since it would not be in time
			s.Error = suite.OutOfTime
		}
		return s, done, nil
	}
	if ctx.Err() != nil {
		return fail(ctx.Err())
	}
	n, err := networks.Build(spec)
	if err != nil {
		return fail(err)
	}
	if s.GFLOP, s.Bytes, err = usefulWork(n.Model); err != nil {
		return fail(err)
	}
	ses := &session{device: dev, net: standard(n.Model)}
	if err := ses.prepareModel(ctx); err != nil {
		return fail(err)
	}
	r, err := bindRun(ctx, ses, randomInputs(n.Model), io)
	if err != nil {
		return fail(err)
	}
	// The memories go before the device, at the latest; a failure to close them changes no figure.
	done = func() { _ = r.close() }
	s.Prepare = ses.prepare
	s.Run = func(ctx context.Context) error {
		_, err := r.run(ctx)
		return err
	}
	for range suiteWarmup {
		if err := s.Run(ctx); err != nil {
			return fail(fmt.Errorf("first execution: %w", err))
		}
	}
	return s, done, nil
}
