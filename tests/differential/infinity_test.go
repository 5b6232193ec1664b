package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// floatsOf is a tensor of type t with the given numbers, infinities included.
func floatsOf(t nn.OperandType, values ...float64) []byte {
	var b []byte
	for _, v := range values {
		if t == nn.TensorFloat16 {
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(v)))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		}
	}
	return b
}

// TestInfinities: results beyond the largest number of a type, poles, and infinite operands. big is near the largest
// number of the type.
func TestInfinities(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct {
		op nn.OperationType
		x  []float64 // big counts as 1
		y  []float64 // of operations of two tensors
	}{
		{op: nn.OpExp, x: []float64{1, -1, inf, -inf, 0}},
		{op: nn.OpLog, x: []float64{0, inf}},
		{op: nn.OpSqrt, x: []float64{inf, 1, 0}},
		{op: nn.OpRsqrt, x: []float64{0, inf}},
		{op: nn.OpTanh, x: []float64{inf, -inf, 1, -1}},
		{op: nn.OpLogistic, x: []float64{inf, -inf, 1, -1}},
		{op: nn.OpAbs, x: []float64{inf, -inf}},
		{op: nn.OpNeg, x: []float64{inf, -inf}},
		{op: nn.OpFloor, x: []float64{inf, -inf, 1}},
		{op: nn.OpRelu, x: []float64{inf, -inf, 1, -1}},
		{op: nn.OpRelu1, x: []float64{inf, -inf, 1, -1}},
		{op: nn.OpRelu6, x: []float64{inf, -inf, 1, -1}},
		{op: nn.OpElu, x: []float64{inf, -inf, -1}},
		{op: nn.OpHardSwish, x: []float64{inf, 1}},
		{op: nn.OpAdd, x: []float64{1, -1, inf, -inf, inf}, y: []float64{1, -1, 1, inf, inf}},
		{op: nn.OpSub, x: []float64{1, -1, inf, -inf, inf}, y: []float64{-1, 1, 1, 1, inf}},
		{op: nn.OpMul, x: []float64{1, -1, 1, -inf, inf}, y: []float64{1, 1, inf, inf, 0}},
		{op: nn.OpDiv, x: []float64{1, -1, 0.5, inf, 0}, y: []float64{0, 0, inf, 1, 0}},
		{op: nn.OpMaximum, x: []float64{inf, -inf, 1, -inf}, y: []float64{1, 1, inf, -inf}},
		{op: nn.OpMinimum, x: []float64{inf, -inf, 1, inf}, y: []float64{1, 1, -inf, inf}},
		{op: nn.OpPow, x: []float64{1, -1, inf, 1}, y: []float64{1, 0, 1, -inf}},
		{op: nn.OpSquaredDifference, x: []float64{1, -1, inf}, y: []float64{-1, 1, 0}},
		{op: nn.OpMaxPool2D, x: []float64{inf, -inf, 1, -1}},
	} {
		devices.Each(t, func(t *testing.T, d *driver.Device) {
			for _, typ := range floatTypes {
				t.Run(fmt.Sprint(tc.op, " ", typ), func(t *testing.T) {
					big := map[nn.OperandType]float64{nn.TensorFloat32: 3e38, nn.TensorFloat16: 65024}[typ]
					scaled := func(v []float64) []byte {
						w := make([]float64, len(v))
						for i := range v {
							w[i] = v[i] * big
							if v[i] == 0 {
								w[i] = 0
							}
						}
						return floatsOf(typ, w...)
					}
					dims := nn.Dims{1, 1, 1, uint32(len(tc.x))}
					v := of(typ, 0, dims)
					in, inputs := []tensor{v}, [][]byte{scaled(tc.x)}
					if tc.y != nil {
						in, inputs = append(in, v), append(inputs, scaled(tc.y))
					}
					m := oneOp(tc.op, in, v, nil, func(b *nn.Builder) []uint32 {
						switch tc.op {
						case nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv:
							return []uint32{b.Scalar(nn.ActNone)}
						case nn.OpElu:
							return []uint32{beta(b, typ, 1)}
						case nn.OpMaxPool2D:
							one := b.Scalar(1)
							return []uint32{b.Scalar(nn.PaddingValid), one, one, one, one, b.Scalar(nn.ActNone)}
						}
						return nil
					})
					CompareOn(t, d, m, inputs, elementTolerance(typ))
				})
			}
		})
	}
}
