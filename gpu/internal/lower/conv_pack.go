package lower

import (
	"encoding/binary"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// floats decodes a constant of a float type.
func floats(t *ir.Tensor) []float32 {
	out := make([]float32, t.Elements())
	if t.Type == nn.TensorFloat16 {
		for i := range out {
			out[i] = nn.Half(binary.LittleEndian.Uint16(t.Const[2*i:])).Float32()
		}
		return out
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Const[4*i:]))
	}
	return out
}

// tiles returns c with only the filters of tiles run[0] to run[1] of n channels. Precondition: c is not depthwise.
func (c *conv) tiles(n int, run [2]int) *conv {
	part, w := *c, *c.w
	first, last := run[0]*n, min(run[1]*n, c.co)
	size := len(c.w.Const) / c.co
	w.Const = c.w.Const[first*size : last*size]
	w.Shape = append([]int{last - first}, c.w.Shape[1:]...)
	part.w, part.co = &w, last-first
	return &part
}

// packing is what packFloat and packDot go by for all of c in tiles of n channels, beside the bytes of the filter;
// zero is the zero point of one of 8 bits.
func (c *conv) packing(zero, n int) [6]int {
	return [6]int{int(c.w.Type), zero, c.taps(), c.ci, c.co, n}
}

// packFloat lays tiles first to last of a filter w, [Co, kH, kW, Ci], out as [tile][tap][k, padded to 4][n],
// zeroes in the padding.
func packFloat(c *conv, w []float32, n, first, last int) []float32 {
	taps, k4 := c.taps(), c.kq()*4
	out := make([]float32, (last-first)*taps*k4*n)
	for o := first * n; o < min(last*n, c.co); o++ {
		tile, lane := o/n-first, o%n
		for t := range taps {
			row := w[(o*taps+t)*c.ci:][:c.ci]
			to := out[(tile*taps+t)*k4*n+lane:]
			for k, v := range row {
				to[k*n] = v
			}
		}
	}
	return out
}

// quantized holds what an 8-bit convolution needs beside its packed filter.
type quantized struct {
	flip       uint32  // makes x unsigned
	xzero      int     // zero point of x then
	wzero      int     // zero point of the signed filter
	doubleMask int     // rounding, see requant.glsl
	w          []int8  // signed filter in the layout of the tensor
	bias       []int32 // of each channel
}

func quantize(c *conv) *quantized {
	off := signOffset(c.x.Type)
	q := &quantized{flip: off * 0x01010101, xzero: int(c.x.Zero) + int(off), doubleMask: roundingMask(c)}
	q.w = make([]int8, len(c.w.Const))
	if c.w.Type == nn.TensorQuant8Asymm {
		q.wzero = int(c.w.Zero) - 128
		for i, b := range c.w.Const {
			q.w[i] = int8(int(b) - 128)
		}
	} else {
		if c.w.Type == nn.TensorQuant8AsymmSigned {
			q.wzero = int(c.w.Zero)
		}
		for i, b := range c.w.Const {
			q.w[i] = int8(b)
		}
	}
	q.bias = make([]int32, c.co)
	for i := range q.bias {
		q.bias[i] = int32(binary.LittleEndian.Uint32(c.bias.Const[4*i:]))
	}
	return q
}

// roundingMask is -1 for TFLite's double rounding, 0 for its single one. TFLite rounds once in the
// convolutions and matrix products of its signed 8-bit form, twice everywhere else.
func roundingMask(c *conv) int {
	if c.x.Type == nn.TensorQuant8AsymmSigned && !c.depthwise {
		return 0
	}
	return -1
}

// multipliers returns the fixed-point requantisation of each output channel.
func multipliers(c *conv) (multiplier []int32, shift []int) {
	multiplier, shift = make([]int32, c.co), make([]int, c.co)
	for i := range c.co {
		var real float64
		if c.w.Type == nn.TensorQuant8PerChannel {
			real = float64(c.x.Scale) * float64(c.w.Channel.Scales[i]) / float64(c.y.Scale)
		} else {
			// The reference multiplies the two scales in float32.
			real = float64(c.x.Scale*c.w.Scale) / float64(c.y.Scale)
		}
		multiplier[i], shift[i] = quantizeMultiplier(real)
	}
	return multiplier, shift
}

// packMultipliers returns for each quad of channels 4 multipliers, then 4 shifts.
func packMultipliers(c *conv) []uint32 {
	multiplier, shift := multipliers(c)
	out := make([]uint32, c.outQuads()*8)
	for i := range multiplier {
		out[i/4*8+i%4] = uint32(multiplier[i])
		out[i/4*8+4+i%4] = uint32(int32(shift[i]))
	}
	return out
}

// channelWords is the number of words that a channel takes in shaders/include/channels.glsl.
const channelWords = 5

// packChannels returns the records of quads quads of channels: 4 biases, 4 multipliers and so on. With shift,
// the last word is the right shift; else it is the factor 2^-shift.
func packChannels(c *conv, quads int, shift bool, bias []int) []uint32 {
	multiplier, shifts := multipliers(c)
	out := make([]uint32, quads*channelWords*4)
	for o := range c.co {
		left, right := max(shifts[o], 0), max(-shifts[o], 0)
		last := uint32(right)
		if !shift {
			last = f32(math.Ldexp(1, -right))
		}
		for k, w := range [channelWords]uint32{uint32(int32(bias[o])), uint32(multiplier[o]), 1 << left, 1 << right >> 1, last} {
			out[(o/4*channelWords+k)*4+o%4] = w
		}
	}
	return out
}

// foldZeroPoints returns for each channel the bias with the zero points folded in and the largest magnitude
// of its sum of products.
func foldZeroPoints(c *conv, q *quantized) (bias, bound []int) {
	bias, bound = make([]int, c.co), make([]int, c.co)
	terms := c.taps() * c.ci
	for o := range c.co {
		var sum, abs int
		for _, w := range q.w[o*terms : (o+1)*terms] {
			d := int(w) - q.wzero
			sum += d
			abs += max(d, -d)
		}
		bound[o] = 255 * abs
		// sum (x-xz)(w-wz) = sum x(w-wz) - xz sum (w-wz), whether the kernel computes the first term as
		// it stands or as sum xw - wz sum x.
		bias[o] = int(q.bias[o]) - q.xzero*sum
	}
	return bias, bound
}

// exactSums reports whether float sums of products stay below 2^24, and so exact, in every channel.
func exactSums(bound []int) bool {
	for _, b := range bound {
		if b >= 1<<24 {
			return false
		}
	}
	return true
}

// tiles is q for c.tiles.
func (q *quantized) tiles(c *conv, n int, run [2]int) *quantized {
	part := *q
	size := len(q.w) / c.co
	part.w = q.w[run[0]*n*size : min(run[1]*n, c.co)*size]
	return &part
}

// floats is the filter less its zero point.
func (q *quantized) floats() []float32 {
	out := make([]float32, len(q.w))
	for i, w := range q.w {
		out[i] = float32(int(w) - q.wzero)
	}
	return out
}

// packDot lays tiles first to last of a signed filter out as [tile][tap][kq][n] words of 4 k. Lanes of
// padding hold the zero point.
func packDot(c *conv, q *quantized, n, first, last int) []uint32 {
	taps, kq := c.taps(), c.kq()
	out := make([]uint32, (last-first)*taps*kq*n)
	zero := uint32(uint8(int8(q.wzero)))
	for i := range out {
		out[i] = zero * 0x01010101
	}
	for o := first * n; o < min(last*n, c.co); o++ {
		tile, lane := o/n-first, o%n
		for t := range taps {
			row := q.w[(o*taps+t)*c.ci:][:c.ci]
			to := out[(tile*taps+t)*kq*n+lane:]
			for k, v := range row {
				shift := 8 * (k % 4)
				at := &to[k/4*n]
				*at = *at&^(0xff<<shift) | uint32(uint8(v))<<shift
			}
		}
	}
	return out
}
