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
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/suite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/networks"
)

// suiteProduct is the matrix product among the networks of the suite.
const suiteProduct = networks.Gemm + "1024,1024,1024"

// suiteFlags are the flags of bench that have a meaning with --suite.
var suiteFlags = []string{"suite", "type", "batch", "duration", "io", "output"}

// suite measures the named networks, or all of the suite.
func (a *app) suite(c *cobra.Command, names []string, f *benchFlags) error {
	if other := otherFlag(c, suiteFlags...); other != "" {
		return usageError("--suite and --%s exclude each other", other)
	}
	if f.duration <= 0 {
		return usageError("--duration must be positive, not %v", f.duration)
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

// measureSuite prepares all networks on one device, which is measured before, and measures them in turn.
func (a *app) measureSuite(ctx context.Context, specs []networks.Spec, f *benchFlags) (_ *suite.Result, err error) {
	dev, err := a.openCached(a.cacheOptions())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	bar := a.progress(progress.None, "measure the device")
	measured, err := dev.Vulkan.Measure(ctx)
	bar.Finish()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // the networks' times are worth having without
		a.warn("the device was not measured: %v", err)
		measured, _ = dev.Vulkan.Measured()
	}
	m := describeMeasured(&measured)
	info := dev.Info()
	res := &suite.Result{
		Device: info.Name, Driver: info.Driver, Version: version(), At: time.Now().UTC().Truncate(time.Second),
		Batch: specs[0].Batch, IO: f.io, Rounds: suite.Rounds,
		Ceilings: suite.Ceilings{F32: m.FMAF32, F16: m.FMAF16, Int8: m.Dot, Memory: m.Memory, Busy: m.Busy},
	}
	bar = a.progress(len(specs), "prepare")
	var subjects []*suite.Subject
	for _, s := range specs {
		subject, done, err := a.subject(ctx, dev, s, f.io)
		if err != nil {
			bar.Finish()
			return nil, err
		}
		defer done()
		subjects = append(subjects, subject)
		bar.Step()
	}
	bar.Finish()
	bar = a.progress(len(subjects)*suite.Rounds, "networks")
	err = suite.Measure(ctx, subjects, f.duration, bar.Step)
	bar.Finish()
	for _, s := range subjects {
		res.Rows = append(res.Rows, s.Finish(&res.Ceilings))
	}
	return res, err
}

// suiteWarmup is how often a network runs before it is measured.
const suiteWarmup = 2

// subject prepares a network and runs it a little. One that the device refuses is a subject with an error; what is
// returned as error is the end of ctx. The caller calls done at the end.
func (a *app) subject(ctx context.Context, dev *nngpu.Device, spec networks.Spec, io string) (s *suite.Subject, done func(), err error) {
	s = &suite.Subject{Row: suite.Row{Network: spec.Name, Type: string(spec.Type)}}
	done = func() {}
	fail := func(err error) (*suite.Subject, func(), error) {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		s.Error = err.Error()
		return s, done, nil
	}
	n, err := networks.Build(spec)
	if err != nil {
		return fail(err)
	}
	if s.Bytes, err = usefulBytes(n.Model); err != nil {
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
	s.GFLOP, s.Prepare = ses.model.Stats().GFLOP, stats.Milliseconds(ses.prepare)
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

// usefulBytes is what has to be read or written once: constants, inputs and outputs.
func usefulBytes(m *nn.Model) (total int64, err error) {
	for i := range m.Main.Operands {
		o := &m.Main.Operands[i]
		switch o.Lifetime {
		case nn.ConstantCopy, nn.ConstantReference, nn.SubgraphInput, nn.SubgraphOutput:
			n, err := o.ByteSize()
			if err != nil {
				return 0, err
			}
			total += int64(n)
		}
	}
	return total, nil
}
