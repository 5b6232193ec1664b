package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// realValues decodes dense bytes to real numbers: quantised ones by scale and zero point.
func realValues(o *nn.Operand, data []byte) []float64 {
	size := o.Type.Bytes()
	out := make([]float64, len(data)/size)
	for i := range out {
		out[i] = realValue(o, data[i*size:])
	}
	return out
}

func realValue(o *nn.Operand, b []byte) float64 {
	quantised := func(q int32) float64 { return float64(q-o.ZeroPoint) * float64(o.Scale) }
	switch o.Type {
	case nn.TensorFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case nn.TensorFloat16:
		return float64(nn.Half(binary.LittleEndian.Uint16(b)).Float32())
	case nn.TensorInt32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case nn.TensorQuant8Asymm:
		return quantised(int32(b[0]))
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
		return quantised(int32(int8(b[0])))
	case nn.TensorQuant16Asymm:
		return quantised(int32(binary.LittleEndian.Uint16(b)))
	case nn.TensorQuant16Symm:
		return quantised(int32(int16(binary.LittleEndian.Uint16(b))))
	}
	return float64(b[0])
}

// finite makes a number fit for JSON, which has no infinity: the largest number stands for one, and for what
// is not a number.
func finite(v float64) float64 {
	switch {
	case math.IsInf(v, -1):
		return -math.MaxFloat64
	case math.IsInf(v, 1) || math.IsNaN(v):
		return math.MaxFloat64
	}
	return v
}

// shapeText is the type and dimensions of an operand for people.
func shapeText(o *nn.Operand) string { return fmt.Sprintf("%v %v", o.Type, []uint32(o.Dims)) }
