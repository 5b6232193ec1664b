package numbers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/nngpu/nngpu/driver/nn"
)

// Random returns n bytes of elements of type t for measurements: floats in [-1, 1), booleans, other types any bytes.
func Random(rng *rand.Rand, t nn.OperandType, n int) []byte {
	b := make([]byte, 0, n+4)
	for len(b) < n {
		switch t {
		case nn.TensorFloat32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(rng.Float32()*2-1))
		case nn.TensorFloat16:
			// A sign, an exponent below that of 1, a random fraction.
			b = binary.LittleEndian.AppendUint16(b, uint16(rng.Uint32()&0x83ff|14<<10))
		case nn.TensorBool8:
			b = append(b, byte(rng.Uint32()&1))
		default:
			b = binary.LittleEndian.AppendUint32(b, rng.Uint32())
		}
	}
	return b[:n]
}
