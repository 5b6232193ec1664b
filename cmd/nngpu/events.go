package main

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
)

// eventLog keeps what happened beside executions, for timelines. A nil one keeps nothing. Safe for concurrent use.
type eventLog struct {
	mu   sync.Mutex
	list []report.Event // guarded by mu
}

// mostEvents bounds what is kept.
const mostEvents = 10_000

// add keeps a record of the library's log. One that says how long something took ended then.
func (l *eventLog) add(r *slog.Record, line string) {
	if l == nil {
		return
	}
	e := report.Event{Name: clean(r.Message), Detail: clean(line), From: r.Time}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "took" && a.Value.Kind() == slog.KindDuration {
			e.From, e.To = r.Time.Add(-a.Value.Duration()), r.Time
		}
		return true
	})
	l.append(e)
}

// span keeps something that the command itself did since from.
func (l *eventLog) span(name, detail string, from time.Time) {
	if l != nil {
		l.append(report.Event{Name: name, Detail: clean(detail), From: from, To: time.Now()})
	}
}

func (l *eventLog) append(e report.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < mostEvents {
		l.list = append(l.list, e)
	}
}

// events are those so far.
func (l *eventLog) events() []report.Event {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
