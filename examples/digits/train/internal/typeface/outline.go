package typeface

import (
	"fmt"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Point is a position; y grows downwards.
type Point struct{ X, Y float64 }

// segment is a piece of a contour: a move, a line, or a quadratic or cubic Bézier curve to its last point.
type segment struct {
	op   sfnt.SegmentOp
	args [3]Point
}

// points is how many of args a segment with the given op uses.
func points(op sfnt.SegmentOp) int {
	switch op {
	case sfnt.SegmentOpQuadTo:
		return 2
	case sfnt.SegmentOpCubeTo:
		return 3
	}
	return 1
}

// Outline is a glyph of height 1 centred on the origin. Its width is what the typeface makes of it.
type Outline struct{ segments []segment }

// digitOutlines reads the glyphs 0 to 9 of a font file.
func digitOutlines(file []byte) ([10]Outline, error) {
	var digits [10]Outline
	f, err := sfnt.Parse(file)
	if err != nil {
		return digits, fmt.Errorf("font: %w", err)
	}
	var buf sfnt.Buffer
	for d := range digits {
		glyph, err := f.GlyphIndex(&buf, rune('0'+d))
		if err != nil {
			return digits, fmt.Errorf("digit %d: %w", d, err)
		}
		if glyph == 0 {
			return digits, fmt.Errorf("digit %d: not in the font", d)
		}
		const ppem = 1000 // large, as coordinates come in 1/64 pixel
		segments, err := f.LoadGlyph(&buf, glyph, fixed.I(ppem), nil)
		if err != nil {
			return digits, fmt.Errorf("digit %d: %w", d, err)
		}
		digits[d] = normalize(segments)
		if len(digits[d].segments) == 0 {
			return digits, fmt.Errorf("digit %d: no outline", d)
		}
	}
	return digits, nil
}

func normalize(segments sfnt.Segments) Outline {
	lo := Point{math.Inf(1), math.Inf(1)}
	hi := Point{math.Inf(-1), math.Inf(-1)}
	out := make([]segment, len(segments))
	for i, s := range segments {
		out[i].op = s.Op
		for j := range points(s.Op) {
			p := Point{float64(s.Args[j].X), float64(s.Args[j].Y)}
			out[i].args[j] = p
			// Control points may lie outside the curve; for centring that is near enough.
			lo = Point{min(lo.X, p.X), min(lo.Y, p.Y)}
			hi = Point{max(hi.X, p.X), max(hi.Y, p.Y)}
		}
	}
	height := hi.Y - lo.Y
	if !(height > 0) {
		return Outline{}
	}
	for i := range out {
		for j := range out[i].args {
			p := &out[i].args[j]
			p.X = (p.X - (lo.X+hi.X)/2) / height
			p.Y = (p.Y - (lo.Y+hi.Y)/2) / height
		}
	}
	return Outline{segments: out}
}
