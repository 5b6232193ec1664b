package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// Facts of the two software implementations, as package vulkan reads them.
var (
	lavapipe = plan.Facts{
		Class: plan.ClassCPU, MaxStorageRange: 128 << 20, MaxTexelElements: 128 << 20, StorageAlign: 16, TexelAlign: 16,
		MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 8,
		IntegerDot: true, StorageTexelRGBA32F: true, Unified: true, TimestampPeriod: 1,
	}
	swiftshader = plan.Facts{
		Class: plan.ClassCPU, MaxStorageRange: 1 << 30, MaxTexelElements: 65536, StorageAlign: 256, TexelAlign: 256,
		MaxLocal: [3]uint32{256, 256, 64}, MaxInvocations: 256, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 4, SubgroupOps: family.SubgroupQuad, MaxBlocks: 499968,
		IntegerDot: true, StorageTexelRGBA32F: true, Unified: true, TimestampPeriod: 1,
	}
)

// build returns the model that f makes, which must be valid.
func build(t *testing.T, f func(b *nn.Builder)) *nn.Model {
	t.Helper()
	var b nn.Builder
	f(&b)
	m := nntest.Build(&b)
	require.NoError(t, validate.Model(m))
	return m
}

// bytesOf returns n bytes that are not all the same.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*37 + 11)
	}
	return b
}

// floatsOf returns n small numbers.
func floatsOf(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i%13-6) / 8
	}
	return v
}

// floatNet is a small classifier: padded convolution, depthwise, pool, matrix product, softmax.
func floatNet(b *nn.Builder) {
	f32 := func(dims ...uint32) uint32 { return b.Temp(nn.TensorFloat32, dims, 0, 0) }
	op := func(t nn.OperationType, out uint32, in ...uint32) uint32 {
		b.Op(t, in, []uint32{out})
		return out
	}
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 11, 13, 3}, 0, 0)
	one, two := b.Scalar(1), b.Scalar(2)
	none, valid := b.Scalar(0), b.Scalar(int(nn.PaddingValid))
	x = op(nn.OpPad, f32(1, 13, 15, 3), x, b.Ints(nn.Dims{4, 2}, 0, 0, 1, 1, 1, 1, 0, 0))
	x = op(nn.OpConv2D, f32(1, 6, 7, 24), x, b.Floats(nn.Dims{24, 3, 3, 3}, floatsOf(24*27)...), b.Floats(nn.Dims{24}, floatsOf(24)...),
		valid, two, two, none)
	x = op(nn.OpRelu6, f32(1, 6, 7, 24), x)
	x = op(nn.OpDepthwiseConv2D, f32(1, 4, 5, 24), x, b.Floats(nn.Dims{1, 3, 3, 24}, floatsOf(9*24)...), b.Floats(nn.Dims{24}, floatsOf(24)...),
		valid, one, one, one, b.Scalar(int(nn.ActRelu6)))
	x = op(nn.OpAveragePool2D, f32(1, 1, 1, 24), x, valid, one, one, b.Scalar(5), b.Scalar(4), none)
	x = op(nn.OpFullyConnected, f32(1, 10), x, b.Floats(nn.Dims{10, 24}, floatsOf(240)...), b.Floats(nn.Dims{10}, floatsOf(10)...), none)
	x = op(nn.OpSoftmax, f32(1, 10), x, b.Scalar(float32(1)))
	b.Output(x)
}

// quantNet is an 8-bit residual block with scales by channel and a weight zero point.
func quantNet(b *nn.Builder) {
	q8 := func(dims nn.Dims) uint32 { return b.Temp(nn.TensorQuant8Asymm, dims, 0.5, 128) }
	dims := nn.Dims{1, 5, 7, 18}
	x := b.Input(nn.TensorQuant8Asymm, dims, 0.5, 128)
	one, none, same := b.Scalar(1), b.Scalar(0), b.Scalar(int(nn.PaddingSame))
	scales := make([]float32, 18)
	for i := range scales {
		scales[i] = 0.25 / float32(i+1)
	}
	a, c, d := q8(dims), q8(dims), q8(dims)
	b.Op(nn.OpConv2D, []uint32{
		x, b.PerChannel(nn.Dims{18, 3, 3, 18}, scales, 0, bytesOf(18*9*18)), b.Const(nn.TensorInt32, nn.Dims{18}, 0, 0, make([]byte, 72)),
		same, one, one, none,
	}, []uint32{a})
	b.Op(nn.OpConv2D, []uint32{
		a, b.Const(nn.TensorQuant8Asymm, nn.Dims{18, 1, 1, 18}, 0.25, 120, bytesOf(18*18)), b.Const(nn.TensorInt32, nn.Dims{18}, 0.125, 0, make([]byte, 72)),
		same, one, one, none,
	}, []uint32{c})
	b.Op(nn.OpAdd, []uint32{x, c, none}, []uint32{d})
	e := q8(dims)
	b.Op(nn.OpRelu, []uint32{d}, []uint32{e})
	b.Output(e)
}

// nchwNet is two NCHW operations in a row on an image of three channels.
func nchwNet(b *nn.Builder) {
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 3, 9, 7}, 0, 0)
	one, none, valid, nchw := b.Scalar(1), b.Scalar(0), b.Scalar(int(nn.PaddingValid)), b.Scalar(true)
	y := b.Temp(nn.TensorFloat32, nn.Dims{1, 5, 7, 5}, 0, 0)
	z := b.Temp(nn.TensorFloat32, nn.Dims{1, 5, 6, 4}, 0, 0)
	b.Op(nn.OpConv2D, []uint32{
		x, b.Floats(nn.Dims{5, 3, 3, 3}, floatsOf(135)...), b.Floats(nn.Dims{5}, floatsOf(5)...), valid, one, one, none, nchw,
	}, []uint32{y})
	b.Op(nn.OpMaxPool2D, []uint32{y, valid, one, one, b.Scalar(2), b.Scalar(2), none, nchw}, []uint32{z})
	b.Output(z)
}

// runtimeWeights has a filter that is a model input, and two outputs, one of which is read.
func runtimeWeights(b *nn.Builder) {
	x := b.Input(nn.TensorFloat16, nn.Dims{2, 6}, 0, 0)
	w := b.Input(nn.TensorFloat16, nn.Dims{5, 6}, 0, 0)
	y := b.Temp(nn.TensorFloat16, nn.Dims{2, 5}, 0, 0)
	z := b.Temp(nn.TensorFloat16, nn.Dims{2, 5}, 0, 0)
	b.Op(nn.OpFullyConnected, []uint32{x, w, b.Const(nn.TensorFloat16, nn.Dims{5}, 0, 0, make([]byte, 10)), b.Scalar(0)}, []uint32{y})
	b.Op(nn.OpRelu, []uint32{y}, []uint32{z})
	b.Output(y)
	b.Output(z)
}
