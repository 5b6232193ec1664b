package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/gpu"
)

// reportFlags name the files that timelines are written to; empty ones are not.
type reportFlags struct {
	trace, pprof, html string
}

func (f *reportFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "write a timeline of host and device, FILE.json, which ui.perfetto.dev and chrome://tracing open")
	flags.StringVar(&f.html, "html", "", "write a page with table, timeline, roofline plot and memory, FILE.html")
}

// wanted: any file is asked for.
func (f *reportFlags) wanted() bool { return f.trace != "" || f.pprof != "" || f.html != "" }

// check reports early what cannot be a file.
func (f *reportFlags) check() error {
	seen := map[string]string{}
	for _, file := range []struct{ flag, path string }{{"--trace", f.trace}, {"--pprof", f.pprof}, {"--html", f.html}} {
		if file.path == "" {
			continue
		}
		path := filepath.Clean(file.path)
		if other := seen[path]; other != "" {
			return usageError("%s and %s name the same file", other, file.flag)
		}
		seen[path] = file.flag
		if err := checkFolder(file.flag, filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// mostTraced is how many runs a timeline has; others are as those.
const mostTraced = 300

// write writes the files that are asked for, all or none. The page is made only where it is wanted.
func (f *reportFlags) write(r *report.Recording, page func() (*report.Page, error)) error {
	short := *r
	short.Runs = short.Runs[:min(len(short.Runs), mostTraced)]
	folders := map[string][]outputFile{}
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.trace, short.WriteChrome}, {f.pprof, r.WritePprof}, {f.html, func(w io.Writer) error {
			p, err := page()
			if err != nil {
				return err
			}
			p.Recording = short
			return p.WritePage(w)
		}},
	} {
		if file.path == "" {
			continue
		}
		var b bytes.Buffer
		if err := file.write(&b); err != nil {
			return err
		}
		dir := filepath.Dir(file.path)
		folders[dir] = append(folders[dir], outputFile{file.path, b.Bytes()})
	}
	var errs []error
	for dir, files := range folders {
		errs = append(errs, saveOutputs(dir, files))
	}
	return errors.Join(errs...)
}

// recording is what the runs of a profile tell.
func (p *profiles) recording(a *app, r *profileResult) *report.Recording {
	out := &report.Recording{
		Title: clean(fmt.Sprintf("%s on %s", networkName(r.Model), r.Device)), Device: clean(r.Device), Driver: clean(r.Driver), Events: a.events.events(),
	}
	for _, f := range p.runs {
		out.Runs = append(out.Runs, report.Run{Client: "nngpu", Model: clean(networkName(r.Model)), Priority: "medium", Profile: f})
	}
	return out
}

// page is what the page of a profile shows beside its recording.
func (p *profiles) page(r *profileResult) *report.Page {
	out := &report.Page{Notes: []string{fmt.Sprintf("A run takes %.4f ms, the mean of those in the middle; all rows together %.4f ms.", r.Wall, r.Sum)}}
	if p.measured.Busy() {
		out.Notes = append(out.Notes, "The ceilings were measured on a busy machine: nngpu info --measure on an idle one tells more.")
	} else if p.measured.Unsteady() {
		out.Notes = append(out.Notes, fmt.Sprintf("The machine's speed changed by %.0f %% while the ceilings were measured.", 100*p.measured.Drift))
	}
	t := report.Table{
		Title: "Where the time goes",
		Head:  []string{"", "kind", "ms", "±", "share", "GFLOP/s", "GB/s", "ceiling", "%", "kernel", "why"}, Left: []int{1, 7, 9, 10},
	}
	took := map[string]float64{}
	for _, row := range r.Rows {
		took[row.Name] = row.MS
		t.Rows = append(t.Rows, []string{
			row.Name, row.Kind, fmt.Sprintf("%.4f", row.MS), fmt.Sprintf("%.4f", row.Uncertainty), fmt.Sprintf("%.1f %%", 100*row.Share),
			rateOr(row.GFLOPS), rateOr(row.GBPS), row.Ceiling, percentText(row.Percent), row.Kernel, row.Why,
		})
		if row.Kernel != "" {
			out.Points = append(out.Points, report.Point{
				Name: row.Name, FLOP: row.GFLOPS * row.MS * 1e6, Bytes: row.GBPS * row.MS * 1e6, MS: row.MS, Share: row.Share,
			})
		}
	}
	out.Tables = []report.Table{t}
	m := &p.measured
	out.Ceilings = report.Ceilings{F32: m.FMA32, Dot: m.Dot8, Cache: m.Cache, Memory: m.Memory}
	out.Memory = p.memory(took)
	return out
}

// memory is what is live while each step runs, of those that run.
func (p *profiles) memory(took map[string]float64) report.Memory {
	out := report.Memory{Arena: p.description.Stats.ArenaBytes, Weights: p.description.Stats.WeightBytes}
	parts := map[string]int{}
	steps := p.description.Memory()
	for _, s := range steps {
		parts[s.Label]++
	}
	for _, s := range steps {
		if ms := took[s.Label] / float64(parts[s.Label]); ms > 0 {
			out.Steps = append(out.Steps, report.MemoryStep{Name: s.Label, Live: s.Live, MS: ms})
		}
	}
	return out
}

// describe keeps what the page needs of the device and the plan.
func (p *profiles) describe(ctx context.Context, s *session) (err error) {
	p.measured, _ = s.device.Vulkan.Measured()
	p.description, err = s.device.Vulkan.Describe(ctx, s.net.Model)
	return err
}

// profiles are what was taken of a network.
type profiles struct {
	runs        []*driver.Profile
	measured    gpu.Measurement
	description *gpu.Description // nil unless a page is wanted
}
