package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/nngpu/nngpu/driver/nn"
)

// randomInputs fills each input with numbers of a fixed seed: floats in [-1, 1), booleans, other types any
// bytes.
func randomInputs(m *nn.Model) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	inputs := make([][]byte, len(m.Main.Inputs))
	for i := range inputs {
		o := operand(m, m.Main.Inputs, i)
		b := make([]byte, 0, byteSize(o)+4)
		for len(b) < byteSize(o) {
			switch o.Type {
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
		inputs[i] = b[:byteSize(o)]
	}
	return inputs
}
