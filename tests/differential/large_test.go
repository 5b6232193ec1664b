package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestLargeConvolutions: images and filters beyond the texel buffers of SwiftShader (65,536 texels), sums so
// long that 8-bit products leave the integers of a float.
func TestLargeConvolutions(t *testing.T) {
	for i, tc := range []convCase{
		{name: "image", in: nn.Dims{1, 129, 131, 32}, co: 5, kh: 1, kw: 1, stride: 2, dilation: 1, act: nn.ActRelu6},
		{name: "result", in: nn.Dims{1, 129, 131, 4}, co: 33, kh: 1, kw: 1, stride: 1, dilation: 1},
		{name: "window of an image", in: nn.Dims{1, 130, 67, 36}, co: 3, kh: 3, kw: 3, stride: 2, dilation: 1, same: true},
		{name: "filter", in: nn.Dims{1, 2, 3, 517}, co: 1025, kh: 1, kw: 1, stride: 1, dilation: 1, act: nn.ActRelu},
		{name: "window with a large filter", in: nn.Dims{1, 4, 5, 130}, co: 260, kh: 3, kw: 3, stride: 1, dilation: 1, same: true},
		{name: "long sums", in: nn.Dims{1, 1, 1, 5003}, co: 19, kh: 1, kw: 1, stride: 1, dilation: 1},
		{name: "long sums of windows", in: nn.Dims{1, 5, 5, 1003}, co: 9, kh: 3, kw: 3, stride: 1, dilation: 1},
		{name: "depthwise image", in: nn.Dims{1, 131, 65, 36}, co: 1, kh: 3, kw: 3, stride: 1, dilation: 1, same: true, depthwise: true},
		{name: "depthwise image, stride 2", in: nn.Dims{1, 131, 65, 36}, co: 1, kh: 5, kw: 5, stride: 2, dilation: 1, same: true, depthwise: true},
		{name: "depthwise large window", in: nn.Dims{1, 61, 67, 8}, co: 1, kh: 31, kw: 29, stride: 7, dilation: 1, depthwise: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for _, f := range formats {
					t.Run(f.name, func(t *testing.T) {
						m := tc.model(f, false, rand.New(rand.NewPCG(uint64(i), 3)))
						tol := convTolerance(&tc, f)
						if f.data == nn.TensorFloat16 {
							tol.Abs = 0.05 // sums of thousands are rounded
						}
						Compare(t, d, m, tol, uint64(i))
					})
				}
			})
		})
	}
}

// TestLargeTensors: beyond the texel buffers, and beyond the workgroups of one row of a dispatch.
func TestLargeTensors(t *testing.T) {
	image := nn.Dims{1, 149, 157, 20}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, typ := range asymmTypes {
			run := func(op nn.OperationType, in []tensor, out tensor, tol Tolerance, params func(b *nn.Builder) []uint32) {
				t.Run(fmt.Sprint(op, " ", typ), func(t *testing.T) { Compare(t, d, oneOp(op, in, out, nil, params), tol, 5) })
			}
			x, tol := of(typ, 0, image), elementTolerance(typ)
			act := func(b *nn.Builder) []uint32 { return []uint32{b.Scalar(0)} }
			run(nn.OpAdd, []tensor{x, of(typ, 1, image)}, of(typ, 2, image), tol, act)
			run(nn.OpMul, []tensor{x, of(typ, 1, image[3:])}, of(typ, 2, image), tol, act)
			run(nn.OpTanh, []tensor{x}, tanhResult(typ, image), tol, nil)
			pooled := of(typ, 0, nn.Dims{1, 75, 79, 20})
			pool := func(b *nn.Builder) []uint32 { return scalars(b, int(nn.PaddingSame), 2, 2, 3, 3, 0) }
			run(nn.OpMaxPool2D, []tensor{x}, pooled, tol, pool)
			run(nn.OpAveragePool2D, []tensor{x}, pooled, tol, pool)
			bilinear := tol
			if typ.IsQuant8() {
				bilinear = OneStep
			}
			run(nn.OpResizeBilinear, []tensor{x}, of(typ, 0, nn.Dims{1, 100, 301, 20}), bilinear,
				func(b *nn.Builder) []uint32 { return scalars(b, 301, 100) })
			run(nn.OpTranspose, []tensor{x}, of(typ, 0, nn.Dims{1, 20, 157, 149}), Exact,
				func(b *nn.Builder) []uint32 { return []uint32{b.Ints(nn.Dims{4}, 0, 3, 2, 1)} })
		}
		for _, typ := range quantTypes {
			wide := nn.Dims{2999, 2803}
			t.Run(fmt.Sprint("two rows of workgroups ", typ), func(t *testing.T) {
				Compare(t, d, oneOp(nn.OpTanh, []tensor{of(typ, 0, wide)}, tanhResult(typ, wide), nil, nil), Exact, 6)
			})
		}
	})
}

// tanhResult is what TANH gives: 8-bit results have a fixed quantisation.
func tanhResult(typ nn.OperandType, dims nn.Dims) tensor {
	y := of(typ, 0, dims)
	switch typ {
	case nn.TensorQuant8Asymm:
		y.scale, y.zero = 1.0/128, 128
	case nn.TensorQuant8AsymmSigned:
		y.scale, y.zero = 1.0/128, 0
	}
	return y
}
