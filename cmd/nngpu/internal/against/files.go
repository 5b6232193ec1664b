package against

import (
	"fmt"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/driver"
)

// recorded is what the executions of both networks tell about the loaded case.
type recorded struct {
	front, back runLog
	prepared    []report.Event
}

// runLog keeps executions that were profiled. Safe for concurrent use.
type runLog struct {
	mu   sync.Mutex
	list []*driver.Result // guarded by mu
}

func (l *runLog) add(r *driver.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < report.MostTraced {
		l.list = append(l.list, r)
	}
}

// Names of the two in timelines.
const (
	foregroundName = "foreground"
	backgroundName = "background"
)

// Recording is what the executions of both networks tell about the loaded case, in the order of their beginnings.
// Precondition: Setup.Record.
func (r *Result) Recording() *report.Recording {
	out := &report.Recording{
		Title: console.Clean(r.Title()), Device: console.Clean(r.Device), Driver: console.Clean(r.Driver), Events: r.recorded.prepared,
		Clients: []string{foregroundName, backgroundName},
	}
	for _, side := range []struct {
		client, path, priority string
		log                    *runLog
	}{{foregroundName, r.Model, "high", &r.recorded.front}, {backgroundName, r.Against, r.Priority, &r.recorded.back}} {
		for _, x := range side.log.list {
			out.Runs = append(out.Runs, report.Run{Client: side.client, Model: console.Clean(report.NetworkName(side.path)), Priority: side.priority, Profile: x.Profile()})
		}
	}
	slices.SortStableFunc(out.Runs, func(a, b report.Run) int { return a.Profile.Began.Compare(b.Profile.Began) })
	return out
}

// Page is what the page of --against shows beside its recording.
func (r *Result) Page() *report.Page {
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
			console.Clean(fmt.Sprintf("%s is the foreground, at high priority; %s the background, at %s. The timeline is of the loaded case.",
				r.Model, r.Against, r.Priority)), r.verdict(),
		},
		Tables: []report.Table{t},
	}
}

// Title names both networks.
func (r *Result) Title() string {
	return fmt.Sprintf("%s (high) against %s (%s) on %s", report.NetworkName(r.Model), report.NetworkName(r.Against), r.Priority, r.Device)
}
