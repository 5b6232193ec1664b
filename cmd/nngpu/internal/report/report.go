// Package report shows where executions spent their time: as a Chrome trace, as a profile for pprof, and as a page.
//
// It is given what driver.WithProfile returned, of one client or of several on one device, and computes nothing but who
// waited for whom. Texts that it is given are the program's own, or were cleaned; it escapes what its formats demand.
package report

import (
	"cmp"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/nngpu/nngpu/driver"
)

// MostTraced is how many runs a timeline shows; others are like those.
const MostTraced = 300

// Recording is what executions on one device told.
type Recording struct {
	Title, Device, Driver string
	Clients               []string // in the order of their tracks; others come behind
	Runs                  []Run
	Events                []Event // of preparing models, and of caches
}

// Run is one execution.
type Run struct {
	Client   string // who ran it: one track on the host for each
	Model    string
	Priority string
	Profile  *driver.Profile
}

// Event is something that happened, beside executions. To is zero for what took no time.
type Event struct {
	Name, Detail string
	From, To     time.Time
}

// Wait is a time in which a run had to wait for the device.
type Wait struct {
	Run      int // index into Recording.Runs
	Name     string
	From, To time.Time
	// For has the runs that the device worked on meanwhile, the longest first.
	For []Share
}

// Share is a part of a wait.
type Share struct {
	Run  int
	Time time.Duration
}

// waitNames are the spans in which a run waits for its turn.
var waitNames = []string{"queue", "slot", "preempted"}

// busy is the device's work on one submission of a run.
type busy struct {
	run      int
	from, to time.Time
}

// Waits lists who waited for whom, in the order of the runs and of time.
func (r *Recording) Waits() []Wait {
	var work []busy
	var longest time.Duration
	for i := range r.Runs {
		for _, s := range r.Runs[i].Profile.Spans {
			if s.Busy {
				work = append(work, busy{i, s.From, s.To})
				longest = max(longest, s.To.Sub(s.From))
			}
		}
	}
	slices.SortFunc(work, func(a, b busy) int { return a.from.Compare(b.from) })
	var list []Wait
	for i := range r.Runs {
		for _, s := range r.Runs[i].Profile.Spans {
			if s.OnDevice || !slices.Contains(waitNames, s.Name) {
				continue
			}
			w := Wait{Run: i, Name: s.Name, From: s.From, To: s.To}
			first := sort.Search(len(work), func(k int) bool { return work[k].from.After(s.From.Add(-longest)) })
			for _, b := range work[first:] {
				if !b.from.Before(s.To) {
					break
				}
				if d := overlap(b, s.From, s.To); b.run != i && d > 0 {
					w.For = append(w.For, Share{b.run, d})
				}
			}
			w.For = merged(w.For)
			list = append(list, w)
		}
	}
	return list
}

func overlap(b busy, from, to time.Time) time.Duration {
	if b.from.After(from) {
		from = b.from
	}
	if b.to.Before(to) {
		to = b.to
	}
	return to.Sub(from)
}

// merged adds up the shares of each run and sorts them, the longest first.
func merged(list []Share) []Share {
	slices.SortFunc(list, func(a, b Share) int { return cmp.Compare(a.Run, b.Run) })
	var out []Share
	for _, s := range list {
		if n := len(out); n > 0 && out[n-1].Run == s.Run {
			out[n-1].Time += s.Time
		} else {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// clients are the names of those who ran something.
func (r *Recording) clients() []string {
	list := slices.Clone(r.Clients)
	for i := range r.Runs {
		if !slices.Contains(list, r.Runs[i].Client) {
			list = append(list, r.Runs[i].Client)
		}
	}
	return list
}

// start is before all that is recorded.
func (r *Recording) start() time.Time {
	var at time.Time
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for i := range r.Runs {
		earlier(r.Runs[i].Profile.Began)
	}
	for _, e := range r.Events {
		earlier(e.From)
	}
	return at
}

// NetworkName is a file's name, or its folder's: networks often lie in folders that have their names.
func NetworkName(path string) string {
	base := filepath.Base(path)
	if base = base[:len(base)-len(filepath.Ext(base))]; base != "model" {
		return base
	}
	return filepath.Base(filepath.Dir(path))
}
