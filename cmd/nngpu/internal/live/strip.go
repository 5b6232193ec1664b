package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/report"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver/nn"
)

// Rows of the strip.
const (
	titleRow = iota
	countRow
	latencyTop
	latencyRow // of two rows
	laneRow    // the first of three
	movedRow   = laneRow + int(lanes)
)

// laneNames is how many columns the names of lanes take.
const laneNames = 10

var laneLooks = [lanes]struct {
	name   string
	colour canvas.Colour
}{networkLane: {"network", canvas.Green}, drawLane: {"drawing", canvas.Blue}, rivalLane: {"background", canvas.Violet}}

var outcomeColours = [...]canvas.Colour{met: canvas.Green, late: canvas.Red, missed: canvas.Red, refused: canvas.Amber}

// strip draws what happened in the last seconds.
func (d *drawer) strip(s *snapshot) {
	x, sheet := d.session, d.sheet
	c := sheet.Strip(0, titleRow, canvas.Bright, fmt.Sprintf("%.30s ", report.NetworkName(x.Path)))
	c = sheet.Strip(c, titleRow, canvas.Pale, fmt.Sprintf("%s  %.1f frames/s", x.Kind, s.rate))
	deadline, preempt := x.controls.get()
	if deadline > 0 {
		c = sheet.Strip(c, titleRow, canvas.Pale, fmt.Sprintf("  deadline %.4g ms", stats.Milliseconds(deadline)))
	}
	if r := x.rival; r != nil {
		on, priority, _ := r.wanted()
		what := fmt.Sprintf("(%s) %.1f/s", priorityWord(priority), s.rivals)
		if !on {
			what = "stopped"
		}
		sheet.Strip(c, titleRow, canvas.Violet, fmt.Sprintf("  against %.20s %s", report.NetworkName(x.Rival.Path), what))
	}
	c = sheet.Strip(0, countRow, canvas.Green, fmt.Sprintf("met %d  ", s.counts[met]))
	c = sheet.Strip(c, countRow, canvas.Red, fmt.Sprintf("missed %d  ", s.counts[late]+s.counts[missed]))
	c = sheet.Strip(c, countRow, canvas.Amber, fmt.Sprintf("refused %d  ", s.counts[refused]))
	c = sheet.Strip(c, countRow, canvas.Pale, fmt.Sprintf("dropped %d  ", s.dropped))
	if preempt {
		c = sheet.Strip(c, countRow, canvas.Pale, fmt.Sprintf("preemptions %d  ", s.preemptions))
	} else {
		c = sheet.Strip(c, countRow, canvas.Amber, "no preemption  ")
	}
	sheet.Strip(c, countRow, canvas.Bright, latencyText(s.frames))

	d.latencies(s.frames, deadline)
	for who := range lanes {
		look := laneLooks[who]
		if who == rivalLane && x.rival == nil {
			continue
		}
		row := laneRow + int(who)
		sheet.Strip(0, row, look.colour, fmt.Sprintf("%-*s", laneNames, look.name))
		for i, share := range s.shares[who] {
			sheet.Column(laneNames+i, row, 1, share, look.colour)
		}
	}
	sheet.Strip(0, movedRow, canvas.Pale, fmt.Sprintf("a frame moves %s in, %s of results out", byteText(s.perFrame.in), byteText(s.perFrame.results)))
}

// latencies draws a bar for each of the last frames, as high as the time that it took; the full height is the deadline
// and a quarter, or the longest of them.
func (d *drawer) latencies(frames []frameRecord, deadline time.Duration) {
	full := deadline + deadline/4
	for _, f := range frames {
		full = max(full, f.took)
	}
	first := shownFrames - len(frames)
	for i := range shownFrames {
		height, colour := 0., canvas.Green
		if i >= first {
			f := frames[i-first]
			colour = outcomeColours[f.how]
			if height = float64(f.took) / float64(full); f.how == refused {
				height = 1 // it took no time, but must be visible
			}
		}
		d.sheet.Column(i, latencyRow, latencyRow-latencyTop+1, height, colour)
	}
}

// latencyText is the latency of the frames of the strip that had a result.
func latencyText(frames []frameRecord) string {
	var list []time.Duration
	for _, f := range frames {
		if f.how == met || f.how == late {
			list = append(list, f.took)
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return fmt.Sprintf("%.1f ms, at most %.1f", stats.Milliseconds(stats.Quantile(list, 0.5)), stats.Milliseconds(stats.Quantile(list, 1)))
}

func byteText(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", n/1e3)
	}
	return fmt.Sprintf("%.0f bytes", n)
}

func priorityWord(p nn.Priority) string { return strings.ToLower(p.String()) }
