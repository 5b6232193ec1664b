package live

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/canvas"
	"github.com/nngpu/nngpu/driver/picture"
)

const (
	topLabels = 5   // classes that are shown
	rawBars   = 128 // bars at most
	leastSure = 0.5 // score of a box that is shown
	mostBoxes = 100 // boxes that are shown: what marks cost the device grows with their number
)

// panel draws the results that the host reads.
func (d *drawer) panel(s *slot) error {
	x := d.session
	var values [][]float32
	for _, i := range x.Kind.read() {
		v, err := d.labels[i].DecodeFloats(s.results[i])
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	switch x.Kind {
	case Labels:
		drawLabels(d.sheet, values[0], x.Labels)
	case Raw:
		drawBars(d.sheet, values[0])
	case Points:
		drawPoints(d.sheet, values[0], pointSize(d.labels[0].Dims), x.Picture.Width, x.Picture.Height)
	case Boxes:
		drawBoxes(d.sheet, values[0], values[1], values[2], x.Labels)
	}
	return nil
}

// drawLabels lists the classes of the highest scores, each over a bar as long as its score.
func drawLabels(sheet *canvas.Sheet, scores []float32, labels []string) {
	const top, left, step = 3, 2, 4 // in cells
	const full = canvas.Side - 2*left*canvas.CellWidth
	for i, c := range picture.Top(scores, labels, topLabels) {
		row := top + step*i
		sheet.Text(left, row, fmt.Sprintf("%-35.35s %6.3f", c, c.Score))
		y := float32((row + 1) * canvas.CellHeight)
		width := full * max(0, min(1, c.Score))
		sheet.Mark(canvas.Mark{Left: left * canvas.CellWidth, Top: y + 4, Right: left*canvas.CellWidth + width, Bottom: y + 12})
	}
}

// drawBars draws a bar for each value, or for the largest of those that share a bar, on a scale from the least to the
// largest of all.
func drawBars(sheet *canvas.Sheet, values []float32) {
	group := (len(values) + rawBars - 1) / rawBars
	var heights []float32
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for i := 0; i < len(values); i += group {
		most := float32(math.Inf(-1))
		for _, v := range values[i:min(i+group, len(values))] {
			if !math.IsNaN(float64(v)) {
				most = max(most, v)
			}
		}
		heights = append(heights, most)
		if !math.IsInf(float64(most), 0) {
			low, high = min(low, most), max(high, most)
		}
	}
	if low > high {
		sheet.Text(1, 1, "no finite values")
		return
	}
	sheet.Text(1, 1, fmt.Sprintf("%d values, %.4g to %.4g", len(values), low, high))
	const margin, top = 8, 48
	width := float32(canvas.Side-2*margin) / float32(len(heights))
	for i, v := range heights {
		part := float32(1)
		if high > low {
			part = max(0, min(1, (v-low)/(high-low)))
		}
		x, bottom := margin+float32(i)*width, float32(canvas.Side-margin)
		sheet.Mark(canvas.Mark{Left: x, Top: bottom - 1 - part*(canvas.Side-margin-top), Right: x + 0.8*width, Bottom: bottom})
	}
}

// normalised is the largest coordinate that is taken for a part of the picture; larger ones are pixels of the network's
// input.
const normalised = 2

// drawPoints marks points of size numbers each, the first two being x and y.
func drawPoints(sheet *canvas.Sheet, values []float32, size, width, height int) {
	pixels := false
	for i := 0; i+1 < len(values); i += size {
		pixels = pixels || max(values[i], values[i+1]) > normalised
	}
	scaleX, scaleY := float32(canvas.Side), float32(canvas.Side)
	if pixels {
		scaleX, scaleY = scaleX/float32(width), scaleY/float32(height)
	}
	const radius = 1.25
	for i := 0; i+1 < len(values); i += size {
		x, y := values[i]*scaleX, values[i+1]*scaleY
		if within(x) && within(y) {
			sheet.Mark(canvas.Mark{Left: x - radius, Top: y - radius, Right: x + radius, Bottom: y + radius})
		}
	}
}

// within is whether a coordinate is on the panel, and so a number.
func within(v float32) bool { return v >= 0 && v <= canvas.Side }

// drawBoxes frames boxes [top left bottom right], as parts of the picture, whose score is high enough.
func drawBoxes(sheet *canvas.Sheet, boxes, classes, scores []float32, labels []string) {
	for i, score := range scores {
		if !(score >= leastSure) {
			continue
		}
		edge := func(k int) float32 { return max(0, min(canvas.Side, boxes[4*i+k]*canvas.Side)) }
		m := canvas.Mark{Left: edge(1), Top: edge(0), Right: edge(3), Bottom: edge(2)}
		if !(m.Right > m.Left && m.Bottom > m.Top) {
			continue
		}
		if !sheet.Frame(m, 2) {
			return
		}
		class := picture.Class{Index: -1}
		if c := classes[i]; c >= 0 && c < 1e6 {
			class.Index = int(c)
		}
		if class.Index >= 0 && class.Index < len(labels) {
			class.Label = labels[class.Index]
		}
		// In the cell below the upper edge that is nearest.
		sheet.Text(int(m.Left)/canvas.CellWidth+1, (int(m.Top)+canvas.CellHeight-1)/canvas.CellHeight, fmt.Sprintf("%.24s %.0f%%", class, 100*score))
	}
}
