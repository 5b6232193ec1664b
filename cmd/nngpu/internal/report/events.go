package report

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// EventLog keeps what happened beside executions, for timelines. A nil one keeps nothing. Safe for concurrent use.
type EventLog struct {
	mu   sync.Mutex
	list []Event // guarded by mu
}

// mostEvents bounds what is kept.
const mostEvents = 10_000

// Add keeps a record of the library's log. One that says how long something took ended then.
func (l *EventLog) Add(r *slog.Record, line string) {
	if l == nil {
		return
	}
	e := Event{Name: console.Clean(r.Message), Detail: console.Clean(line), From: r.Time}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "took" && a.Value.Kind() == slog.KindDuration {
			e.From, e.To = r.Time.Add(-a.Value.Duration()), r.Time
		}
		return true
	})
	l.append(e)
}

// Span keeps something that the command itself did since from.
func (l *EventLog) Span(name, detail string, from time.Time) {
	if l != nil {
		l.append(Event{Name: name, Detail: console.Clean(detail), From: from, To: time.Now()})
	}
}

func (l *EventLog) append(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < mostEvents {
		l.list = append(l.list, e)
	}
}

// Events are those so far.
func (l *EventLog) Events() []Event {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
