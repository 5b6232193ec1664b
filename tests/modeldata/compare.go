package modeldata

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Difference is how far an output lies from what was expected: in steps of the output scale for a
// quantised one, absolute for floats.
type Difference struct {
	Max, Mean float64
}

// Compare measures the difference of two dense tensors of type t. Values that are not finite, or not equally
// many, give an infinite difference.
func Compare(t nn.OperandType, got, want []byte) (Difference, error) {
	size := t.Bytes()
	if len(got) != len(want) || size == 0 || len(got)%size != 0 {
		return Difference{math.Inf(1), math.Inf(1)}, fmt.Errorf("%d bytes, expected %d", len(got), len(want))
	}
	value, err := reader(t)
	if err != nil {
		return Difference{}, err
	}
	var d Difference
	n := len(got) / size
	for i := range n {
		diff := math.Abs(value(got[i*size:]) - value(want[i*size:]))
		if math.IsNaN(diff) {
			diff = math.Inf(1)
		}
		d.Max = max(d.Max, diff)
		d.Mean += diff / float64(n)
	}
	return d, nil
}

func reader(t nn.OperandType) (func([]byte) float64, error) {
	switch t {
	case nn.TensorFloat32:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }, nil
	case nn.TensorFloat16:
		return func(b []byte) float64 { return float64(nn.Half(binary.LittleEndian.Uint16(b)).Float32()) }, nil
	case nn.TensorInt32:
		return func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }, nil
	case nn.TensorQuant8Asymm, nn.TensorBool8:
		return func(b []byte) float64 { return float64(b[0]) }, nil
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
		return func(b []byte) float64 { return float64(int8(b[0])) }, nil
	}
	return nil, fmt.Errorf("outputs of type %v are not compared", t)
}

// Within reports whether d is allowed for output i.
func (f *Folder) Within(i int, d Difference) error {
	for _, t := range f.Tolerances {
		if t.Output != i {
			continue
		}
		if !(d.Max <= t.Max) {
			return fmt.Errorf("output %d differs by %.3g, at most %.3g is allowed (%s)", i, d.Max, t.Max, t.Kind)
		}
		if t.Mean > 0 && !(d.Mean <= t.Mean) {
			return fmt.Errorf("output %d differs by %.3g on average, at most %.3g is allowed (%s)", i, d.Mean, t.Mean, t.Kind)
		}
		return nil
	}
	return fmt.Errorf("meta.json states no tolerance for output %d", i)
}
