package against

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// percentilesOf are the quantiles at which latencies are plotted: closer together towards 1, and no nearer to it
// than one of n executions.
func percentilesOf(n int) []float64 {
	const perDecade = 20
	var list []float64
	for i := 0; ; i++ {
		tail := math.Pow(10, -float64(i)/perDecade) // the share of executions that take longer
		if tail*float64(n) < 1 {
			return list
		}
		list = append(list, 1-tail)
	}
}

// plotCase is a curve.
type plotCase struct {
	name  string
	c     *Case
	color color.Color
}

// Colours that people with any colour vision can tell apart (Okabe and Ito).
var (
	green  = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	blue   = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	grey   = color.RGBA{0x77, 0x77, 0x77, 0xff}
)

const (
	plotWidth  = 7 * vg.Inch
	plotHeight = 4.5 * vg.Inch
)

// ErrNothing is that of a plot without a curve.
var ErrNothing = errors.New("there is nothing to plot: no execution ended in time")

// Plot writes an SVG picture: the latency that a share of the executions does not exceed, for each case. The
// latency is logarithmic, and so is the share that takes longer. deadline is in milliseconds, 0 for none.
func (r *Result) Plot(w io.Writer, deadline float64) error {
	p := plot.New()
	p.Title.Text = console.Clean(r.Title()) // from file names; the library escapes what is markup
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text = "share of executions (%)"
	p.Y.Label.Text = "latency at most (ms)"
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)

	cases := []plotCase{{"no preemption", &r.NoPreempt, orange}, {"loaded", &r.Loaded, blue}, {"alone", &r.Alone, green}}
	box := plotBox{low: math.Inf(1)}
	for i := range cases {
		line := cases[i].line(&box)
		if line == nil {
			continue
		}
		p.Add(line)
		p.Legend.Add(cases[i].name, line)
	}
	if box.high == 0 {
		return ErrNothing
	}
	if deadline > 0 {
		box.level(p, fmt.Sprintf("deadline, %g ms", deadline), deadline, nil)
	}
	if r.Alone.P99 > 0 {
		level := r.Alone.P99 + 3*r.SegmentBound
		box.level(p, "p99 alone + 3 segments", level, []vg.Length{vg.Points(4), vg.Points(3)})
	}
	p.X.Min, p.X.Max = 0, max(box.decades, 2)
	p.X.Tick.Marker = plot.ConstantTicks(percentTicks(p.X.Max))
	p.Y.Scale = plot.LogScale{}
	// The legend has the upper part to itself.
	p.Y.Min = box.low / 1.5
	p.Y.Max = box.high * math.Pow(box.high/p.Y.Min, 0.4)
	p.Y.Tick.Marker = plot.TickerFunc(millisecondTicks)

	c := vgsvg.NewWith(vgsvg.UseWH(plotWidth, plotHeight))
	// Room for the title and for the last number.
	p.Draw(draw.Crop(draw.New(c), vg.Points(6), -vg.Points(16), vg.Points(6), -vg.Points(8)))
	_, err := c.WriteTo(w)
	return err
}

// plotBox is the range of what is drawn.
type plotBox struct {
	low, high float64 // milliseconds
	decades   float64 // of the share that takes longer
}

func (b *plotBox) include(ms float64) { b.low, b.high = min(b.low, ms), max(b.high, ms) }

// line is the curve of a case; nil where there is none.
func (c *plotCase) line(box *plotBox) *plotter.Line {
	var points plotter.XYs
	for i, q := range percentilesOf(c.c.Runs) {
		ms := c.c.percentiles[i]
		if ms <= 0 {
			continue // has no logarithm
		}
		x := -math.Log10(1 - q)
		points = append(points, plotter.XY{X: x, Y: ms})
		box.include(ms)
		box.decades = max(box.decades, x)
	}
	if len(points) == 0 {
		return nil
	}
	if c.c.Max > 0 { // the slowest, at the end of the curve
		points = append(points, plotter.XY{X: points[len(points)-1].X, Y: c.c.Max})
		box.include(c.c.Max)
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		panic(err) // finite numbers, at least two
	}
	line.Color, line.Width = c.color, vg.Points(2)
	return line
}

// level draws a horizontal line.
func (b *plotBox) level(p *plot.Plot, name string, ms float64, dashes []vg.Length) {
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: ms}, {X: max(b.decades, 2), Y: ms}})
	if err != nil {
		panic(err) // finite numbers
	}
	line.Color, line.Width, line.Dashes = grey, vg.Points(1), dashes
	p.Add(line)
	p.Legend.Add(name, line)
	b.include(ms)
}

// percentTicks marks 0, 50, 90, 99, 99.9 and so on, up to a number of decades.
func percentTicks(decades float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}, {Value: -math.Log10(0.5), Label: "50"}}
	for d := 1.0; d <= decades+1e-9; d++ {
		ticks = append(ticks, plot.Tick{Value: d, Label: fmt.Sprintf("%.*f", max(0, int(d)-2), 100*(1-math.Pow(10, -d)))})
	}
	return ticks
}

// millisecondTicks marks 1, 2 and 5 times the powers of ten, with numbers, and those between without.
func millisecondTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for digit := 1; digit < 10; digit++ {
			tick := plot.Tick{Value: float64(digit) * math.Pow(10, power)}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = fmt.Sprintf("%.*f", max(0, int(-power)), tick.Value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
