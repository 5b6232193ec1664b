package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/progress"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// startupResult is the JSON of `nngpu bench --startup`; its field names are an interface. All are medians.
type startupResult struct {
	// From process start to first result: every cache off; all caches empty; all caches as the process before
	// left them, those of the Vulkan driver too.
	Cold float64 `json:"cold_ms"`
	Miss float64 `json:"miss_ms"`
	Hit  float64 `json:"hit_ms"`

	startMemory
	prepareTimes
}

// startMemory is the memory of the same three starts, in bytes: the peak of the process until its first result, code
// and all, and that of the device's account. A software device's memory counts in both. The rest of the process's
// peak is the program itself, the model's file and, where the model is compiled, its packed weights.
type startMemory struct {
	ColdResident int64 `json:"cold_rss_bytes"`
	MissResident int64 `json:"miss_rss_bytes"`
	HitResident  int64 `json:"hit_rss_bytes"`
	ColdDevice   int64 `json:"cold_device_bytes"`
	MissDevice   int64 `json:"miss_device_bytes"`
	HitDevice    int64 `json:"hit_device_bytes"`
}

// prepareTimes are the times of preparations on a device that already has the pipelines, and of making those.
type prepareTimes struct {
	Prepare          float64 `json:"prepare_ms"`
	PrepareFromCache float64 `json:"prepare_from_cache_ms"`
	Pipelines        float64 `json:"pipeline_ms"`
}

// startupRounds is how often each start is measured.
const startupRounds = 3

func (a *app) startup(ctx context.Context, path string) error {
	if _, err := a.loadNetwork(path); err != nil {
		return err
	}
	// A device is tested when it is first used; that is no part of any start below.
	dev, err := a.openDevice()
	if err != nil {
		return err
	}
	name := dev.Info().Name
	if err := dev.Close(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nngpu-startup")
	if err != nil {
		return fileError(err)
	}
	defer os.RemoveAll(dir)
	res, err := a.measureStartup(ctx, path, dir)
	if err != nil {
		return err
	}
	return a.print(res, func() { a.printStartup(res, path, name) })
}

// measureStartup keeps all caches of the processes that it starts below dir.
func (a *app) measureStartup(ctx context.Context, path, dir string) (*startupResult, error) {
	bar := a.progress(startupRounds+1, "start-up")
	defer bar.Finish()
	var cold, miss, hit []start
	for round := range startupRounds {
		caches := filepath.Join(dir, strconv.Itoa(round))
		flags := []string{"--cache-dir", filepath.Join(caches, "cache"), "--state-dir", filepath.Join(caches, "state")}
		driverCaches := filepath.Join(caches, "driver")
		if err := os.MkdirAll(driverCaches, 0o700); err != nil { // Mesa makes no parents
			return nil, fileError(err)
		}
		env := driverCachesIn(driverCaches)
		for _, m := range []struct {
			starts *[]start
			cached driver.CacheStatus
			flags  []string
			env    []string
		}{
			{&cold, driver.CacheOff, []string{"--no-cache"}, noDriverCaches},
			{&miss, driver.CacheMiss, flags, env},
			{&hit, driver.CacheHit, flags, env},
		} {
			s, err := a.firstResult(ctx, path, m.cached, m.flags, m.env)
			if err != nil {
				return nil, err
			}
			*m.starts = append(*m.starts, s)
		}
		bar.Step()
	}
	res := &startupResult{}
	res.Cold, res.ColdResident, res.ColdDevice = medians(cold)
	res.Miss, res.MissResident, res.MissDevice = medians(miss)
	res.Hit, res.HitResident, res.HitDevice = medians(hit)
	_, line, rest, err := a.child(ctx, []string{"prepare-times", "--state-dir", filepath.Join(dir, "state")}, noDriverCaches, path)
	if err != nil || json.Unmarshal([]byte(line), &res.prepareTimes) != nil {
		return nil, coldError(err, line, rest)
	}
	bar.Step()
	return res, nil
}

// driverCachesIn moves the shader caches that Vulkan drivers keep on disk.
func driverCachesIn(dir string) []string {
	return []string{"MESA_SHADER_CACHE_DIR=" + dir, "MESA_GLSL_CACHE_DIR=" + dir, "__GL_SHADER_DISK_CACHE_PATH=" + dir}
}

// medians are in milliseconds and bytes.
func medians(starts []start) (took float64, resident, device int64) {
	var times []time.Duration
	var residents, devices []int64
	for _, s := range starts {
		times = append(times, s.took)
		residents, devices = append(residents, s.resident), append(devices, s.device)
	}
	slices.Sort(residents)
	slices.Sort(devices)
	return median(times), stats.Quantile(residents, 0.5), stats.Quantile(devices, 0.5)
}

// median is in milliseconds; 0 for no times.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return stats.Milliseconds(stats.Quantile(times, 0.5))
}

func (a *app) printStartup(r *startupResult, path, device string) {
	a.printf("%s on %s\n", path, device)
	a.printf("  cold               %9.1f ms   process start to first result, caches off\n", r.Cold)
	a.printf("  miss               %9.1f ms   caches empty\n", r.Miss)
	a.printf("  hit                %9.1f ms   caches filled\n", r.Hit)
	a.printf("  memory             %s, %s, %s at most in the process, in that order; %s, %s, %s on the device\n",
		console.Bytes(r.ColdResident), console.Bytes(r.MissResident), console.Bytes(r.HitResident),
		console.Bytes(r.ColdDevice), console.Bytes(r.MissDevice), console.Bytes(r.HitDevice))
	a.printf("  prepare            %9.1f ms   in full, without making pipelines\n", r.Prepare)
	a.printf("  prepare from cache %9.1f ms   without making pipelines\n", r.PrepareFromCache)
	a.printf("  pipelines          %9.1f ms   making them, beside either\n", r.Pipelines)
}

// prepareTimesCommand measures preparations in a process of its own, with the Vulkan driver's caches off.
func (a *app) prepareTimesCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "prepare-times MODEL",
		Hidden: true,
		Args:   exactArgs(1, "one model"),
		RunE: func(c *cobra.Command, args []string) error {
			net, err := a.loadNetwork(a.net.model(args))
			if err != nil {
				return err
			}
			res, err := a.prepareTimes(c.Context(), net.Model)
			if err != nil {
				return err
			}
			a.printed = true
			return console.JSON(a.out, res, "")
		},
	}
}

func (a *app) prepareTimes(ctx context.Context, m *nn.Model) (*prepareTimes, error) {
	dir, err := os.MkdirTemp("", "nngpu-prepare")
	if err != nil {
		return nil, fileError(err)
	}
	defer os.RemoveAll(dir)
	var files []*os.File
	for _, name := range []string{"model", "data"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return nil, fileError(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	p := &preparations{app: a, ctx: ctx, model: m, files: files}
	if err := p.on(p.save); err != nil {
		return nil, err
	}
	// A new device has no pipelines.
	if err := p.on(p.measure); err != nil {
		return nil, err
	}
	return &p.res, nil
}

// preparations are those of one model.
type preparations struct {
	app   *app
	ctx   context.Context
	model *nn.Model
	files []*os.File
	res   prepareTimes
}

// on calls f with a client of a new device.
func (p *preparations) on(f func(*driver.Client) error) error {
	o := p.app.cacheOptions()
	o.Off = true
	dev, err := p.app.openCached(o)
	if err != nil {
		return err
	}
	c, err := dev.NewClient("nngpu")
	if err == nil {
		err = f(c)
	}
	return errors.Join(err, dev.Close())
}

func (p *preparations) token() cache.Token { return cache.Token{1} }

func (p *preparations) save(c *driver.Client) error {
	_, err := c.PrepareModel(p.ctx, p.model, driver.WithCacheFiles(p.token(), p.files[:1], p.files[1:]))
	return err
}

func (p *preparations) load(c *driver.Client) error {
	_, err := c.PrepareModelFromCache(p.ctx, p.token(), p.files[:1], p.files[1:])
	return err
}

// measure leaves what it prepared open, so that every preparation finds the pipelines but not the memory of the one
// before.
func (p *preparations) measure(c *driver.Client) error {
	start := time.Now()
	if err := p.load(c); err != nil {
		return err
	}
	first := stats.Milliseconds(time.Since(start))
	full := func(c *driver.Client) error {
		_, err := c.PrepareModel(p.ctx, p.model)
		return err
	}
	for _, m := range []struct {
		prepare func(*driver.Client) error
		median  *float64
	}{{p.load, &p.res.PrepareFromCache}, {full, &p.res.Prepare}} {
		var times []time.Duration
		for range 5 {
			start := time.Now()
			if err := m.prepare(c); err != nil {
				return err
			}
			times = append(times, time.Since(start))
		}
		*m.median = median(times)
	}
	p.res.Pipelines = max(0, first-p.res.PrepareFromCache)
	return nil
}

// noDriverCaches switches off the shader caches that Vulkan drivers keep on disk.
var noDriverCaches = []string{
	"MESA_SHADER_CACHE_DISABLE=true", "MESA_GLSL_CACHE_DISABLE=true", // Mesa, by version
	"__GL_SHADER_DISK_CACHE=0", // NVIDIA
}

// coldDone is what the child process prints when it has its first result; behind it, what the cache did, the peak
// of its resident memory, and that of the device's memory.
const coldDone = "first result"

// coldStart measures from the start of a child process to its first result, with every cache off. An error of
// the child becomes that of this process.
func (a *app) coldStart(ctx context.Context, path string) (time.Duration, error) {
	bar := a.progress(progress.None, "cold start")
	defer bar.Finish()
	s, err := a.firstResult(ctx, path, driver.CacheOff, []string{"--no-cache"}, noDriverCaches)
	return s.took, err
}

// start is what it took a process to have its first result.
type start struct {
	took time.Duration // since the process was started
	// Bytes at most until then: resident in the process, and of the device's account. A software device's memory is
	// in both.
	resident, device int64
}

// firstResult measures a child process up to its first result. cached is what the cache must have done.
func (a *app) firstResult(ctx context.Context, path string, cached driver.CacheStatus, flags, env []string) (start, error) {
	took, line, rest, err := a.child(ctx, append([]string{"cold-start"}, flags...), env, path)
	if err != nil || !strings.HasPrefix(line, coldDone) {
		return start{}, coldError(err, line, rest)
	}
	s, status := start{took: took}, driver.CacheStatus("")
	if _, err := fmt.Sscan(strings.TrimPrefix(line, coldDone), &status, &s.resident, &s.device); err != nil {
		return start{}, coldError(err, line, rest)
	}
	if status != cached {
		return start{}, coldError(fmt.Errorf("%s instead of %s in the cache", status, cached), line, rest)
	}
	return s, nil
}

// child runs a subcommand of this program on path and measures up to its first line of output.
func (a *app) child(ctx context.Context, args, env []string, path string) (took time.Duration, line string, rest []byte, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, "", nil, err
	}
	args = append(args, a.shape.args()...)
	args = append(args, "--json", "--device", a.device, "--memory-budget", strconv.FormatInt(a.budget, 10))
	args = append(args, a.net.args(path)...)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), env...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, "", nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, "", nil, err
	}
	r := bufio.NewReader(out)
	line, _ = r.ReadString('\n')
	took = time.Since(start)
	// What follows is an error while the child closes its device; Wait must not find the pipe full.
	rest, _ = io.ReadAll(io.LimitReader(r, 1<<16))
	err = cmd.Wait()
	return took, line, append(rest, messages.Bytes()...), err
}

// coldError is why the child process has no result: what it said itself, else how it ended.
func coldError(err error, line string, rest []byte) error {
	var f failure
	if json.Unmarshal([]byte(line), &f) == nil && f.Error != "" {
		code := exitRefused
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
		return &exitError{code: code, status: f.Status, err: fmt.Errorf("cold start: %s", f.Error)}
	}
	if err == nil {
		err = errors.New("it ended without a result")
	}
	if said := console.OneLine(string(rest)); said != "" {
		err = fmt.Errorf("%w: %.500s", err, said)
	}
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: "cold start in a process of its own", Err: err}
}

// coldCommand is the child's side of firstResult.
func (a *app) coldCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "cold-start MODEL",
		Hidden: true,
		Args:   exactArgs(1, "one model"),
		RunE: func(c *cobra.Command, args []string) error {
			net, err := a.loadNetwork(a.net.model(args))
			if err != nil {
				return err
			}
			s, err := a.prepareOn(c.Context(), a.net.model(args), net)
			if err != nil {
				return err
			}
			if _, err := s.model.Run(c.Context(), randomInputs(net.Model), s.model.NewOutputs()); err != nil {
				return errors.Join(err, s.close())
			}
			_, device, _ := s.device.Vulkan.Memory()
			a.printf("%s %s %d %d\n", coldDone, s.model.Cached(), peakResident(), device)
			a.printed = true
			return s.close()
		},
	}
}

// peakResident is the most that was resident of this process so far, in bytes; 0 where nobody knows. It is not what
// getrusage tells: that also counts the process that started this one.
func peakResident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}
