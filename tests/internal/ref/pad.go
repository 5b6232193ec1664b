package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpPad, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Pad(c.in[0], c.pads(1)) }})
	register(nn.OpPadV2, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		value := c.scalar(2, nn.Int32, nn.Float32, nn.Float16)
		return PadWith(c.in[0], c.pads(1), value)
	}})
	register(nn.OpMirrorPad, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return MirrorPad(c.in[0], c.pads(1), c.int(2))
	}})
}

// PadWith surrounds x with value (stored): pads[d] are the counts before and after dimension d.
func PadWith(x *Tensor, pads [][2]int, value float64) *Tensor {
	return pad(x, pads, func(at, size int) int {
		if at < 0 || at >= size {
			return -1
		}
		return at
	}, value)
}

// Pad surrounds x with zeros: the zero point where x is quantised.
func Pad(x *Tensor, pads [][2]int) *Tensor { return PadWith(x, pads, zeroOf(x)) }

// Mirror pad modes.
const (
	MirrorReflect   = 0 // without the border element
	MirrorSymmetric = 1 // with the border element
)

// MirrorPad surrounds x with its mirror image.
func MirrorPad(x *Tensor, pads [][2]int, mode int) *Tensor {
	if mode != MirrorReflect && mode != MirrorSymmetric {
		refuse("mirror mode %d", mode)
	}
	for d := range min(len(pads), len(x.Shape)) {
		if limit := x.Shape[d] - 1 + mode; pads[d][0] > limit || pads[d][1] > limit {
			refuse("padding %v of dimension %d of %v", pads[d], d, x.Shape)
		}
	}
	return pad(x, pads, func(at, size int) int {
		if at < 0 {
			at = -at - mode
		}
		if at >= size {
			at = 2*size - 2 - at + mode
		}
		return at
	}, 0)
}

// pad builds the padded tensor; source maps a coordinate, which may lie outside, to one inside or -1.
func pad(x *Tensor, pads [][2]int, source func(at, size int) int, value float64) *Tensor {
	if len(pads) != len(x.Shape) {
		refuse("%d paddings for rank %d", len(pads), len(x.Shape))
	}
	shape := make([]int, len(pads))
	for d, p := range pads {
		if p[0] < 0 || p[1] < 0 {
			refuse("negative padding %v", p)
		}
		shape[d] = p[0] + x.Shape[d] + p[1]
	}
	y := New(x.Format(), shape...)
	forEach(shape, func(i int, at []int) {
		from := 0
		for d, a := range at {
			s := source(a-pads[d][0], x.Shape[d])
			if s < 0 {
				y.V[i] = value
				return
			}
			from = from*x.Shape[d] + s
		}
		y.V[i] = x.V[from]
	})
	return y
}
