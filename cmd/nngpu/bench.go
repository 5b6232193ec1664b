package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver/importer"
)

type benchFlags struct {
	inputs      inputFlags
	runs        int
	duration    time.Duration
	warmup      int
	concurrency int
	startup     bool
	compare     bool
	suite       bool
	io          string
	budget      time.Duration // of the suite
	output      string        // of the suite
	against     againstFlags
}

// benchResult is the JSON of `nngpu bench`; its field names are an interface.
type benchResult struct {
	Device      string       `json:"device"`
	Driver      string       `json:"driver"`
	Version     string       `json:"version"`
	Model       string       `json:"model"`
	ColdStart   float64      `json:"cold_start_ms"`
	Prepare     float64      `json:"prepare_ms"`
	Cache       string       `json:"cache"` // of that preparation
	Latency     benchLatency `json:"latency_ms"`
	Samples     []float64    `json:"samples_ms"` // of single executions in their order, at equal distances where there were more
	Throughput  float64      `json:"runs_per_second"`
	Pipelines   int          `json:"pipelines"`
	Dispatches  int          `json:"dispatches"`
	Segments    int          `json:"segments"`
	ArenaBytes  int64        `json:"arena_bytes"`
	WeightBytes int64        `json:"weight_bytes"`
	GFLOPS      float64      `json:"gflops"`
	// What the device was expected to take for the first execution and for the last, and what it took: the median, 0
	// where only the host can tell.
	PredictedFirst float64 `json:"predicted_first_ms"`
	Predicted      float64 `json:"predicted_ms"`
	OnDevice       float64 `json:"on_device_ms"`
	// Of inputs and outputs, beside the computation.
	IO             string `json:"io"`
	BytesCopied    int64  `json:"bytes_copied_per_run"`
	BytesConverted int64  `json:"bytes_converted_per_run"`
}

type benchLatency struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure start-up, latency and throughput of a network",
		Long: `Measures a network. The cold start is the time from the start of another process to its first result, with
every cache off, that of the Vulkan driver too. GFLOP/s count multiplications and additions of one execution
over the median latency.

With --net, one of the standard networks is measured, in the type of --type; see nngpu net.

With --suite, all of these are measured in f32, f16 and int8, or those that are named instead of MODEL in the types of
--type: in many short bursts by turns, for --duration each, and up to four times as long, within --budget, where the
fastest executions of every other burst and of the rest differ by more than 2 %. A table in Markdown says how far the
fastest is from the time in which the device, which is measured between the bursts, could do the same work at most.

With --startup only the start is measured: from process start to first result with every cache off, with empty
ones, and with those that the process before left; and the preparation of the model in full and from the cache,
both on a device that has the pipelines already, beside what making the pipelines takes.

With --against the latency of the network at high priority is measured three times, --duration each: alone, while
another network saturates the device at a priority of its own, and the same with preemption off. Missed are
executions that were admitted but ended after their --deadline, refused those that were turned away at once; latencies
are of those that ended with a result.

With --compare two files are compared that hold what bench --json printed before and after a change, once or several
times one after the other. As many results in both are pairs, in their order: measure alternately. What is beyond
noise is told from the ratios of the pairs, by the estimator of Hodges and Lehmann and the interval of Wilcoxon's
signed-rank test at 95 %, which takes six pairs at least; single results are compared by their executions, which say
nothing of how much runs differ. The exit code is 1 where something became slower.

With --io pool, inputs and outputs lie in shared memory, which a device may use in place; with --io device they lie
in buffers of the driver, where they stay from one execution to the next.`,
		Args: func(c *cobra.Command, args []string) error {
			if f.suite {
				return nil
			}
			if f.compare {
				return exactArgs(2, "two files of results with --compare")(c, args)
			}
			return exactArgs(1, "one model")(c, args)
		},
		ValidArgsFunction: completeModels,
		RunE: func(c *cobra.Command, args []string) error {
			if f.compare {
				if other := otherFlag(c, "compare"); other != "" {
					return usageError("--compare and --%s exclude each other", other)
				}
				return a.compareFiles(args[0], args[1])
			}
			if f.suite {
				return a.suite(c, args, &f)
			}
			for _, other := range []string{"output", "budget"} {
				if c.Flags().Changed(other) {
					return usageError("--%s is of use with --suite only", other)
				}
			}
			if c.Flags().Changed("runs") && c.Flags().Changed("duration") {
				return usageError("--runs and --duration exclude each other")
			}
			if c.Flags().Changed("runs") && f.runs < 1 {
				return usageError("--runs must be at least 1, not %d", f.runs)
			}
			if f.against.rival != "" || c.Flags().Changed("against") {
				return a.against(c, a.net.model(args), &f)
			}
			for _, other := range againstOnly {
				if c.Flags().Changed(other) {
					return usageError("--%s is of use with --against only", other)
				}
			}
			if f.startup {
				for _, other := range []string{"runs", "duration", "warmup", "concurrency", "input", "io"} {
					if c.Flags().Changed(other) {
						return usageError("--startup and --%s exclude each other", other)
					}
				}
				return a.startup(c.Context(), a.net.model(args))
			}
			return a.bench(c.Context(), a.net.model(args), &f)
		},
	}
	flags := c.Flags()
	flags.IntVar(&f.runs, "runs", 0, "number of executions (default: as many as fit --duration)")
	flags.DurationVar(&f.duration, "duration", 3*time.Second, "how long to measure, when --runs is not given")
	flags.IntVar(&f.warmup, "warmup", 3, "executions before measuring")
	flags.IntVar(&f.concurrency, "concurrency", 1, "executions at the same time")
	flags.StringArrayVarP(&f.inputs.files, "input", "i", nil, "input files as for run; random numbers of a fixed seed when none is given")
	flags.BoolVar(&f.startup, "startup", false, "measure the start only: without caches, with empty and with filled ones")
	flags.BoolVar(&f.compare, "compare", false, "compare two files of results, BEFORE.json AFTER.json")
	flags.BoolVar(&f.suite, "suite", false, "measure the standard networks, or those that are named, side by side")
	flags.DurationVar(&f.budget, "budget", 150*time.Second, "how long --suite may take; networks that are not ready after half of it are left out")
	flags.StringVarP(&f.output, "output", "o", "", "folder for the results of --suite: suite.md and suite.json")
	flags.StringVar(&f.io, "io", ioHost, "where inputs and outputs lie: host, pool or device")
	complete(c, "io", ioHost, ioPool, ioDevice)
	f.against.register(c)
	return c
}

// otherFlag is a flag of the command itself that was given and is none of those named; "" if there is none.
func otherFlag(c *cobra.Command, names ...string) (other string) {
	c.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !slices.Contains(names, flag.Name) {
			other = flag.Name
		}
	})
	return other
}

// maxConcurrency bounds the executions at the same time; each has its own outputs.
const maxConcurrency = 1024

func (a *app) bench(ctx context.Context, path string, f *benchFlags) error {
	switch {
	case f.duration <= 0:
		return usageError("--duration must be positive, not %v", f.duration)
	case f.warmup < 0:
		return usageError("--warmup must not be negative, but is %d", f.warmup)
	case checkIO(f.io) != nil:
		return checkIO(f.io)
	case f.concurrency < 1 || f.concurrency > maxConcurrency:
		return usageError("--concurrency must be from 1 to %d, not %d", maxConcurrency, f.concurrency)
	}
	net, err := a.loadNetwork(path)
	if err != nil {
		return err
	}
	inputs, err := a.benchInputs(net, f)
	if err != nil {
		return err
	}
	cold, err := a.coldStart(ctx, path)
	if err != nil {
		return err
	}
	s, err := a.prepareOn(ctx, path, net)
	if err != nil {
		return err
	}
	m, err := a.measure(ctx, s, inputs, f)
	res := a.benchFigures(s, path, cold, m, f)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return a.print(res, func() { a.printBench(res, len(m.times)) })
}

// benchInputs are those of --input, or random ones.
func (a *app) benchInputs(net *importer.Network, f *benchFlags) ([][]byte, error) {
	if len(f.inputs.files) > 0 {
		return a.gatherInputs(net, &f.inputs)
	}
	return randomInputs(net.Model), nil
}

// measurement is the times of all executions, ascending, the time that they took together, and what else they
// tell.
type measurement struct {
	times   []time.Duration
	samples []float64 // of times, in the order of the executions, in milliseconds
	wall    time.Duration
	details *runDetails
}

// quantile is in milliseconds; 0 when nothing was measured.
func (m *measurement) quantile(q float64) float64 {
	return stats.Milliseconds(stats.Quantile(m.times, q))
}

func (a *app) measure(ctx context.Context, s *session, inputs [][]byte, f *benchFlags) (m *measurement, err error) {
	m = &measurement{details: &runDetails{}}
	runs := make([]*boundRun, f.concurrency)
	for i := range runs {
		if runs[i], err = bindRun(ctx, s, inputs, f.io); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, runs[i].close()) }()
	}
	warm := &runDetails{}
	for range f.warmup {
		res, err := runs[0].run(ctx)
		if err != nil {
			return m, err
		}
		warm.add(res)
	}
	total := progress.Unknown
	if f.runs > 0 {
		total = f.runs
	}
	bar := a.progress(total, "measure")
	defer bar.Finish()
	start := time.Now()
	m.times, err = repeat(ctx, runs, f, m.details, bar.Step)
	m.wall = time.Since(start)
	for _, took := range m.times {
		m.samples = append(m.samples, stats.Milliseconds(took))
	}
	m.samples = stats.Thin(m.samples, stats.MaxSamples)
	slices.Sort(m.times)
	if f.warmup > 0 {
		m.details.first = warm.first
	}
	return m, err
}

func (a *app) benchFigures(s *session, path string, cold time.Duration, m *measurement, f *benchFlags) *benchResult {
	info, plan := s.device.Info(), s.model.Stats()
	r := &benchResult{
		Device: info.Name, Driver: info.Driver, Version: version(), Model: path,
		ColdStart: stats.Milliseconds(cold), Prepare: stats.Milliseconds(s.prepare), Cache: string(s.model.Cached()),
		Latency:   benchLatency{m.quantile(0), m.quantile(0.5), m.quantile(0.9), m.quantile(0.99)},
		Pipelines: plan.Pipelines, Dispatches: plan.Dispatches, Segments: plan.Segments,
		ArenaBytes: plan.ArenaBytes, WeightBytes: plan.WeightBytes,
	}
	r.PredictedFirst, r.Predicted = stats.Milliseconds(m.details.first), stats.Milliseconds(m.details.last)
	r.OnDevice = m.details.onDevice()
	r.IO, r.Samples = f.io, m.samples
	r.BytesCopied, r.BytesConverted = m.details.perRun()
	if m.wall > 0 {
		r.Throughput = float64(len(m.times)) / m.wall.Seconds()
	}
	if r.Latency.Median > 0 {
		r.GFLOPS = plan.GFLOP / (r.Latency.Median / 1e3)
	}
	return r
}

// repeat executes each of runs in a goroutine of its own, again and again, calls step after each execution and returns
// their times.
func repeat(ctx context.Context, runs []*boundRun, f *benchFlags, details *runDetails, step func()) ([]time.Duration, error) {
	var (
		mu    sync.Mutex
		times []time.Duration
		first error
		left  = f.runs
	)
	end := time.Now().Add(f.duration)
	next := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || ctx.Err() != nil {
			return false
		}
		if f.runs > 0 {
			left--
			return left >= 0
		}
		return len(times) == 0 || time.Now().Before(end)
	}
	var wg sync.WaitGroup
	for _, r := range runs {
		wg.Go(func() {
			for next() {
				start := time.Now()
				res, err := r.run(ctx)
				took := time.Since(start)
				step()
				if err == nil {
					details.add(res)
				}
				mu.Lock()
				times = append(times, took)
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return times, first
}

func (a *app) printBench(r *benchResult, runs int) {
	a.printf("%s on %s (%s)\n", r.Model, r.Device, r.Driver)
	a.printf("  cold start  %9.1f ms   process start to first result, caches off\n", r.ColdStart)
	a.printf("  prepare     %9.1f ms   cache: %s\n", r.Prepare, r.Cache)
	a.printf("  latency     %9.3f ms   median of %d; min %.3f, p90 %.3f, p99 %.3f\n", r.Latency.Median, runs, r.Latency.Min, r.Latency.P90, r.Latency.P99)
	a.printf("  predicted   %9.3f ms   on the device, %.3f before the first execution", r.Predicted, r.PredictedFirst)
	if r.OnDevice > 0 {
		a.printf("; measured %.3f, median", r.OnDevice)
	}
	a.printf("\n")
	a.printf("  throughput  %9.1f runs/s, %.1f GFLOP/s at the median\n", r.Throughput, r.GFLOPS)
	a.printf("  plan        %s, %s, %s\n", console.Count(r.Pipelines, "pipeline"), console.Count(r.Dispatches, "dispatch"), console.Count(r.Segments, "segment"))
	a.printf("  memory      %s arena, %s weights\n", console.Bytes(r.ArenaBytes), console.Bytes(r.WeightBytes))
	a.printf("  io          %s; %s copied and %s converted a run\n", r.IO, console.Bytes(r.BytesCopied), console.Bytes(r.BytesConverted))
}
