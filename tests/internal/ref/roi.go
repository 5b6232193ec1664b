package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	roi := func(c *call) RoiParams {
		return RoiParams{OutH: c.int(3), OutW: c.int(4), RatioH: c.real(5), RatioW: c.real(6)}
	}
	register(nn.OpRoiAlign, kernel{inputs: []int{10}, run: func(c *call) *Tensor {
		p := roi(c)
		p.NCHW = c.flag(9)
		return RoiAlign(c.in[0], c.in[1], c.ints(2), p, c.int(7), c.int(8), c.out)
	}})
	register(nn.OpRoiPooling, kernel{inputs: []int{8}, run: func(c *call) *Tensor {
		p := roi(c)
		p.NCHW = c.flag(7)
		return RoiPooling(c.in[0], c.in[1], c.ints(2), p, c.out)
	}})
}

// RoiParams are the parameters of the operations on regions of images.
type RoiParams struct {
	OutH, OutW     int
	RatioH, RatioW float64 // of the image that boxes are in to the input
	NCHW           bool
}

// regions calls f for every cell of every box, with the pixels of its channel ch, [H, W]; f returns its real value.
func regions(x, boxes *Tensor, images []int, p RoiParams, out Format, f func(pixel func(row, column int) float64, b Box, row, column int) float64) *Tensor {
	nhwc := toNHWC(x, p.NCHW)
	if len(boxes.Shape) != 2 || boxes.Shape[1] != 4 || len(images) != boxes.Shape[0] || min(p.OutH, p.OutW) < 1 || !(min(p.RatioH, p.RatioW) > 0) {
		refuse("boxes %v in %d images, %+v", boxes.Shape, len(images), p)
	}
	s := nhwc.Shape
	y := New(out, boxes.Shape[0], p.OutH, p.OutW, s[3])
	forEach(y.Shape, func(i int, at []int) {
		n := min(max(images[at[0]], 0), s[0]-1)
		b := boxAt(boxes, 4*at[0])
		b = Box{b.X1 / p.RatioW, b.Y1 / p.RatioH, b.X2 / p.RatioW, b.Y2 / p.RatioH}
		pixel := func(row, column int) float64 { return nhwc.real(((n*s[1]+row)*s[2]+column)*s[3] + at[3]) }
		y.V[i] = out.store(f(pixel, b, at[1], at[2]))
	})
	return fromNHWC(y, p.NCHW)
}

func imageSize(x *Tensor, nchw bool) (h, w int) {
	if len(x.Shape) != 4 {
		return 0, 0
	}
	if nchw {
		return x.Shape[2], x.Shape[3]
	}
	return x.Shape[1], x.Shape[2]
}

// RoiAlign is for each cell of a box the mean of samplesH by samplesW places, or of as many as it has pixels, rounded up,
// where these are 0. What is more than a pixel outside of the image is 0.
func RoiAlign(x, boxes *Tensor, images []int, p RoiParams, samplesH, samplesW int, out Format) *Tensor {
	h, w := imageSize(x, p.NCHW)
	return regions(x, boxes, images, p, out, func(pixel func(row, column int) float64, b Box, row, column int) float64 {
		// The number of samples hangs on float32.
		height, width := max(float32(b.Y2)-float32(b.Y1), 1)/float32(p.OutH), max(float32(b.X2)-float32(b.X1), 1)/float32(p.OutW)
		nh, nw := samplesH, samplesW
		if nh == 0 {
			nh = int(math.Ceil(float64(height)))
		}
		if nw == 0 {
			nw = int(math.Ceil(float64(width)))
		}
		sum := 0.0
		for i := range nh {
			for j := range nw {
				v := b.Y1 + float64(height)*(float64(row)+(float64(i)+0.5)/float64(nh))
				u := b.X1 + float64(width)*(float64(column)+(float64(j)+0.5)/float64(nw))
				if v < -1 || v > float64(h) || u < -1 || u > float64(w) {
					continue
				}
				v, u = min(max(v, 0), float64(h-1)), min(max(u, 0), float64(w-1))
				y0, x0 := int(v), int(u)
				y1, x1 := min(y0+1, h-1), min(x0+1, w-1)
				wy, wx := v-float64(y0), u-float64(x0)
				sum += (1-wy)*((1-wx)*pixel(y0, x0)+wx*pixel(y0, x1)) + wy*((1-wx)*pixel(y1, x0)+wx*pixel(y1, x1))
			}
		}
		return sum / float64(nh*nw)
	})
}

// RoiPooling is for each cell of a box, which begins and ends with whole pixels, the largest of its pixels; 0 without any.
func RoiPooling(x, boxes *Tensor, images []int, p RoiParams, out Format) *Tensor {
	h, w := imageSize(x, p.NCHW)
	return regions(x, boxes, images, p, out, func(pixel func(row, column int) float64, b Box, row, column int) float64 {
		// Which pixels a cell has hangs on float32.
		along := func(lo, hi float64, cells, cell, size int) (from, to int) {
			first := float32(math.Round(float64(float32(lo))))
			step := max(float32(math.Round(float64(float32(hi))))-first+1, 1) / float32(cells)
			from = int(math.Floor(float64(step*float32(cell) + first)))
			to = int(math.Ceil(float64(step*float32(cell+1) + first)))
			return min(max(from, 0), size), min(max(to, 0), size)
		}
		top, bottom := along(b.Y1, b.Y2, p.OutH, row, h)
		left, right := along(b.X1, b.X2, p.OutW, column, w)
		if top >= bottom || left >= right {
			return 0
		}
		most := math.Inf(-1)
		for i := top; i < bottom; i++ {
			for j := left; j < right; j++ {
				most = max(most, pixel(i, j))
			}
		}
		return most
	})
}
