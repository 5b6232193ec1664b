package layers

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Conv are the parameters of a convolution. Pairs are height, width; of strides and dilations [0, 0] counts as [1, 1].
type Conv struct {
	Padding  int32   // nn.PaddingSame or nn.PaddingValid; 0: Pad counts
	Pad      ops.Pad // in elements
	Stride   [2]int
	Dilation [2]int
	Act      nn.Activation
	NCHW     bool // the layout of x and of the result; filters have one only
}

// Pool are the parameters of a pool. Pairs are height, width; of strides [0, 0] counts as the window.
type Pool struct {
	Padding int32   // nn.PaddingSame or nn.PaddingValid; 0: Pad counts
	Pad     ops.Pad // in elements, smaller than the window
	Window  [2]int
	Stride  [2]int
	Act     nn.Activation
	NCHW    bool
}

// padding are the operands of a scheme, or of explicit padding where that is 0.
func padding(scheme int32, p ops.Pad) []any {
	if scheme != 0 {
		return []any{scheme}
	}
	return []any{p.Left, p.Right, p.Top, p.Bottom}
}

func or(pair, instead [2]int) [2]int {
	if pair == [2]int{} {
		return instead
	}
	return pair
}

// Conv2D is CONV_2D of x [N, H, W, Ci] with a filter [Co, Kh, Kw, Ci] and a bias [Co].
func (b *Builder) Conv2D(x, filter, bias uint32, c Conv, q ...Quant) uint32 {
	return b.conv(nn.OpConv2D, x, filter, bias, c, nil, q)
}

// DepthwiseConv2D is DEPTHWISE_CONV_2D of x [N, H, W, Ci] with a filter [1, Kh, Kw, Ci*multiplier] and a bias
// [Ci*multiplier].
func (b *Builder) DepthwiseConv2D(x, filter, bias uint32, multiplier int, c Conv, q ...Quant) uint32 {
	return b.conv(nn.OpDepthwiseConv2D, x, filter, bias, c, []any{multiplier}, q)
}

// GroupedConv2D is GROUPED_CONV_2D of x [N, H, W, Ci] with a filter [Co, Kh, Kw, Ci/groups] and a bias [Co]. It has no
// dilation.
func (b *Builder) GroupedConv2D(x, filter, bias uint32, groups int, c Conv, q ...Quant) uint32 {
	stride := or(c.Stride, [2]int{1, 1})
	list := append([]any{filter, bias}, padding(c.Padding, c.Pad)...)
	return b.op(nn.OpGroupedConv2D, q, x, append(list, stride[1], stride[0], groups, c.Act, c.NCHW)...)
}

// TransposeConv2D is TRANSPOSE_CONV_2D of x [N, H, W, Ci] with a filter [Co, Kh, Kw, Ci] and a bias [Co]. It has no dilation.
// shape are the dimensions of a result with a padding scheme, nil without.
func (b *Builder) TransposeConv2D(x, filter, bias uint32, shape []int, c Conv, q ...Quant) uint32 {
	stride := or(c.Stride, [2]int{1, 1})
	list := []any{filter, bias}
	if shape != nil {
		list = append(list, b.vector(shape))
	}
	list = append(list, padding(c.Padding, c.Pad)...)
	return b.op(nn.OpTransposeConv2D, q, x, append(list, stride[1], stride[0], c.Act, c.NCHW)...)
}

func (b *Builder) conv(t nn.OperationType, x, filter, bias uint32, c Conv, multiplier []any, q []Quant) uint32 {
	one := [2]int{1, 1}
	stride, dilation := or(c.Stride, one), or(c.Dilation, one)
	list := append([]any{filter, bias}, padding(c.Padding, c.Pad)...)
	list = append(append(list, stride[1], stride[0]), multiplier...)
	list = append(list, c.Act, c.NCHW, dilation[1], dilation[0])
	return b.op(t, q, x, list...)
}

// AveragePool2D is AVERAGE_POOL_2D of x [N, H, W, C].
func (b *Builder) AveragePool2D(x uint32, p Pool) uint32 { return b.pool(nn.OpAveragePool2D, x, p) }

// MaxPool2D is MAX_POOL_2D of x [N, H, W, C].
func (b *Builder) MaxPool2D(x uint32, p Pool) uint32 { return b.pool(nn.OpMaxPool2D, x, p) }

// L2Pool2D is L2_POOL_2D of x [N, H, W, C].
func (b *Builder) L2Pool2D(x uint32, p Pool) uint32 { return b.pool(nn.OpL2Pool2D, x, p) }

func (b *Builder) pool(t nn.OperationType, x uint32, p Pool) uint32 {
	stride := or(p.Stride, p.Window)
	list := append(padding(p.Padding, p.Pad), stride[1], stride[0], p.Window[1], p.Window[0], p.Act, p.NCHW)
	return b.op(t, nil, x, list...)
}

// Resize are the parameters of a resize.
type Resize struct {
	Height, Width int // of the result
	NCHW          bool
	AlignCorners  bool
	HalfPixel     bool // not with AlignCorners
}

// ResizeBilinear is RESIZE_BILINEAR of x [N, H, W, C].
func (b *Builder) ResizeBilinear(x uint32, r Resize) uint32 {
	return b.resize(nn.OpResizeBilinear, x, r)
}

// ResizeNearestNeighbor is RESIZE_NEAREST_NEIGHBOR of x [N, H, W, C].
func (b *Builder) ResizeNearestNeighbor(x uint32, r Resize) uint32 {
	return b.resize(nn.OpResizeNearestNeighbor, x, r)
}

func (b *Builder) resize(t nn.OperationType, x uint32, r Resize) uint32 {
	return b.op(t, nil, x, r.Width, r.Height, r.NCHW, r.AlignCorners, r.HalfPixel)
}

// SpaceToDepth is SPACE_TO_DEPTH of x [N, H, W, C], or [N, C, H, W] with nchw: the pixels of blocks of block by block become
// channels.
func (b *Builder) SpaceToDepth(x uint32, block int, nchw bool) uint32 {
	return b.op(nn.OpSpaceToDepth, nil, x, block, nchw)
}

// DepthToSpace is DEPTH_TO_SPACE of x [N, H, W, C], or [N, C, H, W] with nchw: channels become blocks of block by block pixels.
func (b *Builder) DepthToSpace(x uint32, block int, nchw bool) uint32 {
	return b.op(nn.OpDepthToSpace, nil, x, block, nchw)
}

// SpaceToBatch is SPACE_TO_BATCH_ND of x [N, H, W, C], or [N, C, H, W] with nchw: the pixels of blocks become images. block is
// height, width.
func (b *Builder) SpaceToBatch(x uint32, block [2]int, pad ops.Pad, nchw bool) uint32 {
	pads := b.pads([][2]int{{pad.Top, pad.Bottom}, {pad.Left, pad.Right}})
	return b.op(nn.OpSpaceToBatchNd, nil, x, b.vector(block[:]), pads, nchw)
}

// BatchToSpace is BATCH_TO_SPACE_ND of x [N, H, W, C], or [N, C, H, W] with nchw: images become the pixels of blocks. block is
// height, width.
func (b *Builder) BatchToSpace(x uint32, block [2]int, nchw bool) uint32 {
	return b.op(nn.OpBatchToSpaceNd, nil, x, b.vector(block[:]), nchw)
}
