package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// beta adds a scalar of the type that softmax takes for tensors of typ.
func beta(b *nn.Builder, typ nn.OperandType, v float64) uint32 {
	if typ != nn.TensorFloat16 {
		return b.Scalar(v)
	}
	return b.Scalar(nn.HalfOf(v))
}

func TestSoftmax(t *testing.T) {
	for _, c := range []struct {
		in   nn.Dims
		axis int
		beta float64
	}{
		{nn.Dims{1, 1001}, 1, 1},
		{nn.Dims{3, 5}, 1, 0.75},
		{nn.Dims{2, 3, 5, 7}, 3, 1},
		{nn.Dims{2, 3, 5, 7}, 0, 2},
		{nn.Dims{2, 3, 5, 7}, 2, 1},
		{nn.Dims{9}, 0, 1},
		{nn.Dims{2, 1}, 1, 1},
		{nn.Dims{113, 13}, -1, 1},
		{nn.Dims{5, 2051}, 1, 1},  // four quads an iteration, and padding
		{nn.Dims{1, 90001}, 1, 1}, // a row longer than one loop may be
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				tol := elementTolerance(typ)
				for _, op := range []nn.OperationType{nn.OpSoftmax, nn.OpLogSoftmax} {
					var b nn.Builder
					scale, zero := quant(typ, 0)
					x := b.Input(typ, c.in, scale, zero)
					if typ.IsQuant8() {
						if op == nn.OpLogSoftmax || c.in[len(c.in)-1] > 80000 {
							continue
						}
						scale, zero = 1.0/256, 0
						if typ == nn.TensorQuant8AsymmSigned {
							zero = -128
						}
						tol = OneStep
					}
					y := b.Temp(typ, c.in, scale, zero)
					b.Op(op, []uint32{x, beta(&b, typ, c.beta), b.Scalar(c.axis)}, []uint32{y})
					b.Output(y)
					Compare(t, d, nntest.Build(&b), tol, 3)
				}
			})
		})
	}
}

func TestMean(t *testing.T) {
	for _, c := range []struct {
		in   nn.Dims
		axes []int32
	}{
		{nn.Dims{2, 3, 5, 7}, []int32{1, 2}},
		{nn.Dims{2, 3, 5, 7}, []int32{3}},
		{nn.Dims{2, 3, 5, 7}, []int32{0, 2}},
		{nn.Dims{2, 3, 5, 7}, []int32{1, -1}},
		{nn.Dims{2, 3, 5, 7}, []int32{0, 1, 2, 3}},
		{nn.Dims{5, 6}, []int32{1}},
		{nn.Dims{5, 6}, []int32{0}},
		{nn.Dims{1, 41, 50, 6}, []int32{1, 2}}, // in two stages
		{nn.Dims{3, 9001}, []int32{1}},
		{nn.Dims{3001, 3}, []int32{0, 1}},
		{nn.Dims{2, 30, 70, 5}, []int32{0, 2}},
		{nn.Dims{4, 1, 3}, []int32{1}},
		{nn.Dims{4, 3, 1}, []int32{2}},
		{nn.Dims{7}, []int32{0}},
	} {
		for keep := range 2 {
			t.Run(fmt.Sprint(c, keep), func(t *testing.T) {
				eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
					var b nn.Builder
					scale, zero := quant(typ, 0)
					x := b.Input(typ, c.in, scale, zero)
					reduced := map[int]bool{}
					for _, a := range c.axes {
						reduced[(int(a)+len(c.in))%len(c.in)] = true
					}
					var out nn.Dims
					for i, n := range c.in {
						switch {
						case !reduced[i]:
							out = append(out, n)
						case keep == 1:
							out = append(out, 1)
						}
					}
					if len(out) == 0 {
						out = nn.Dims{1}
					}
					y := b.Temp(typ, out, scale, zero)
					b.Op(nn.OpMean, []uint32{x, b.Ints(nn.Dims{uint32(len(c.axes))}, c.axes...), b.Scalar(keep)}, []uint32{y})
					b.Output(y)
					Compare(t, d, nntest.Build(&b), elementTolerance(typ), 4)
				})
			})
		}
	}
}
