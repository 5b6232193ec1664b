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

// encode is a tensor of type t with the given stored numbers.
func encode(t nn.OperandType, values []float64) []byte {
	var b []byte
	for _, v := range values {
		switch t {
		case nn.TensorFloat32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case nn.TensorFloat16:
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(float32(v))))
		case nn.TensorInt32:
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
		default:
			b = append(b, byte(int(v)))
		}
	}
	return b
}

// TestCastOfExtremes: numbers that the other type rounds, cuts off or saturates.
func TestCastOfExtremes(t *testing.T) {
	values := map[nn.OperandType][]float64{
		nn.TensorFloat32: {
			-3e9, -2147483648, -70000, -300, -1.5, -1, -0.99, -0.5, math.Copysign(0, -1), 0, 1e-30,
			0.5, 0.99, 1.5, 2.5, 254.5, 255.5, 300, 16777217, 2147483520,
		},
		nn.TensorFloat16:     {-65504, -300, -1.5, -1, -0.5, 0, 0.5, 0.999, 1.5, 254.5, 255.5, 300, 2049, 65504},
		nn.TensorInt32:       {math.MinInt32, -16777217, -300, -1, 0, 1, 255, 256, 2049, 4099, 16777217, 16777219, 33554435, math.MaxInt32},
		nn.TensorQuant8Asymm: {0, 1, 127, 128, 254, 255},
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for from, list := range values {
			for to := range values {
				t.Run(fmt.Sprint(from, " ", to), func(t *testing.T) {
					var kept []float64
					for _, v := range list {
						if to != nn.TensorFloat16 || math.Abs(v) <= 65504 { // others have no such number
							kept = append(kept, v)
						}
					}
					n := uint32(len(kept))
					m := oneOp(nn.OpCast, []tensor{of(from, 0, nn.Dims{n, 1})}, of(to, 1, nn.Dims{n, 1}), nil, nil)
					CompareOn(t, d, m, [][]byte{encode(from, kept)}, Exact)
				})
			}
		}
	})
}

// TestQuantizeExtremes: halves of a step, and numbers far outside.
func TestQuantizeExtremes(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, to := range quantTypes {
			for _, from := range floatTypes {
				for _, scale := range []float32{0.25, 0.1, 1.0 / 256, 3} {
					t.Run(fmt.Sprint(from, to, scale), func(t *testing.T) {
						var values []float64
						for k := -140; k < 270; k++ {
							values = append(values, (float64(k)+0.5)*float64(scale), float64(k)*float64(scale))
						}
						values = append(values, -60000, 60000)
						if from == nn.TensorFloat32 {
							values = append(values, -1e30, 1e30, 1e-40)
						}
						dims := nn.Dims{uint32(len(values)), 1}
						y := tensor{typ: to, dims: dims, scale: scale, zero: 9}
						m := oneOp(nn.OpQuantize, []tensor{of(from, 0, dims)}, y, nil, nil)
						CompareOn(t, d, m, [][]byte{encode(from, values)}, Exact)
					})
				}
			}
		}
	})
}
