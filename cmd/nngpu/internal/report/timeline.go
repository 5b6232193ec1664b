package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver"
)

// Timeline is what happened in a part of a recording, on tracks of the host and of the device.
type Timeline struct {
	Width, Height, Foot int
	About               string
	Key                 []KeyEntry
	Ticks               []Tick
	Lanes               []Lane
}

// Lane is a track.
type Lane struct {
	Name  string
	TextY float64
	Bars  []Bar
}

// kindColors are those of kinds, which people with any colour vision can tell apart (Okabe and Ito, and greys).
var kindColors = []struct {
	name  string
	kinds []driver.ProfileKind
	color string
}{
	{"bind", []driver.ProfileKind{driver.ProfileBind}, "#cc79a7"},
	{"waiting for its turn", []driver.ProfileKind{driver.ProfileScheduler}, "#d55e00"},
	{"copying", []driver.ProfileKind{driver.ProfileCopy, driver.ProfileConversion}, "#e69f00"},
	{"recording, submitting", []driver.ProfileKind{driver.ProfileRecord, driver.ProfileSubmit}, "#56b4e9"},
	{"waiting for the device", []driver.ProfileKind{driver.ProfileWait}, "#b8c2cc"},
	{"finish", []driver.ProfileKind{driver.ProfileFinish}, "#8d7b68"},
}

// clientColors are those of clients on the device, by turns.
var clientColors = []string{"#0072b2", "#009e73", "#6a3d9a", "#8c564b"}

func colorOf(k driver.ProfileKind) string {
	for _, c := range kindColors {
		if slices.Contains(c.kinds, k) {
			return c.color
		}
	}
	return "#777777"
}

// Timeline draws one run, where one client ran: that of median length; else what is around the longest preemption, or
// the longest wait for another.
func (p *Page) Timeline() *Timeline {
	if len(p.Runs) == 0 {
		return nil
	}
	from, to, about := p.window()
	clients := p.clients()
	t := &Timeline{Width: chartWidth, About: about}
	length := to.Sub(from)
	x := func(at time.Time) float64 {
		return px(laneLeft + float64(at.Sub(from))/float64(length)*(chartRight-laneLeft))
	}
	for _, v := range steps125(float64(length)/1e6, 9) {
		t.Ticks = append(t.Ticks, Tick{X: px(laneLeft + v*1e6/float64(length)*(chartRight-laneLeft)), Text: fmt.Sprintf("%g ms", px(v))})
	}
	lane := func(name string) {
		y := axisHeight + len(t.Lanes)*(laneHeight+laneGap)
		t.Lanes = append(t.Lanes, Lane{Name: name, TextY: float64(y + 14)})
	}
	bar := func(l *Lane, s *driver.ProfileSpan, color, title, text string) {
		if !s.From.Before(to) || !s.To.After(from) || !s.From.Before(s.To) {
			return
		}
		x0, x1 := max(x(s.From), laneLeft), min(x(s.To), chartRight)
		b := Bar{
			X: x0, Y: l.TextY - 14, W: px(max(x1-x0, 0.4)), H: laneHeight, Color: color, Title: title, Text: label(text, x1-x0-6),
		}
		b.TextX, b.TextY = b.X+3, l.TextY
		l.Bars = append(l.Bars, b)
	}
	for _, c := range clients {
		lane("host: " + label(c, laneLeft-34))
	}
	lane("device: work")
	lane("device: steps")
	for i, c := range clients {
		l := &t.Lanes[i]
		for _, s := range p.spansOf(c) {
			if !s.span.OnDevice {
				bar(l, s.span, colorOf(s.span.Kind), s.title(p), "")
			}
		}
	}
	work, parts := &t.Lanes[len(clients)], &t.Lanes[len(clients)+1]
	for i, c := range clients {
		color := clientColors[i%len(clientColors)]
		for n, s := range p.spansOf(c) {
			switch {
			case s.span.Busy:
				bar(work, s.span, color, s.title(p), c)
			case s.span.OnDevice:
				shade := color
				if n%2 == 1 {
					shade += "bb"
				}
				bar(parts, s.span, shade, s.title(p), s.span.Name)
			}
		}
		t.Key = append(t.Key, KeyEntry{"the device works for " + c, color})
	}
	for _, k := range kindColors {
		t.Key = append(t.Key, KeyEntry{k.name, k.color})
	}
	t.Height = axisHeight + len(t.Lanes)*(laneHeight+laneGap)
	t.Foot = t.Height - 2
	return t
}

// runSpan is a span of a run.
type runSpan struct {
	run  int
	span *driver.ProfileSpan
}

func (s *runSpan) title(p *Page) string {
	run := &p.Runs[s.run]
	return fmt.Sprintf("%s: %s ms (%s, run %d of %s)", s.span.Name, millis(s.span.To.Sub(s.span.From)), run.Client, s.run, run.Model)
}

// spansOf are all spans of a client's runs.
func (p *Page) spansOf(client string) (list []runSpan) {
	for i := range p.Runs {
		if p.Runs[i].Client != client {
			continue
		}
		spans := p.Runs[i].Profile.Spans
		for k := range spans {
			list = append(list, runSpan{i, &spans[k]})
		}
	}
	return list
}

// window is what the timeline shows, also in words.
func (p *Page) window() (from, to time.Time, about string) {
	if len(p.clients()) > 1 {
		var best *Wait
		waits := p.Waits()
		for i := range waits {
			w := &waits[i]
			if len(w.For) > 0 && p.Runs[w.For[0].Run].Client != p.Runs[w.Run].Client && (best == nil || better(w, best)) {
				best = w
			}
		}
		if best != nil {
			length := max(best.To.Sub(best.From), time.Millisecond)
			return best.From.Add(-length), best.To.Add(length), fmt.Sprintf(
				"Around the longest wait of one client for another: %s (run %d, %s) waits %s ms for %s (run %d).",
				p.Runs[best.Run].Client, best.Run, best.Name, millis(best.To.Sub(best.From)), p.Runs[best.For[0].Run].Client, best.For[0].Run)
		}
	}
	order := make([]int, len(p.Runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.Runs[a].Profile.Wall, p.Runs[b].Profile.Wall) })
	n := order[len(order)/2]
	f := p.Runs[n].Profile
	return f.Began, f.Began.Add(max(f.Wall, time.Microsecond)), fmt.Sprintf("Run %d of %s, the median.", n, p.Runs[n].Model)
}

// better: a preemption says more than a wait in the queue, and a longer one more than a shorter one.
func better(a, b *Wait) bool {
	if (a.Name == "preempted") != (b.Name == "preempted") {
		return a.Name == "preempted"
	}
	return a.To.Sub(a.From) > b.To.Sub(b.From)
}
