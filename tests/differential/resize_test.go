package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

func TestResize(t *testing.T) {
	for _, c := range []struct {
		in            nn.Dims
		height, width uint32
	}{
		{nn.Dims{2, 7, 9, 5}, 13, 20},
		{nn.Dims{1, 33, 33, 21}, 65, 65},
		{nn.Dims{1, 8, 6, 3}, 3, 4},
		{nn.Dims{1, 5, 5, 1}, 1, 1},
		{nn.Dims{1, 5, 6, 4}, 5, 6},
		{nn.Dims{1, 3, 4, 40}, 6, 8},
		{nn.Dims{1, 41, 37, 2}, 89, 113},
	} {
		for mode, name := range []string{"plain", "aligned corners", "half pixels"} {
			t.Run(fmt.Sprint(c, name), func(t *testing.T) {
				eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
					for _, op := range []nn.OperationType{nn.OpResizeBilinear, nn.OpResizeNearestNeighbor} {
						var b nn.Builder
						scale, zero := quant(typ, 0)
						x := b.Input(typ, c.in, scale, zero)
						y := b.Temp(typ, nn.Dims{c.in[0], c.height, c.width, c.in[3]}, scale, zero)
						b.Op(op, []uint32{
							x, b.Scalar(int(c.width)), b.Scalar(int(c.height)), b.Scalar(false), b.Scalar(mode == 1), b.Scalar(mode == 2),
						}, []uint32{y})
						b.Output(y)
						tol := elementTolerance(typ)
						switch {
						case op == nn.OpResizeNearestNeighbor:
							tol = Exact
						case typ.IsQuant8():
							tol = OneStep // halves fall either way in float32
						}
						Compare(t, d, nntest.Build(&b), tol, 6)
					}
				})
			})
		}
	}
}
