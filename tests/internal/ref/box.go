package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpAxisAlignedBboxTransform, kernel{inputs: []int{4}, run: func(c *call) *Tensor {
		return TransformBoxes(c.in[0], c.in[1], c.ints(2), c.in[3], c.out)
	}})
	register(nn.OpHeatmapMaxKeypoint, kernel{inputs: []int{3}, runs: func(c *call) []*Tensor {
		scores, places := Keypoints(c.in[0], c.in[1], c.flag(2), c.out)
		return []*Tensor{scores, places}
	}})
}

// Box is one in pixels.
type Box struct{ X1, Y1, X2, Y2 float64 }

// boxAt is the one that begins at element i of t.
func boxAt(t *Tensor, i int) Box { return Box{t.real(i), t.real(i + 1), t.real(i + 2), t.real(i + 3)} }

// moved is b after deltas dx, dy, dw, dh, cut at the edges of an image.
func (b Box) moved(d [4]float64, height, width float64) Box {
	w, h := b.X2-b.X1, b.Y2-b.Y1
	x, y := b.X1+w/2+d[0]*w, b.Y1+h/2+d[1]*h
	w, h = w*math.Exp(d[2]), h*math.Exp(d[3])
	cut := func(v, most float64) float64 { return max(min(v, most), 0) }
	return Box{cut(x-w/2, width), cut(y-h/2, height), cut(x+w/2, width), cut(y+h/2, height)}
}

// store is x as an element of format f.
func (f Format) store(x float64) float64 {
	if f.quantised() {
		return f.quantise(x)
	}
	return f.round(x)
}

// TransformBoxes moves each of boxes [R, 4] by its deltas for each class, [R, 4*C], and cuts it at the edges of its image, of
// which sizes, [N, 2], has height and width.
func TransformBoxes(boxes, deltas *Tensor, images []int, sizes *Tensor, out Format) *Tensor {
	if len(boxes.Shape) != 2 || boxes.Shape[1] != 4 || len(deltas.Shape) != 2 || deltas.Shape[0] != boxes.Shape[0] || deltas.Shape[1]%4 != 0 ||
		len(images) != boxes.Shape[0] || len(sizes.Shape) != 2 || sizes.Shape[1] != 2 {
		refuse("boxes %v, deltas %v, images %d, sizes %v", boxes.Shape, deltas.Shape, len(images), sizes.Shape)
	}
	y := New(out, deltas.Shape...)
	for i := 0; i < len(y.V); i += 4 {
		r := i / deltas.Shape[1]
		n := min(max(images[r], 0), sizes.Shape[0]-1)
		d := [4]float64{deltas.real(i), deltas.real(i + 1), deltas.real(i + 2), deltas.real(i + 3)}
		b := boxAt(boxes, 4*r).moved(d, sizes.real(2*n), sizes.real(2*n+1))
		for k, v := range []float64{b.X1, b.Y1, b.X2, b.Y2} {
			y.V[i+k] = out.store(v)
		}
	}
	return y
}

// Keypoints finds in each channel of heatmaps [R, s, s, K] the largest element, and where in the box, of [R, 4], the quadratic
// through it and its neighbours has its extremum, at most one and a half elements off, and what it is there.
func Keypoints(heatmaps, boxes *Tensor, nchw bool, out Format) (scores, places *Tensor) {
	x := toNHWC(heatmaps, nchw)
	r, s, k := x.Shape[0], x.Shape[1], x.Shape[3]
	if s != x.Shape[2] || s < 2 || len(boxes.V) != 4*r {
		refuse("heatmaps %v of boxes %v", x.Shape, boxes.Shape)
	}
	scores = New(out, r, k)
	to := boxes.Format()
	places = New(to, r, k, 2)
	mirror := func(i int) int {
		if i < 0 {
			return 1
		}
		if i >= s {
			return s - 2
		}
		return i
	}
	for i := range scores.V {
		at := func(row, column int) float64 { return x.real(((i/k*s+mirror(row))*s+mirror(column))*k + i%k) }
		row, column := 0, 0
		for p := range s * s {
			if at(p/s, p%s) > at(row, column) {
				row, column = p/s, p%s
			}
		}
		f := func(dx, dy int) float64 { return at(row+dy, column+dx) }
		fx, fy := (f(1, 0)-f(-1, 0))/2, (f(0, 1)-f(0, -1))/2
		fxx, fyy := f(1, 0)-2*f(0, 0)+f(-1, 0), f(0, 1)-2*f(0, 0)+f(0, -1)
		fxy := (f(1, 1) - f(-1, 1) - f(1, -1) + f(-1, -1)) / 4
		var dx, dy float64
		// The tolerances are those of the HAL's reference implementation.
		if det := fxx*fyy - fxy*fxy; math.Abs(det) >= 1e-5+1e-5*fxx*fyy {
			dx, dy = (fxy*fy-fyy*fx)/det, (fxy*fx-fxx*fy)/det
			if far := max(math.Abs(dx), math.Abs(dy)); far > 1.5 {
				dx, dy = dx*1.5/far, dy*1.5/far
			}
		}
		scores.V[i] = out.store(f(0, 0) + fx*dx + fy*dy + (fxx*dx*dx+2*fxy*dx*dy+fyy*dy*dy)/2)
		b := boxAt(boxes, i/k*4)
		places.V[2*i] = to.store(b.X1 + (float64(column)+dx+0.5)/float64(s)*(b.X2-b.X1))
		places.V[2*i+1] = to.store(b.Y1 + (float64(row)+dy+0.5)/float64(s)*(b.Y2-b.Y1))
	}
	return scores, places
}
