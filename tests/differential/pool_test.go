package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

func TestPool(t *testing.T) {
	for _, c := range []struct {
		in                       nn.Dims
		height, width            int // of the window
		strideY, strideX         int
		top, bottom, left, right int
		act                      nn.Activation
	}{
		{in: nn.Dims{2, 7, 9, 5}, height: 3, width: 3, strideY: 2, strideX: 2, top: 1, bottom: 1, left: 1, right: 1},
		{in: nn.Dims{1, 7, 7, 8}, height: 7, width: 7, strideY: 1, strideX: 1, act: nn.ActRelu},
		{in: nn.Dims{1, 8, 6, 3}, height: 2, width: 3, strideY: 3, strideX: 1, right: 2, act: nn.ActRelu6},
		{in: nn.Dims{1, 113, 89, 11}, height: 3, width: 2, strideY: 2, strideX: 2},
		{in: nn.Dims{1, 40, 40, 3}, height: 40, width: 40, strideY: 1, strideX: 1, act: nn.ActRelu1}, // by the stages of MEAN
		{in: nn.Dims{1, 260, 260, 2}, height: 260, width: 260, strideY: 1, strideX: 1},               // the largest in two steps
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				for _, op := range []nn.OperationType{nn.OpAveragePool2D, nn.OpMaxPool2D, nn.OpL2Pool2D} {
					if op == nn.OpL2Pool2D && (typ.IsQuant8() || c.in[1] > 200) {
						continue
					}
					var b nn.Builder
					scale, zero := quant(typ, 0)
					x := b.Input(typ, c.in, scale, zero)
					args := []uint32{x}
					for _, v := range []int{c.left, c.right, c.top, c.bottom, c.strideX, c.strideY, c.width, c.height, int(c.act)} {
						args = append(args, b.Scalar(v))
					}
					size := func(n uint32, pads, window, stride int) uint32 { return uint32((int(n)+pads-window)/stride + 1) }
					y := b.Temp(typ, nn.Dims{
						c.in[0], size(c.in[1], c.top+c.bottom, c.height, c.strideY), size(c.in[2], c.left+c.right, c.width, c.strideX), c.in[3],
					}, scale, zero)
					b.Op(op, args, []uint32{y})
					b.Output(y)
					Compare(t, d, nntest.Build(&b), elementTolerance(typ), 5)
				}
			})
		})
	}
}
