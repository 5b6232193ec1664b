package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
)

// runLog keeps executions that were profiled. Safe for concurrent use.
type runLog struct {
	mu   sync.Mutex
	list []*driver.Result // guarded by mu
}

func (l *runLog) add(r *driver.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < mostTraced {
		l.list = append(l.list, r)
	}
}

// Names of the two in timelines.
const (
	foregroundName = "foreground"
	backgroundName = "background"
)

// recording is what the executions of both networks tell, of the loaded case, in the order of their beginnings.
func (o *opponents) recording(r *againstResult) *report.Recording {
	out := &report.Recording{
		Title: clean(o.title(r)), Device: clean(r.Device), Driver: clean(r.Driver), Events: o.prepared,
		Clients: []string{foregroundName, backgroundName},
	}
	for _, side := range []struct {
		client, path, priority string
		log                    *runLog
	}{{foregroundName, o.path, "high", o.frontRuns}, {backgroundName, o.rival.path, r.Priority, o.backRuns}} {
		for _, r := range side.log.list {
			out.Runs = append(out.Runs, report.Run{Client: side.client, Model: clean(networkName(side.path)), Priority: side.priority, Profile: r.Profile()})
		}
	}
	slices.SortStableFunc(out.Runs, func(a, b report.Run) int { return a.Profile.Began.Compare(b.Profile.Began) })
	return out
}

// page is what the page of --against shows beside its recording.
func (o *opponents) page(r *againstResult) *report.Page {
	t := report.Table{Title: "Latency", Head: []string{"", "runs", "p50 ms", "p90 ms", "p99 ms", "max ms", "missed", "refused", "preemptions", "background/s"}}
	for _, row := range r.rows() {
		c := row.c
		t.Rows = append(t.Rows, []string{
			row.name, fmt.Sprint(c.Runs), fmt.Sprintf("%.3f", c.P50), fmt.Sprintf("%.3f", c.P90), fmt.Sprintf("%.3f", c.P99), fmt.Sprintf("%.3f", c.Max),
			fmt.Sprint(c.Missed), fmt.Sprint(c.Refused), fmt.Sprint(c.Preemptions), fmt.Sprintf("%.2f", c.BackgroundPerSecond),
		})
	}
	return &report.Page{
		Notes: []string{
			clean(fmt.Sprintf("%s is the foreground, at high priority; %s the background, at %s. The timeline is of the loaded case.",
				o.path, o.rival.path, r.Priority)), againstVerdict(r),
		},
		Tables: []report.Table{t},
	}
}

// title names both networks.
func (o *opponents) title(r *againstResult) string {
	return fmt.Sprintf("%s (high) against %s (%s) on %s", networkName(o.path), networkName(o.rival.path), r.Priority, r.Device)
}

// networkName is a file's name, or its folder's: networks often lie in folders that have their names.
func networkName(path string) string {
	base := filepath.Base(path)
	if base = base[:len(base)-len(filepath.Ext(base))]; base != "model" {
		return base
	}
	return filepath.Base(filepath.Dir(path))
}
