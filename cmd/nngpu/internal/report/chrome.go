package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// chromeEvent is an event of Chrome's trace format, which Perfetto opens:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are in microseconds.
type chromeEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	At       float64        `json:"ts"`
	Length   *float64       `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       int            `json:"id,omitempty"`
	Bind     string         `json:"bp,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

type chromeTrace struct {
	Events []chromeEvent     `json:"traceEvents"`
	Unit   string            `json:"displayTimeUnit"`
	Other  map[string]string `json:"otherData"`
}

// Processes and threads of a trace: the host has a thread for preparing and one for each client, the device one for
// submissions and one for their steps.
const (
	hostProcess   = 1
	deviceProcess = 2

	preparing   = 1
	firstClient = 2
	submissions = 1
	steps       = 2
)

// WriteChrome writes r as a Chrome trace: tracks of the host and of the device on one clock, what each run waited for as
// arguments and arrows.
func (r *Recording) WriteChrome(w io.Writer) error {
	start := r.start()
	micro := func(t time.Time) float64 { return float64(t.Sub(start)) / 1e3 }
	out := chromeTrace{Unit: "ms", Other: map[string]string{"device": r.Device, "driver": r.Driver, "title": r.Title}}
	name := func(kind string, process, thread int, text string) {
		out.Events = append(out.Events, chromeEvent{Name: kind, Phase: "M", Process: process, Thread: thread, Args: map[string]any{"name": text}})
	}
	span := func(name, category string, process, thread int, from, to time.Time, args map[string]any) {
		length := max(micro(to)-micro(from), 0)
		out.Events = append(out.Events, chromeEvent{
			Name: name, Category: category, Phase: "X", At: micro(from), Length: &length, Process: process, Thread: thread, Args: args,
		})
	}
	name("process_name", hostProcess, 0, "host")
	name("process_name", deviceProcess, 0, "device: "+r.Device)
	name("thread_name", hostProcess, preparing, "prepare")
	name("thread_name", deviceProcess, submissions, "submissions")
	name("thread_name", deviceProcess, steps, "steps")
	clients := r.clients()
	for i, c := range clients {
		name("thread_name", hostProcess, firstClient+i, c)
	}
	for _, e := range r.Events {
		args := map[string]any{"detail": e.Detail}
		if e.To.IsZero() {
			out.Events = append(out.Events, chromeEvent{
				Name: e.Name, Category: "prepare", Phase: "i", At: micro(e.From), Process: hostProcess, Thread: preparing, Scope: "t", Args: args,
			})
			continue
		}
		span(e.Name, "prepare", hostProcess, preparing, e.From, e.To, args)
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		thread := firstClient + slices.Index(clients, run.Client)
		p := run.Profile
		span(run.Model, "run", hostProcess, thread, p.Began, p.Began.Add(p.Wall), map[string]any{"run": i, "priority": run.Priority})
		for _, s := range p.Spans {
			switch {
			case s.Busy:
				span(run.Client+": "+run.Model, "submission", deviceProcess, submissions, s.From, s.To, map[string]any{"run": i, "client": run.Client})
			case s.OnDevice:
				span(s.Name, string(s.Kind), deviceProcess, steps, s.From, s.To, map[string]any{"run": i, "client": run.Client})
			case !slices.Contains(waitNames, s.Name):
				span(s.Name, string(s.Kind), hostProcess, thread, s.From, s.To, map[string]any{"run": i})
			}
		}
	}
	arrow := func(phase string, id int, at time.Time, process, thread int) {
		out.Events = append(out.Events, chromeEvent{
			Name: "waited for", Category: "wait", Phase: phase, At: micro(at), Process: process, Thread: thread, ID: id, Bind: "e",
		})
	}
	for n, w := range r.Waits() {
		run := &r.Runs[w.Run]
		thread := firstClient + slices.Index(clients, run.Client)
		args := map[string]any{"run": w.Run}
		for i, s := range w.For {
			other := &r.Runs[s.Run]
			if i == 0 {
				args["waited_for"] = other.Client
				args["waited_for_run"] = s.Run
			}
			args[fmt.Sprintf("waited_for_%d", i)] = fmt.Sprintf("%s: %s, run %d: %.3f ms", other.Client, other.Model, s.Run, float64(s.Time)/1e6)
		}
		span(w.Name, "wait", hostProcess, thread, w.From, w.To, args)
		if len(w.For) > 0 {
			arrow("s", n+1, w.From, deviceProcess, submissions)
			arrow("f", n+1, w.To, hostProcess, thread)
		}
	}
	return json.NewEncoder(w).Encode(&out)
}
