package differential

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestLSHSweep: rows of every length that is hashed in a way of its own, of every type, by seeds of both; weights whose sums
// cancel, and those that are infinite, no number, tiny or 0.
func TestLSHSweep(t *testing.T) {
	types := []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm}
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		real, typ := types[seed%2], oneOf(rng, types)
		in := randomDims(rng, 1+int(seed%4), 600)
		hash := nn.Dims{1 + rng.Uint32N(9), 1 + rng.Uint32N(12)}
		weighted := rng.IntN(3) > 0
		scale, zero := quant(typ, 0)
		var b layers.Builder
		seeds, x := b.Input(real, hash, 0, 0), b.Input(typ, in, scale, zero)
		inputs := [][]byte{RandomValue(real, hash, rng), RandomValue(typ, in, rng)}
		var weights []uint32
		if weighted {
			weights = []uint32{b.Input(real, in[:1], 0, 0)}
			inputs = append(inputs, lshWeights(real, int(in[0]), rng))
		}
		b.Output(b.LSHProjection(1+ops.LSHType(rng.IntN(3)), seeds, x, weights...))
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(describe(m))
		if weighted && rng.IntN(2) == 0 { // rows that are alike cancel where their weights do
			half := len(inputs[1]) / int(in[0])
			for i := half; i+half <= len(inputs[1]); i += 2 * half {
				copy(inputs[1][i:i+half], inputs[1][i-half:i])
			}
		}
		CompareOn(t, d, m, inputs, Exact)
	})
}

// lshWeights are n numbers of type t, some of which are those before with another sign.
func lshWeights(t nn.OperandType, n int, rng *rand.Rand) []byte {
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 6e-8, 65504, -1}
	wild := rng.IntN(8) == 0
	var list []byte
	last := 1.0
	for range n {
		w := rng.NormFloat64() * math.Exp2(float64(rng.IntN(20)-10))
		switch k := rng.IntN(10); {
		case k < 3:
			w = -last
		case k == 3 && wild:
			w = special[rng.IntN(len(special))]
		}
		last = w
		if t == nn.TensorFloat16 {
			list = binary.LittleEndian.AppendUint16(list, uint16(nn.HalfOf(float32(w))))
		} else {
			list = binary.LittleEndian.AppendUint32(list, math.Float32bits(float32(w)))
		}
	}
	return list
}
