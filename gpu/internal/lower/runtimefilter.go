package lower

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// The device itself brings filters that are known only at run time to the form that the matrix products read, once for
// all nodes with the same filter. It does so too with filters of transposed convolutions that are lowered here.

// PackedRows is the number of output rows from which that is faster than reading the filter as it is for each row.
const PackedRows = 4

// packing names a tensor that the device has packed, and how.
type packing struct {
	of     emit.Value
	kernel shaders.Kernel
	how    [4]int
}

// packedOnDevice returns tiles run[0] to run[1] of the filter for k.
func packedOnDevice(b *emit.Builder, c *conv, k family.Gemm, run [2]int) emit.Value {
	w := b.Tensor(c.node.In[1])
	key := packing{w, shaders.Of(family.Pack{Elem: k.Elem}), [4]int{run[0], run[1], k.N, number(c.turned)}}
	return b.Once(key, func() emit.Value {
		return packMatrices(b, c, k, matrices{w: w, count: 1}, run, run[1]-run[0]).in
	})
}

// matrices are count filters of one form in w, one below the other.
type matrices struct {
	w       emit.Value
	count   int
	columns bool // a filter is [In, Out], not [Out, taps, In]
}

// packMatrices returns tiles run[0] to run[1] for k of each of the matrices, which have the sizes of c's filter: slabs
// of perSlab tiles, the same number for each matrix, at multiples of plan.Align.
func packMatrices(b *emit.Builder, c *conv, k family.Gemm, m matrices, run [2]int, perSlab int) parts {
	slabs, size := (run[1]-run[0]+perSlab-1)/perSlab, int64(perSlab*c.tileTexels(k))*16
	pitch := plan.AlignUp(size)
	start, channels := run[0]*k.N, c.Out
	if row := pack.LayoutOf(c.W).Bytes() / int64(c.Out); m.count == 1 && !m.columns && int64(start)*row%plan.Align == 0 {
		channels = min(run[1]*k.N, c.Out) - start
		m.w, start = b.View(m.w, int64(start)*row, int64(channels)*row), 0
	}
	count := m.count * slabs * perSlab * c.Taps * c.InQuads()
	push := emit.Ints(count).Divisors(c.InQuads(), c.Taps, perSlab, slabs).Ints(int(pitch/16), k.N/4, start, channels, c.In)
	if m.columns {
		push = push.Ints(c.OutQuads())
	} else {
		push = push.Ints(number(c.turned))
	}
	if k.Elem == family.Q8 {
		flip, zero := c.unsignedFilter()
		push = push.Words(flip ^ 0x80808080).Ints(int(uint8(zero-128)) * 0x01010101)
	}
	tiles := b.Temp(int64(m.count*slabs) * pitch)
	w, kernel := b.Read(m.w, plan.FormatNone), family.Pack{Elem: k.Elem, Columns: m.columns}
	kernel.Access = packAccess(b.Facts, k.Elem, b.Bytes(w))
	w = emit.ReadBy(kernel.Access, w, plan.FormatRGBA32U)
	b.Quads(shaders.Of(kernel), count, push, emit.Cost{}, w, b.Write(tiles, plan.FormatNone))
	return parts{tiles, size, pitch}
}

// packAccess is how the packing of a filter or matrices of so many bytes reads them. Texels are faster on processors, of floats,
// which then are loaded four at once. Measured.
func packAccess(f *plan.Facts, e family.Elem, bytes int64) family.Access {
	if e != family.F32 || f.Class != plan.ClassCPU || f.BuffersOnly || bytes/plan.FormatRGBA32U.TexelBytes() > f.MaxTexelElements {
		return family.Buffers
	}
	return family.Texels
}

// unsignedFilter returns the bits that make words of an 8-bit filter unsigned when flipped, and its zero point then.
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
func channelsOnDevice(b *emit.Builder, c *conv, q *pack.Quantized) emit.Value {
	return matrixChannels(b, c, q, matrices{w: b.Tensor(c.node.In[1]), count: 1}, 1).in
}

// matrixChannels returns the records of pack.Filter.Channels for each of the matrices, at multiples of align bytes.
func matrixChannels(b *emit.Builder, c *conv, q *pack.Quantized, m matrices, align int64) parts {
	known := c.Filter
	if c.W.Type.IsQuant8() { // all channels have one scale
		known.Out = min(c.Out, 4)
	}
	records := known.Channels(known.OutQuads(), make([]int, known.Out))
	size := pack.ChannelBytes * int64(c.OutQuads())
	pitch := (size + align - 1) / align * align
	rowQuads, rows := c.InQuads(), c.Taps
	if m.columns {
		rowQuads, rows = c.OutQuads(), c.In
	}
	flip, zero := c.unsignedFilter()
	count := m.count * c.OutQuads()
	push := emit.Ints(count).Divisors(c.OutQuads()).Ints(int(pitch/16), c.Out, rowQuads, rows).Words(lastBytes(c.In), flip)
	push = push.Ints(c.Taps*c.In, q.XZero, zero, known.OutQuads())
	channels := b.Temp(int64(m.count) * pitch)
	b.Quads(shaders.Of(family.Channels{Columns: m.columns}), count, push, emit.Cost{}, b.Read(m.w, plan.FormatNone),
		b.In(c.node.In[2]), b.Read(b.WeightsU32(records), plan.FormatNone), b.Write(channels, plan.FormatNone))
	return parts{channels, size, pitch}
}
