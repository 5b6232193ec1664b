package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
)

// tuneResult is the JSON of `nngpu tune`; its field names are an interface.
type tuneResult struct {
	Device  string        `json:"device"`
	Driver  string        `json:"driver"`
	Model   string        `json:"model"`
	Cache   string        `json:"cache"`
	Took    float64       `json:"tuning_ms"`
	Choices []tunedChoice `json:"choices"`
	Before  float64       `json:"before_ms"` // medians of executions in turn
	After   float64       `json:"after_ms"`
}

// tunedChoice is an operation that runs on another kernel than before.
type tunedChoice struct {
	Operation string `json:"operation"`
	Kernel    string `json:"kernel"`
	Why       string `json:"why"`
}

func (a *app) tuneCommand() *cobra.Command {
	var budget time.Duration
	c := &cobra.Command{
		Use:   "tune MODEL",
		Short: "Find the fastest kernels for a network by measurement",
		Long: `Runs a network on the device with each of the kernels that could do its operations, and keeps it in the cache with those
that were fastest: from then on every command and program that prepares the same network on this device takes that form.
Without it, estimates decide by what is known of the device. Where nothing is faster than that, that stays.

Printed are the operations whose kernel changed, and how long the network takes before and after; with -v also what each
kernel took that was tried. On a machine that does other things too, measurements are disturbed, and so is what they
lead to.`,
		Args:              exactArgs(1, "one model"),
		ValidArgsFunction: completeModels,
		RunE: func(c *cobra.Command, args []string) error {
			if budget <= 0 {
				return usageError("--budget must be above 0, not %v", budget)
			}
			return a.tune(c.Context(), a.net.model(args), budget)
		},
	}
	c.Flags().DurationVar(&budget, "budget", 10*time.Second, "how long to measure, about")
	return c
}

func (a *app) tune(ctx context.Context, path string, budget time.Duration) error {
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	began := time.Now()
	tuned, err := a.prepareWith(ctx, "tune", path, net, a.cacheOptions(), driver.WithTuning(budget))
	if err != nil {
		return err
	}
	info := tuned.device.Info()
	res := &tuneResult{
		Device: info.Name, Driver: info.Driver, Model: path, Cache: string(tuned.model.Cached()),
		Took: stats.Milliseconds(time.Since(began)), Choices: []tunedChoice{},
	}
	if err := errors.Join(a.compareTuned(ctx, net, tuned, res), tuned.close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return a.print(res, func() { a.printTune(res) })
}

// compareTuned notes what tuning chose, and measures the form that it made beside the one without it.
func (a *app) compareTuned(ctx context.Context, net *importer.Network, tuned *session, res *tuneResult) (err error) {
	plain, err := a.prepareWith(ctx, "prepare", res.Model, net, driver.CacheOptions{Off: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	var runs [2]*boundRun
	for i, s := range []*session{plain, tuned} {
		if runs[i], err = bindRun(ctx, s, randomInputs(net.Model), ioHost); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, runs[i].close()) }()
	}
	profiled, err := runs[1].runWith(ctx, driver.WithProfile())
	if err != nil {
		return err
	}
	for _, row := range profiled.Profile().Rows {
		if _, why, ok := strings.Cut(row.Why, "tuned: "); ok {
			why, _, _ = strings.Cut(why, ";")
			if c := (tunedChoice{row.Name, row.Kernel, why}); !slices.Contains(res.Choices, c) { // it has several steps
				res.Choices = append(res.Choices, c)
			}
		}
	}
	const fewest, longest = 11, 3 * time.Second
	var took [2][]float64
	for n, began := 0, time.Now(); n < fewest || time.Since(began) < longest && n < mostRuns; n++ {
		for i, r := range runs {
			start := time.Now()
			if _, err := r.run(ctx); err != nil {
				return err
			}
			if n > 0 { // the first one touches memory
				took[i] = append(took[i], stats.Milliseconds(time.Since(start)))
			}
		}
	}
	res.Before, res.After = stats.Median(took[0]), stats.Median(took[1])
	return nil
}

func (a *app) printTune(r *tuneResult) {
	a.printf("%s on %s (%s), cache %s\n", r.Model, r.Device, r.Driver, r.Cache)
	for _, c := range r.Choices {
		a.printf("  %-40s %s: %s\n", c.Operation, c.Kernel, c.Why)
	}
	if len(r.Choices) == 0 {
		a.printf("  no kernel is faster than those that were chosen without measuring\n")
	}
	a.printf("  before      %.3f ms\n", r.Before)
	a.printf("  after       %.3f ms\n", r.After)
}
