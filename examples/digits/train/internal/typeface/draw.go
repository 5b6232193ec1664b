package typeface

import (
	"image"
	"math"
	"math/rand/v2"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/vector"
)

// Draw returns a square picture of o, edge pixels wide. rng supplies the noise and is not used without any.
func Draw(o Outline, d Distortion, edge int, rng *rand.Rand) *image.Gray {
	coverage := resample(rasterize(o, &d, edge*d.Oversampling), edge, d.Oversampling)
	blur(coverage, edge, d.Blur)
	img := image.NewGray(image.Rect(0, 0, edge, edge))
	for i, c := range coverage {
		x := (float64(i%edge)+0.5)/float64(edge) - 0.5
		y := (float64(i/edge)+0.5)/float64(edge) - 0.5
		v := d.Paper + (d.Ink-d.Paper)*float64(c) + d.Gradient.X*x + d.Gradient.Y*y
		if d.Noise > 0 {
			v += d.Noise * rng.NormFloat64()
		}
		img.Pix[i] = uint8(math.Round(min(max(v, 0), 255)))
	}
	return img
}

// rasterize returns how much of each pixel the outline covers, 0 to 1.
func rasterize(o Outline, d *Distortion, edge int) []float32 {
	place := d.place(float64(edge))
	r := vector.NewRasterizer(edge, edge)
	for i, s := range o.segments {
		var a [3][2]float32
		for j, p := range s.args[:points(s.op)] {
			q := place(p)
			a[j] = [2]float32{float32(q.X), float32(q.Y)}
		}
		switch s.op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				r.ClosePath()
			}
			r.MoveTo(a[0][0], a[0][1])
		case sfnt.SegmentOpLineTo:
			r.LineTo(a[0][0], a[0][1])
		case sfnt.SegmentOpQuadTo:
			r.QuadTo(a[0][0], a[0][1], a[1][0], a[1][1])
		case sfnt.SegmentOpCubeTo:
			r.CubeTo(a[0][0], a[0][1], a[1][0], a[1][1], a[2][0], a[2][1])
		}
	}
	r.ClosePath()
	mask := image.NewAlpha(image.Rect(0, 0, edge, edge))
	r.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	coverage := make([]float32, edge*edge)
	for i, v := range mask.Pix {
		coverage[i] = float32(v) / 255
	}
	return coverage
}

// resample shrinks a square picture factor times as wide as edge by bilinear interpolation at the centres of the
// new pixels. It leaves samples out on purpose: tools that feed pictures to networks often resize that way.
func resample(in []float32, edge, factor int) []float32 {
	if factor == 1 {
		return in
	}
	wide := edge * factor
	out := make([]float32, edge*edge)
	// The centre lies on a sample for an odd factor, between two for an even one.
	step := 1 - factor%2
	for y := range edge {
		for x := range edge {
			top := (y*factor+(factor-1)/2)*wide + x*factor + (factor-1)/2
			bottom := top + step*wide
			out[y*edge+x] = (in[top] + in[top+step] + in[bottom] + in[bottom+step]) / 4
		}
	}
	return out
}

// blur convolves with a Gaussian of standard deviation sigma pixels, first along rows, then along columns. Outside
// the picture there is paper.
func blur(pix []float32, edge int, sigma float64) {
	if sigma < 0.05 {
		return
	}
	radius := int(math.Ceil(3 * sigma))
	kernel := make([]float32, 2*radius+1)
	sum := 0.0
	for i := range kernel {
		x := float64(i - radius)
		v := math.Exp(-x * x / (2 * sigma * sigma))
		kernel[i] = float32(v)
		sum += v
	}
	for i := range kernel {
		kernel[i] /= float32(sum)
	}
	line := make([]float32, edge)
	pass := func(start, stride int) {
		for i := range line {
			line[i] = 0
			for k, w := range kernel {
				if j := i + k - radius; j >= 0 && j < edge {
					line[i] += w * pix[start+j*stride]
				}
			}
		}
		for i, v := range line {
			pix[start+i*stride] = v
		}
	}
	for i := range edge {
		pass(i*edge, 1)
	}
	for i := range edge {
		pass(i, edge)
	}
}
