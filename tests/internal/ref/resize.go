package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpResizeBilinear, kernel{inputs: []int{3, 4, 5, 6}, run: func(c *call) *Tensor {
		return ResizeBilinear(c.in[0], c.resizeParams(), c.out)
	}})
	register(nn.OpResizeNearestNeighbor, kernel{inputs: []int{4, 5, 6}, run: func(c *call) *Tensor {
		return ResizeNearestNeighbor(c.in[0], c.resizeParams(), c.out)
	}})
}

// ResizeParams are the parameters of the resize operations.
type ResizeParams struct {
	OutH, OutW   int
	NCHW         bool
	AlignCorners bool // corner pixels map to corner pixels
	HalfPixel    bool // pixel centres lie at +0.5
}

// ScaledSize is the output size of a resize that is given a factor: floor(size * factor) in float32.
func ScaledSize(size int, factor float64) int {
	return int(math.Floor(float64(float32(size) * float32(factor))))
}

// resizeScale is how far the input advances per output element, in float32 as TFLite has it, because
// nearest-neighbour decisions depend on its rounding.
func resizeScale(in, out int, alignCorners bool) float32 {
	if alignCorners && out > 1 {
		return float32(in-1) / float32(out-1)
	}
	return float32(in) / float32(out)
}

// prepareResize checks what both resizes share and returns input (NHWC) and output.
func prepareResize(x *Tensor, p ResizeParams, out Format) (nhwc, y *Tensor) {
	if len(x.Shape) != 4 || x.Format() != out {
		refuse("%v%v to %v: rank must be 4, formats equal", x.Format(), x.Shape, out)
	}
	if p.AlignCorners && p.HalfPixel {
		refuse("align corners and half pixel centres exclude each other")
	}
	if p.OutH < 1 || p.OutW < 1 {
		refuse("output size %dx%d", p.OutH, p.OutW)
	}
	nhwc = toNHWC(x, p.NCHW)
	if nhwc.Shape[1] == 0 || nhwc.Shape[2] == 0 {
		refuse("nothing to resize in %v", x.Shape)
	}
	return nhwc, New(out, nhwc.Shape[0], p.OutH, p.OutW, nhwc.Shape[3])
}

// ResizeNearestNeighbor takes the input pixel at floor((i + half) * scale), rounded instead of floored
// with AlignCorners.
func ResizeNearestNeighbor(x *Tensor, p ResizeParams, out Format) *Tensor {
	x, y := prepareResize(x, p, out)
	source := func(i, in, out int) int {
		var offset float32
		if p.HalfPixel {
			offset = 0.5
		}
		at := float64((float32(i) + offset) * resizeScale(in, out, p.AlignCorners))
		if p.AlignCorners {
			return min(int(math.Round(at)), in-1)
		}
		return max(min(int(math.Floor(at)), in-1), 0)
	}
	forEach(y.Shape, func(i int, at []int) {
		iy, ix := source(at[1], x.Shape[1], p.OutH), source(at[2], x.Shape[2], p.OutW)
		y.V[i] = x.V[((at[0]*x.Shape[1]+iy)*x.Shape[2]+ix)*x.Shape[3]+at[3]]
	})
	return fromNHWC(y, p.NCHW)
}

// sample says how one output coordinate mixes two input elements: (1-w)*lo + w*hi.
type sample struct {
	lo, hi int
	w      float64
}

// ResizeBilinear interpolates linearly in both directions. 8-bit results are rounded half up.
func ResizeBilinear(x *Tensor, p ResizeParams, out Format) *Tensor {
	x, y := prepareResize(x, p, out)
	source := func(i, in, out int) sample {
		scale := resizeScale(in, out, p.AlignCorners)
		at := float32(i) * scale
		if p.HalfPixel {
			half := (float32(i) + 0.5) * scale
			at = half - 0.5
		}
		lo := max(int(math.Floor(float64(at))), 0)
		hi := min(int(math.Ceil(float64(at))), in-1)
		return sample{min(lo, in-1), max(hi, 0), float64(at) - float64(lo)}
	}
	forEach(y.Shape, func(i int, at []int) {
		sy, sx := source(at[1], x.Shape[1], p.OutH), source(at[2], x.Shape[2], p.OutW)
		pixel := func(iy, ix int) float64 {
			return x.V[((at[0]*x.Shape[1]+iy)*x.Shape[2]+ix)*x.Shape[3]+at[3]]
		}
		top := (1-sx.w)*pixel(sy.lo, sx.lo) + sx.w*pixel(sy.lo, sx.hi)
		bottom := (1-sx.w)*pixel(sy.hi, sx.lo) + sx.w*pixel(sy.hi, sx.hi)
		v := (1-sy.w)*top + sy.w*bottom
		if out.quantised() {
			v = math.Floor(v + 0.5)
		}
		y.V[i] = out.round(v)
	})
	return fromNHWC(y, p.NCHW)
}

// resizeParams reads all inputs but the first of a resize: sizes or, where they are floats, factors.
func (c *call) resizeParams() ResizeParams {
	p := ResizeParams{NCHW: c.flag(3), AlignCorners: c.flag(4), HalfPixel: c.flag(5)}
	if c.in[1].Type == nn.Int32 {
		p.OutW, p.OutH = c.int(1), c.int(2)
		return p
	}
	x := c.in[0]
	if len(x.Shape) != 4 {
		refuseInput(0, "rank %d", len(x.Shape))
		return p
	}
	h, w := x.Shape[1], x.Shape[2]
	if p.NCHW {
		h, w = x.Shape[2], x.Shape[3]
	}
	p.OutW, p.OutH = ScaledSize(w, c.real(1)), ScaledSize(h, c.real(2))
	return p
}
