// Package profile says where the time of a network goes, in rows that add up: as JSON, a table, and what timelines, pprof
// and pages are made of.
package profile

import (
	"fmt"
	"io"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/gpu"
)

// How rows of the device are grouped.
const (
	ByOp      = "op"
	ByKernel  = "kernel"
	BySegment = "segment"
)

// Result is the JSON of `nngpu profile`; its field names are an interface.
type Result struct {
	Device string `json:"device"`
	Driver string `json:"driver"`
	Model  string `json:"model"`
	Runs   int    `json:"runs"`
	// Wall is the time of a run, the mean of those in the middle, and Sum that of all rows of the same runs.
	Wall float64 `json:"wall_ms"`
	Sum  float64 `json:"sum_ms"`
	Rows []Row   `json:"rows"`
}

// Row is a part of the time. Figures of the device are 0, or empty, for rows of the host.
type Row struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // op, or what it is else: see driver.ProfileKind
	// MS is the mean over the runs of the middle fifth, and Uncertainty by how much it may be wrong (a standard deviation).
	MS          float64 `json:"ms"`
	Uncertainty float64 `json:"uncertainty_ms"`
	Share       float64 `json:"share"` // of the sum of all rows
	GFLOPS      float64 `json:"gflops"`
	GBPS        float64 `json:"gbps"`
	// Ceiling is what bounds it most on this device, and Percent how much of that was reached.
	Ceiling string  `json:"ceiling"`
	Percent float64 `json:"percent"`
	Kernel  string  `json:"kernel"`
	Why     string  `json:"why"` // the kernel was chosen
}

// Print prints the rows as a table.
func (r *Result) Print(w io.Writer) {
	console.Printf(w, "%s on %s (%s), %s\n\n", r.Model, r.Device, r.Driver, console.Count(r.Runs, "run"))
	width := len("wait for the device")
	for _, row := range r.Rows {
		width = max(width, len(row.Name))
	}
	console.Printf(w, "%-*s %9s %8s %6s %9s %7s  %-8s %5s  %s\n", width, "", "ms", "±", "share", "GFLOP/s", "GB/s", "ceiling", "%", "kernel")
	host := false
	for _, row := range r.Rows {
		if row.Kernel == "" && !host {
			host = true
			console.Printf(w, "\n")
		}
		line := fmt.Sprintf("%-*s %9.4f %8.4f %5.1f%%", width, row.Name, row.MS, row.Uncertainty, 100*row.Share)
		if row.Kernel != "" {
			line += fmt.Sprintf(" %9s %7s  %-8s %5s  %s", rateOr(row.GFLOPS), rateOr(row.GBPS), row.Ceiling, percentText(row.Percent), row.Kernel)
			if row.Why != "" {
				line += " (" + row.Why + ")"
			}
		}
		console.Printf(w, "%s\n", strings.TrimRight(line, " "))
	}
	console.Printf(w, "\n%-*s %9.4f          all rows; a run takes %.4f ms, the mean of those in the middle\n", width, "sum", r.Sum, r.Wall)
}

// rateOr is a rate for people, nothing where there is none.
func rateOr(x float64) string {
	if x == 0 {
		return ""
	}
	return console.Rate(x)
}

func percentText(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", x)
}

// Taken is what was taken of a network on a device.
type Taken struct {
	Runs        []*driver.Profile
	Measured    gpu.Measurement  // for Page
	Description *gpu.Description // for Page
}

// Recording is what the runs tell, beside events.
func (t *Taken) Recording(r *Result, events []report.Event) *report.Recording {
	out := &report.Recording{
		Title: console.Clean(fmt.Sprintf("%s on %s", report.NetworkName(r.Model), r.Device)), Device: console.Clean(r.Device), Driver: console.Clean(r.Driver), Events: events,
	}
	for _, f := range t.Runs {
		out.Runs = append(out.Runs, report.Run{Client: "nngpu", Model: console.Clean(report.NetworkName(r.Model)), Priority: "medium", Profile: f})
	}
	return out
}

// Page is what the page of a profile shows beside its recording.
func (t *Taken) Page(r *Result) *report.Page {
	out := &report.Page{Notes: []string{fmt.Sprintf("A run takes %.4f ms, the mean of those in the middle; all rows together %.4f ms.", r.Wall, r.Sum)}}
	if t.Measured.Busy() {
		out.Notes = append(out.Notes, "The ceilings were measured on a busy machine: nngpu info --measure on an idle one tells more.")
	} else if t.Measured.Unsteady() {
		out.Notes = append(out.Notes, fmt.Sprintf("The machine's speed changed by %.0f %% while the ceilings were measured.", 100*t.Measured.Drift))
	}
	table := report.Table{
		Title: "Where the time goes",
		Head:  []string{"", "kind", "ms", "±", "share", "GFLOP/s", "GB/s", "ceiling", "%", "kernel", "why"}, Left: []int{1, 7, 9, 10},
	}
	took := map[string]float64{}
	for _, row := range r.Rows {
		took[row.Name] = row.MS
		table.Rows = append(table.Rows, []string{
			row.Name, row.Kind, fmt.Sprintf("%.4f", row.MS), fmt.Sprintf("%.4f", row.Uncertainty), fmt.Sprintf("%.1f %%", 100*row.Share),
			rateOr(row.GFLOPS), rateOr(row.GBPS), row.Ceiling, percentText(row.Percent), row.Kernel, row.Why,
		})
		if row.Kernel != "" {
			out.Points = append(out.Points, report.Point{
				Name: row.Name, FLOP: row.GFLOPS * row.MS * 1e6, Bytes: row.GBPS * row.MS * 1e6, MS: row.MS, Share: row.Share,
			})
		}
	}
	out.Tables = []report.Table{table}
	m := &t.Measured
	out.Ceilings = report.Ceilings{F32: m.FMA32, Dot: m.Dot8, MatrixF16: m.MatrixF16, MatrixInt8: m.MatrixInt8, Cache: m.Cache, Memory: m.Memory}
	out.Memory = t.memory(took)
	return out
}

// memory is what is live while each step runs, of those that run.
func (t *Taken) memory(took map[string]float64) report.Memory {
	out := report.Memory{Arena: t.Description.Stats.ArenaBytes, Weights: t.Description.Stats.WeightBytes}
	parts := map[string]int{}
	steps := t.Description.Memory()
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
