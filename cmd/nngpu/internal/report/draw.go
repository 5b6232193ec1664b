package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// Drawings are laid out here and written by page.html. Lengths are in pixels.
const (
	chartWidth  = 1140
	chartLeft   = 70
	chartRight  = chartWidth - 20
	laneHeight  = 20
	laneGap     = 6
	laneLeft    = 130
	axisHeight  = 18
	roofHeight  = 430
	roofTop     = 10
	roofBottom  = roofHeight - 40
	memHeight   = 240
	memTop      = 10
	memBottom   = memHeight - 24
	letterWidth = 5.6 // of the small text in bars
)

// Bar is a rectangle with a text that is shown over it, and one that is shown when it is pointed at.
type Bar struct {
	X, Y, W, H, TextX, TextY float64
	Color, Title, Text       string
}

// Tick is a mark of an axis.
type Tick struct {
	X, Y, TextY float64
	Text        string
}

// Frame is where a chart has its edges, and the marks of its horizontal axis have their texts.
type Frame struct{ Width, Height, Left, Right, Foot, TextY int }

func frame(height, foot int) Frame {
	return Frame{chartWidth, height, chartLeft, chartRight, foot, foot + 16}
}

// KeyEntry says what a colour means.
type KeyEntry struct{ Name, Color string }

// px rounds a length, so that pages stay small.
func px(x float64) float64 { return math.Round(x*100) / 100 }

// steps125 are the marks of an axis from 0 to most, at multiples of 1, 2 or 5.
func steps125(most float64, about int) []float64 {
	if !(most > 0) {
		return []float64{0}
	}
	raw := most / float64(about)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := unit
	for _, f := range []float64{1, 2, 5, 10} {
		if step = f * unit; step >= raw {
			break
		}
	}
	var list []float64
	for x := 0.0; x <= most*1.0001; x += step {
		list = append(list, x)
	}
	return list
}

// label is text shortened to what fits into width, empty where too little does.
func label(text string, width float64) string {
	room := int(width / letterWidth)
	if len(text) <= room {
		return text
	}
	if room < 8 {
		return ""
	}
	return text[:room-1] + "…"
}

// Roofline is the plot of what operations reach.
type Roofline struct {
	Frame
	MiddleX        float64
	XTicks, YTicks []Tick
	Roofs          []Roof
	Dots           []Dot
}

// Roof is a ceiling of the device.
type Roof struct {
	Path, Text string
	X, Y       float64
}

// Dot is an operation.
type Dot struct {
	X, Y, R, TextX, TextY float64
	Title, Text           string
}

// Roofline lays the plot out; nil where there is nothing to show.
func (p *Page) Roofline() *Roofline {
	points := slices.DeleteFunc(slices.Clone(p.Points), func(o Point) bool { return !(o.FLOP > 0 && o.Bytes > 0 && o.MS > 0) })
	if len(points) == 0 {
		return nil
	}
	x := func(o Point) float64 { return math.Log10(o.FLOP / o.Bytes) }
	y := func(o Point) float64 { return math.Log10(o.FLOP / o.MS / 1e6) }
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, o := range points {
		x0, x1, y0, y1 = min(x0, x(o)), max(x1, x(o)), min(y0, y(o)), max(y1, y(o))
	}
	if c := &p.Ceilings; c.F32 > 0 {
		y1 = max(y1, math.Log10(c.most()/1e9))
		if c.Cache > 0 { // to where arithmetic bounds
			x1 = max(x1, math.Log10(c.most()/c.Cache))
		}
	}
	x0, x1, y0, y1 = math.Floor(x0), math.Ceil(x1+0.3), math.Floor(y0), math.Ceil(y1+0.1)
	atX := func(v float64) float64 { return px(chartLeft + (v-x0)/(x1-x0)*(chartRight-chartLeft)) }
	atY := func(v float64) float64 { return px(roofBottom - (v-y0)/(y1-y0)*(roofBottom-roofTop)) }
	r := &Roofline{Frame: frame(roofHeight, roofBottom), MiddleX: (chartLeft + chartRight) / 2}
	for v := x0; v <= x1; v++ {
		r.XTicks = append(r.XTicks, Tick{X: atX(v), Text: power(v)})
	}
	for v := y0; v <= y1; v++ {
		r.YTicks = append(r.YTicks, Tick{Y: atY(v), TextY: atY(v) + 4, Text: power(v)})
	}
	r.roofs(&p.Ceilings, x0, x1, y0, atX, atY)
	largest := slices.Clone(points)
	slices.SortFunc(largest, func(a, b Point) int { return int(1e9 * (b.Share - a.Share)) })
	for i, o := range largest {
		d := Dot{
			X: atX(x(o)), Y: atY(y(o)), R: px(3 + 40*math.Sqrt(max(o.Share, 0)/math.Pi)),
			Title: fmt.Sprintf("%s: %.3f ms, %.3g GFLOP/s, %.3g operations for each byte", o.Name, o.MS, o.FLOP/o.MS/1e6, o.FLOP/o.Bytes),
		}
		if i < 6 {
			d.Text, d.TextX, d.TextY = o.Name, px(d.X+d.R+3), px(d.Y+4)
		}
		r.Dots = append(r.Dots, d)
	}
	r.spread()
	return r
}

// spread drops texts that would overlap another.
func (r *Roofline) spread() {
	var shown []*Dot
	for i := range r.Dots {
		d := &r.Dots[i]
		if d.Text == "" {
			continue
		}
		width := letterWidth * float64(len(d.Text))
		if d.TextX+width > chartRight {
			d.TextX = px(d.X - d.R - 3 - width)
		}
		if slices.ContainsFunc(shown, func(o *Dot) bool {
			return math.Abs(o.TextY-d.TextY) < 12 && o.TextX < d.TextX+width && d.TextX < o.TextX+letterWidth*float64(len(o.Text))
		}) {
			d.Text = ""
			continue
		}
		shown = append(shown, d)
	}
}

// roofs draws memory's slopes up to arithmetic's levels.
func (r *Roofline) roofs(c *Ceilings, x0, x1, y0 float64, atX, atY func(float64) float64) {
	level := math.Log10(c.most() / 1e9)
	for _, m := range []struct {
		name string
		rate float64
		down float64 // of the text
	}{{"cache", c.Cache, -8}, {"memory", c.Memory, 16}} {
		if m.rate <= 0 || c.F32 <= 0 {
			continue
		}
		slope := math.Log10(m.rate / 1e9) // at one operation for each byte
		from, to := max(x0, y0-slope), min(x1, level-slope)
		if from >= to {
			continue
		}
		r.Roofs = append(r.Roofs, Roof{
			Path: fmt.Sprintf("M%v %vL%v %v", atX(from), atY(slope+from), atX(to), atY(slope+to)),
			Text: fmt.Sprintf("%s %.3g GB/s", m.name, m.rate/1e9), X: atX(from) + 6, Y: px(atY(slope+from) + m.down),
		})
	}
	for _, a := range c.arithmetic() {
		if a.rate <= 0 {
			continue
		}
		v := math.Log10(a.rate / 1e9)
		from := x0
		if c.Cache > 0 {
			from = max(x0, v-math.Log10(c.Cache/1e9))
		}
		if from >= x1 {
			continue
		}
		r.Roofs = append(r.Roofs, Roof{
			Path: fmt.Sprintf("M%v %vL%v %v", atX(from), atY(v), atX(x1), atY(v)),
			Text: fmt.Sprintf("%s %.3g G/s", a.name, a.rate/1e9), X: chartRight - 130, Y: atY(v) - 5,
		})
	}
}

func power(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.6f", math.Pow(10, v)), "0"), ".")
}

// MemoryChart is what is live over time.
type MemoryChart struct {
	Frame
	Bars           []Bar
	XTicks, YTicks []Tick
	Most, MostAt   string
}

// MemoryChart lays the chart out; nil where there is nothing to show.
func (p *Page) MemoryChart() *MemoryChart {
	var total, most float64
	m := &MemoryChart{Frame: frame(memHeight, memBottom)}
	for _, s := range p.Memory.Steps {
		total += s.MS
		if float64(s.Live) > most {
			most, m.Most, m.MostAt = float64(s.Live), console.Bytes(s.Live), s.Name
		}
	}
	if total == 0 || most == 0 {
		return nil
	}
	at := 0.0
	for _, s := range p.Memory.Steps {
		h := float64(s.Live) / most * (memBottom - memTop)
		w := s.MS / total * (chartRight - chartLeft)
		m.Bars = append(m.Bars, Bar{
			X: px(chartLeft + at), Y: px(memBottom - h), W: px(max(w-0.3, 0.2)), H: px(h),
			Title: fmt.Sprintf("%s: %s live, %.3f ms", s.Name, console.Bytes(s.Live), s.MS),
		})
		at += w
	}
	for _, v := range steps125(most, 4) {
		y := memBottom - v/most*(memBottom-memTop)
		m.YTicks = append(m.YTicks, Tick{Y: px(y), TextY: px(y + 4), Text: console.Bytes(int64(v))})
	}
	for _, v := range steps125(total, 8) {
		m.XTicks = append(m.XTicks, Tick{X: px(chartLeft + v/total*(chartRight-chartLeft)), Text: fmt.Sprintf("%g ms", px(v))})
	}
	return m
}
