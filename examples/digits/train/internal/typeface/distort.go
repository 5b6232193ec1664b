package typeface

import (
	"math"
	"math/rand/v2"
)

// Distortion says how a picture of a digit differs from the plain glyph. Lengths are fractions of the picture's
// edge.
type Distortion struct {
	Height float64 // of the glyph
	Aspect float64 // factor on the glyph's width
	Angle  float64 // rotation, radians
	Shear  float64 // x moves by Shear*y
	Shift  Point   // of the centre

	// Wave bends the outline: each coordinate moves by up to Wave along one and a half periods of a sine over the
	// other coordinate.
	Wave         float64
	WavePhase    Point
	Paper, Ink   float64 // grey values of background and digit, 0 to 255
	Gradient     Point   // grey values by which the light changes across the picture
	Blur         float64 // standard deviation in pixels of the final picture
	Noise        float64 // standard deviation of the grey values
	Oversampling int     // the picture is drawn this many times larger and sampled down
}

// Plain is a centred, upright, black digit on white.
func Plain() Distortion {
	return Distortion{Height: 0.75, Aspect: 1, Paper: 255, Oversampling: 1}
}

// RandomDistortion draws the distortion of a training or test picture.
func RandomDistortion(rng *rand.Rand) Distortion {
	// between is uniform; around is uniform and centred on 0.
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	around := func(r float64) float64 { return between(-r, r) }
	d := Distortion{
		Height:       between(0.45, 0.92),
		Aspect:       between(0.75, 1.25),
		Angle:        around(15 * math.Pi / 180),
		Shear:        around(0.2),
		Wave:         between(0, 0.02),
		WavePhase:    Point{around(math.Pi), around(math.Pi)},
		Paper:        between(180, 255),
		Ink:          between(0, 100),
		Gradient:     Point{around(25), around(25)},
		Blur:         between(0, 1.1),
		Noise:        between(0, 20),
		Oversampling: 1 + rng.IntN(4),
	}
	// The smaller the digit, the further it may move.
	room := (1-d.Height)/2 + 0.02
	d.Shift = Point{around(room), around(room)}
	return d
}

// place returns the map from an outline's coordinates to those of a picture with the given edge in pixels.
func (d *Distortion) place(edge float64) func(Point) Point {
	sin, cos := math.Sincos(d.Angle)
	return func(p Point) Point {
		const bend = 1.5 * 2 * math.Pi
		x := p.X * d.Aspect
		y := p.Y
		x += d.Shear * y
		x, y = x+d.Wave*math.Sin(bend*y+d.WavePhase.X), y+d.Wave*math.Sin(bend*x+d.WavePhase.Y)
		x, y = cos*x-sin*y, sin*x+cos*y
		return Point{
			X: edge * (0.5 + d.Shift.X + d.Height*x),
			Y: edge * (0.5 + d.Shift.Y + d.Height*y),
		}
	}
}
