package pack

import (
	"encoding/binary"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Quantized holds what an 8-bit convolution needs beside its packed filter.
type Quantized struct {
	*Filter
	Flip     uint32  // makes x unsigned
	XZero    int     // zero point of x after that
	WZero    int     // zero point of the signed filter
	Rounding int     // see Filter.RoundingMask
	w        []int8  // signed filter in the layout of the tensor
	bias     []int32 // of each channel
}

// Quantize reads the constants of f, which is of 8 bits. Of a filter or a bias that is not constant, it knows only zero
// points.
func Quantize(f *Filter) *Quantized {
	off := SignOffset(f.X.Type)
	q := &Quantized{Filter: f, Flip: off * 0x01010101, XZero: int(f.X.Zero) + int(off), Rounding: f.RoundingMask()}
	q.w = make([]int8, len(f.W.Const))
	if f.W.Type == nn.TensorQuant8Asymm {
		q.WZero = int(f.W.Zero) - 128
		for i, b := range f.W.Const {
			q.w[i] = int8(int(b) - 128)
		}
	} else {
		if f.W.Type == nn.TensorQuant8AsymmSigned {
			q.WZero = int(f.W.Zero)
		}
		for i, b := range f.W.Const {
			q.w[i] = int8(b)
		}
	}
	if f.Bias.Const == nil {
		return q
	}
	q.bias = make([]int32, f.Out)
	for i := range q.bias {
		q.bias[i] = int32(binary.LittleEndian.Uint32(f.Bias.Const[4*i:]))
	}
	return q
}

// RoundingMask is -1 for TFLite's double rounding, 0 for its single one (see requant.glsl). TFLite rounds once in the
// convolutions and matrix products of its signed 8-bit form, twice everywhere else.
func (f *Filter) RoundingMask() int {
	if f.X.Type == nn.TensorQuant8AsymmSigned && !f.Depthwise {
		return 0
	}
	return -1
}

// multipliers returns the fixed-point requantisation of each output channel.
func (f *Filter) multipliers() (multiplier []int32, shift []int) {
	multiplier, shift = make([]int32, f.Out), make([]int, f.Out)
	for i := range f.Out {
		var real float64
		if f.W.Type == nn.TensorQuant8PerChannel {
			real = float64(f.X.Scale) * float64(f.W.Channel.Scales[i]) / float64(f.Y.Scale)
		} else {
			// The reference multiplies the two scales in float32.
			real = float64(f.X.Scale*f.W.Scale) / float64(f.Y.Scale)
		}
		multiplier[i], shift[i] = Multiplier(real)
	}
	return multiplier, shift
}

// Multipliers returns for each quad of output channels 4 multipliers, then 4 shifts.
func (f *Filter) Multipliers() []uint32 {
	multiplier, shift := f.multipliers()
	out := make([]uint32, f.OutQuads()*8)
	for i := range multiplier {
		out[i/4*8+i%4] = uint32(multiplier[i])
		out[i/4*8+4+i%4] = uint32(int32(shift[i]))
	}
	return out
}

// channelWords is the number of words that a channel takes in shaders/include/channels.glsl.
const channelWords = 5

// ChannelBytes is the size of the record of a quad of channels.
const ChannelBytes = channelWords * 4 * 4

// Channels returns the records of quads quads of channels for kernels that shift: 4 biases, 4 multipliers and so on.
func (f *Filter) Channels(quads int, bias []int) []uint32 {
	multiplier, shifts := f.multipliers()
	return records(quads, f.Out, func(o int) [channelWords]uint32 {
		left, right := max(shifts[o], 0), max(-shifts[o], 0)
		return [channelWords]uint32{uint32(int32(bias[o])), uint32(multiplier[o]), 1 << left, 1 << right >> 1, uint32(right)}
	})
}

// FloatChannels returns the records of quads quads of channels for kernels that scale floats. Precondition: FitsFloats.
func (q *Quantized) FloatChannels(quads int, bias []int) []uint32 {
	// Whatever is shifted right by more is 0 anyway.
	const mostShift = 24
	multiplier, shifts := q.multipliers()
	return records(quads, q.Out, func(o int) [channelWords]uint32 {
		right := min(-shifts[o], mostShift)
		nudge, below := uint32(1<<30), math.Inf(-1)
		switch {
		case right > 0 && q.Rounding != 0:
			below = 0
		case right > 0:
			nudge = 0
		}
		bits := func(v float64) uint32 { return math.Float32bits(float32(v)) }
		return [channelWords]uint32{bits(float64(bias[o])), uint32(multiplier[o]), nudge, bits(math.Ldexp(1, -right)), bits(below)}
	})
}

// records lays out what is known of each channel, quad by quad.
func records(quads, channels int, of func(o int) [channelWords]uint32) []uint32 {
	out := make([]uint32, quads*channelWords*4)
	for o := range channels {
		for k, w := range of(o) {
			out[(o/4*channelWords+k)*4+o%4] = w
		}
	}
	return out
}

// FoldZeroPoints returns for each channel the bias with the zero points folded in and the largest magnitude
// of its sum of products.
func (q *Quantized) FoldZeroPoints() (bias, bound []int) {
	bias, bound = make([]int, q.Out), make([]int, q.Out)
	terms := q.Taps * q.In
	for o := range q.Out {
		var sum, abs int
		for _, w := range q.w[o*terms : (o+1)*terms] {
			d := int(w) - q.WZero
			sum += d
			abs += max(d, -d)
		}
		bound[o] = 255 * abs
		// sum (x-xz)(w-wz) = sum x(w-wz) - xz sum (w-wz), whether the kernel computes the first term as
		// it stands or as sum xw - wz sum x.
		bias[o] = int(q.bias[o]) - q.XZero*sum
	}
	return bias, bound
}

// ExactSums reports whether float sums of products stay below 2^24, and so are exact, in every channel.
func ExactSums(bound []int) bool {
	for _, b := range bound {
		if b >= 1<<24 {
			return false
		}
	}
	return true
}

// FitsFloats reports whether kernels that sum floats, and scale these sums as floats (requantizeFloats of
// shaders/include/channels.glsl), are exact; bound has the largest magnitude of the sum of products of each channel.
func (q *Quantized) FitsFloats(bound []int) bool {
	_, shifts := q.multipliers()
	for o, bias := range q.bias {
		if shifts[o] > 0 || bound[o]+max(int(bias), -int(bias)) >= 1<<23 {
			return false
		}
	}
	return true
}

// Tiles is q for Filter.Tiles.
func (q *Quantized) Tiles(n int, run [2]int) *Quantized {
	part := *q
	size := len(q.w) / q.Out
	part.Filter, part.w = q.Filter.Tiles(n, run), q.w[run[0]*n*size:min(run[1]*n, q.Out)*size]
	return &part
}

// WordTiles fills dst with tiles first to last of the filter as [tile][tap][k/4][n] words of 4 k. Padding lanes hold the zero
// point.
func (q *Quantized) WordTiles(dst []byte, n, first, last int) {
	kq := q.InQuads()
	block := make([]uint32, kq*n) // of a tap
	zero := uint32(uint8(int8(q.WZero)))
	for tile := first; tile < last; tile++ {
		for t := range q.Taps {
			for i := range block {
				block[i] = zero * 0x01010101
			}
			for o := tile * n; o < min((tile+1)*n, q.Out); o++ {
				to := block[o%n:]
				for k, v := range q.w[(o*q.Taps+t)*q.In:][:q.In] {
					shift := 8 * (k % 4)
					at := &to[k/4*n]
					*at = *at&^(0xff<<shift) | uint32(uint8(v))<<shift
				}
			}
			dst = putWords(dst, block)
		}
	}
}

// DepthwiseBounds returns for each channel of a depthwise q its bias, with all that kernels leave out of x folded in, and the
// largest magnitude of its sum of products.
func (q *Quantized) DepthwiseBounds() (bias, bound []int) {
	bias, bound = make([]int, q.Out), make([]int, q.Out)
	for o := range q.Out {
		var sum int
		for t := range q.Taps {
			d := int(q.w[t*q.Out+o]) - q.WZero
			sum += d
			bound[o] += 255 * max(d, -d)
		}
		less := q.XZero
		if o%4 == 3 {
			less -= 128
		}
		bias[o] = int(q.bias[o]) - less*sum
	}
	return bias, bound
}

// DepthwiseFloats is the filter of a depthwise q less its zero point. Kernels leave byte k of a word at its place, which makes it
// 256^k times too large, and read the last one as signed, which makes it less by 128: each weight is as many times too small,
// and DepthwiseBounds has what makes up for the 128.
func (q *Quantized) DepthwiseFloats() []float32 {
	out := make([]float32, len(q.w))
	for i, w := range q.w {
		out[i] = float32(math.Ldexp(float64(int(w)-q.WZero), -8*(i%q.Out%4)))
	}
	return out
}
