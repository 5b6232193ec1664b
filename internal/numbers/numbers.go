// Package numbers reads the elements of tensors and tells how far two of them lie apart: every comparison of results in
// the tests and the command uses it.
package numbers

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Of widens the little-endian elements of type t to float64, quantised ones as their stored integers. All are
// exact.
func Of(t nn.OperandType, data []byte) ([]float64, error) {
	n := t.Bytes()
	if n == 0 || len(data)%n != 0 {
		return nil, fmt.Errorf("%d bytes of type %s", len(data), t)
	}
	v := make([]float64, len(data)/n)
	for i := range v {
		b := data[i*n:]
		switch t {
		case nn.TensorFloat32, nn.Float32:
			v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case nn.TensorFloat16, nn.Float16:
			v[i] = float64(nn.Half(binary.LittleEndian.Uint16(b)).Float32())
		case nn.TensorInt32, nn.Int32:
			v[i] = float64(int32(binary.LittleEndian.Uint32(b)))
		case nn.Uint32:
			v[i] = float64(binary.LittleEndian.Uint32(b))
		case nn.TensorQuant16Symm:
			v[i] = float64(int16(binary.LittleEndian.Uint16(b)))
		case nn.TensorQuant16Asymm:
			v[i] = float64(binary.LittleEndian.Uint16(b))
		case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel:
			v[i] = float64(int8(b[0]))
		default: // TensorQuant8Asymm, TensorBool8, Bool
			v[i] = float64(b[0])
		}
	}
	return v, nil
}

// Distance is |got - want|. An infinity is at distance 0 from itself and infinitely far from everything else, and so is
// NaN.
func Distance(got, want float64) float64 {
	switch {
	case got == want || math.IsNaN(got) && math.IsNaN(want):
		return 0
	case !finite(got) || !finite(want):
		return math.Inf(1)
	}
	return math.Abs(got - want)
}

// Near reports whether |got - want| <= abs + rel*|want|. No tolerance covers an infinity or NaN: these are met exactly.
func Near(got, want, abs, rel float64) bool {
	if !finite(want) {
		return Distance(got, want) == 0
	}
	return Distance(got, want) <= abs+rel*math.Abs(want)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
