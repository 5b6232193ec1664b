package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpGroupedConv2D, kernel{inputs: []int{9, 12}, run: groupedConv2D})
	register(nn.OpTransposeConv2D, kernel{inputs: []int{9, 11}, run: transposeConv2D})
}

// GroupedConv2D convolves each of so many groups of channels of x [N,H,W,Ci] with its part of filter [Co,Kh,Kw,Ci/groups].
func GroupedConv2D(x, filter, bias *Tensor, groups int, p ConvParams, out Format, ar Arithmetic) *Tensor {
	if len(x.Shape) != 4 || len(filter.Shape) != 4 {
		refuse("input %v and filter %v must have rank 4", x.Shape, filter.Shape)
	}
	x = toNHWC(x, p.NCHW)
	ci, of, co := x.Shape[3], filter.Shape[3], filter.Shape[0]
	if groups < 1 || of*groups != ci || co%groups != 0 {
		refuse("filter %v for %d input channels in %d groups", filter.Shape, ci, groups)
	}
	finish := finisher(x, filter, bias, co, 0, p.Activation, out, ar)
	return convolve(x, filter, co, p, out, func(at convTaps, o int) float64 {
		sum, group := 0.0, o/(co/groups)
		for _, tap := range at.taps {
			for c := range of {
				sum += (x.V[tap.pixel*ci+group*of+c] - at.xz) * (filter.V[(o*at.kernel+tap.weight)*of+c] - at.wz)
			}
		}
		return finish(sum, o)
	})
}

func groupedConv2D(c *call) *Tensor {
	var p ConvParams
	w, i := c.window(3, len(c.in) == 12)
	groups := c.int(i)
	p.Window, p.Activation, p.NCHW = w, c.activation(i+1), c.flag(i+2)
	return GroupedConv2D(c.in[0], c.in[1], c.in[2], groups, p, c.out, c.ar)
}

// TransposeConv2D adds to the output, [H,W] pixels, at i*stride+k-pad the product of pixel i of x [N,H,W,Ci] with element k of
// filter [Co,Kh,Kw,Ci], where that is within.
func TransposeConv2D(x, filter, bias *Tensor, h, w int, p ConvParams, out Format, ar Arithmetic) *Tensor {
	if len(x.Shape) != 4 || len(filter.Shape) != 4 {
		refuse("input %v and filter %v must have rank 4", x.Shape, filter.Shape)
	}
	x = toNHWC(x, p.NCHW)
	if filter.Shape[3] != x.Shape[3] {
		refuse("filter %v for %d input channels", filter.Shape, x.Shape[3])
	}
	ci, co, kh, kw := x.Shape[3], filter.Shape[0], filter.Shape[1], filter.Shape[2]
	finish := finisher(x, filter, bias, co, 0, p.Activation, out, ar)
	y := New(out, x.Shape[0], h, w, co)
	sums := make([]float64, len(y.V))
	xz, wz := zeroOf(x), zeroOf(filter)
	for pixel := range len(x.V) / max(ci, 1) {
		n, iy, ix := pixel/x.Shape[2]/x.Shape[1], pixel/x.Shape[2]%x.Shape[1], pixel%x.Shape[2]
		for tap := range kh * kw {
			oy, ox := iy*p.StrideH+tap/kw-p.PadTop, ix*p.StrideW+tap%kw-p.PadLeft
			if oy < 0 || oy >= h || ox < 0 || ox >= w {
				continue
			}
			for o := range co {
				for c := range ci {
					sums[((n*h+oy)*w+ox)*co+o] += (x.V[pixel*ci+c] - xz) * (filter.V[(o*kh*kw+tap)*ci+c] - wz)
				}
			}
		}
	}
	for i, sum := range sums {
		y.V[i] = finish(sum, i%co)
	}
	return fromNHWC(y, p.NCHW)
}

func transposeConv2D(c *call) *Tensor {
	var p ConvParams
	explicit := len(c.in) == 11
	at := 3
	if !explicit {
		at = 4
	}
	w, i := c.window(at, explicit)
	p.Window, p.Activation, p.NCHW = w, c.activation(i), c.flag(i+1)
	x, filter := c.in[0].Shape, c.in[1].Shape
	if len(x) != 4 || len(filter) != 4 {
		refuse("input %v and filter %v must have rank 4", x, filter)
	}
	plane := x[1:3]
	if p.NCHW {
		plane = x[2:4]
	}
	height := (plane[0]-1)*p.StrideH + filter[1] - p.PadTop - p.PadBottom
	width := (plane[1]-1)*p.StrideW + filter[2] - p.PadLeft - p.PadRight
	if !explicit {
		shape := c.ints(3)
		if len(shape) != 4 {
			refuse("output shape %v", shape)
		}
		height, width = shape[1], shape[2]
		if p.NCHW {
			height, width = shape[2], shape[3]
		}
		y := resolve(height, filter[1], p.StrideH, 1, p.Scheme, 0, 0)
		z := resolve(width, filter[2], p.StrideW, 1, p.Scheme, 0, 0)
		p.PadTop, p.PadLeft = y.pad, z.pad
	}
	if height < 1 || width < 1 {
		refuse("an output of %d by %d", height, width)
	}
	return TransposeConv2D(c.in[0], c.in[1], c.in[2], height, width, p, c.out, c.ar)
}
