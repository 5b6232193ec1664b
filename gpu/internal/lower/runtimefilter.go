package lower

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Filters that are known at run time only are brought to the form that the matrix products read by the device, once for all
// nodes that have the same. So are those of transposed convolutions that come to here.

// packedRows is the number of output rows from which that is faster than reading the filter as it is for each of them.
const packedRows = 4

// packing names what the device makes of a tensor.
type packing struct {
	of     emit.Value
	kernel shaders.Kernel
	how    [4]int
}

// packedOnDevice returns tiles run[0] to run[1] of the filter for k.
func packedOnDevice(b *emit.Builder, c *conv, k family.Gemm, run [2]int) emit.Value {
	kernel := shaders.Of(family.Pack{Elem: k.Elem, Dot: k.Dot})
	w := b.Tensor(c.node.In[1])
	return b.Once(packing{w, kernel, [4]int{run[0], run[1], k.N, number(c.turned)}}, func() emit.Value {
		n := run[1] - run[0]
		count := n * c.Taps * c.InQuads()
		push := emit.Ints(count).Divisors(c.InQuads(), c.Taps).Ints(k.N/4, run[0]*k.N, c.Out, c.In, number(c.turned))
		if k.Elem == family.Q8 {
			flip, zero := c.unsignedFilter()
			if k.Dot {
				flip, zero = flip^0x80808080, int(uint8(zero-128))*0x01010101
			}
			push = push.Words(flip).Ints(zero)
		}
		tiles := b.Temp(int64(n*c.tileTexels(k)) * 16)
		b.Quads(kernel, count, push, emit.Cost{}, b.Read(w, plan.FormatNone), b.Write(tiles, plan.FormatNone))
		return tiles
	})
}

// unsignedFilter returns what makes words of an 8-bit filter unsigned, and its zero point then.
func (c *conv) unsignedFilter() (flip uint32, zero int) {
	off := pack.SignOffset(c.W.Type)
	if c.W.Type.IsQuant8() {
		zero = int(c.W.Zero)
	}
	return off * 0x01010101, zero + int(off)
}

// biasOnDevice returns the bias as floats of 32 bits.
func biasOnDevice(b *emit.Builder, c *conv) emit.Value {
	bias := b.Tensor(c.node.In[2])
	if c.Bias.Type == nn.TensorFloat32 {
		return bias
	}
	kernel := shaders.Of(family.Cast{From: elem(c.Bias.Type), To: family.F32})
	return b.Once(packing{of: bias, kernel: kernel}, func() emit.Value {
		floats := b.Temp(int64(c.OutQuads()) * 16)
		b.Quads(kernel, c.OutQuads(), emit.Ints(c.OutQuads(), c.OutQuads(), c.Out), emit.Cost{}, b.Read(bias, plan.FormatNone), b.Write(floats, plan.FormatNone))
		return floats
	})
}

// channelsOnDevice returns the records of pack.Filter.Channels.
func channelsOnDevice(b *emit.Builder, c *conv, q *pack.Quantized, shift bool) emit.Value {
	known := c.Filter
	if c.W.Type.IsQuant8() { // all channels have one scale
		known.Out = min(c.Out, 4)
	}
	records := known.Channels(known.OutQuads(), shift, make([]int, known.Out))
	flip, zero := c.unsignedFilter()
	push := emit.Ints(c.OutQuads(), c.Out, c.Taps, c.InQuads()).Words(lastBytes(c.In), flip).Ints(c.Taps*c.In, q.XZero, zero, known.OutQuads())
	channels := b.Temp(int64(len(records)) * 4 / int64(known.OutQuads()) * int64(c.OutQuads()))
	b.Quads(shaders.ConvChannels, c.OutQuads(), push, emit.Cost{},
		b.In(c.node.In[1]), b.In(c.node.In[2]), b.Read(b.WeightsU32(records), plan.FormatNone), b.Write(channels, plan.FormatNone))
	return channels
}
