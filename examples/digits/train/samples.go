package main

import (
	"fmt"
	"image"
	"io"
	"math"
	"math/rand/v2"

	"golang.org/x/image/draw"

	"github.com/nngpu/nngpu/examples/digits/train/internal/convnet"
	"github.com/nngpu/nngpu/examples/digits/train/internal/quantize"
	"github.com/nngpu/nngpu/examples/digits/train/internal/typeface"
)

// sampleEdge is larger than the network's input, so that whoever feeds the samples has to resize them.
const sampleEdge = 96

// samplePicture draws a digit from a typeface held back, slightly turned.
func samplePicture(faces []typeface.Family, digit int) *image.Gray {
	styles := faces[digit%len(faces)].Styles
	d := typeface.Plain()
	d.Height = 0.7
	d.Angle = float64(digit%5-2) * 3 * math.Pi / 180
	d.Shift = typeface.Point{X: float64(digit%3-1) * 0.04, Y: float64(digit%4-1) * 0.02}
	d.Paper, d.Ink = 240, 30
	d.Blur, d.Noise = 0.8, 4
	rng := rand.New(rand.NewPCG(uint64(digit), 0))
	return typeface.Draw(styles[digit%len(styles)][digit], d, sampleEdge, rng)
}

// reportSamples prints how many of the sample pictures are read rightly. They are resized in two ways, as programs
// differ in it: taking the mean of what a new pixel covers, and interpolating between the nearest pixels only.
func reportSamples(log io.Writer, net *convnet.Network, q *quantize.Network, faces []typeface.Family) {
	for _, way := range []struct {
		name   string
		scaler draw.Interpolator
	}{{"area", draw.BiLinear}, {"bilinear", draw.ApproxBiLinear}} {
		var list []convnet.Sample
		for digit := range 10 {
			small := image.NewGray(image.Rect(0, 0, typeface.Edge, typeface.Edge))
			large := samplePicture(faces, digit)
			way.scaler.Scale(small, small.Rect, large, large.Rect, draw.Src, nil)
			list = append(list, sample(typeface.Picture{Digit: digit, Pix: small.Pix}))
		}
		float, integer := 0, 0
		for i, class := range convnet.Predict(net, list) {
			float += count(class == i)
		}
		for i, class := range quantize.Predict(q, list) {
			integer += count(class == i)
		}
		fmt.Fprintf(log, "samples, %s resizing: %d of 10 right in float, %d in int8\n", way.name, float, integer)
	}
}
