// Package networks holds the networks of internal/networks to the reference, on every device.
package networks

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/networks"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

var update = flag.Bool("update", false, "write internal/networks/ranges.json and testdata/*.golden")

// soak reports whether what takes minutes is to run, too.
func soak() bool { return os.Getenv("NNGPU_SOAK") == "1" }

// input is a network's input of a seed: numbers from -1 to 1, of 8 bits each byte.
func input(m *nn.Model, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	o := m.Main.Operands[m.Main.Inputs[0]]
	elements, _ := o.Dims.Elements()
	floats := make([]float32, elements)
	for i := range floats {
		floats[i] = 2*rng.Float32() - 1
	}
	switch o.Type {
	case nn.TensorFloat16:
		halves := make([]nn.Half, len(floats))
		for i, v := range floats {
			halves[i] = nn.HalfOf(v)
		}
		return nn.Bytes(halves)
	case nn.TensorQuant8AsymmSigned:
		stored := make([]byte, len(floats))
		for i, v := range floats {
			stored[i] = byte(int8(math.Floor(float64(v) * 128)))
		}
		return stored
	}
	return nn.Bytes(floats)
}

func build(t *testing.T, s networks.Spec) *networks.Network {
	t.Helper()
	n, err := networks.Build(s)
	require.NoError(t, err)
	return n
}

// evaluate computes a network by the reference.
func evaluate(t *testing.T, m *nn.Model, in []byte) *ref.Evaluation {
	t.Helper()
	e, err := ref.Evaluate(m, [][]byte{in}, ref.Options{Arithmetic: ref.ArithmeticOf(m)})
	require.NoError(t, err)
	return e
}

// TestRanges: ranges.json holds what the reference computes of the float networks. Those of full size take the long
// tests.
func TestRanges(t *testing.T) {
	const file = "../../internal/networks/ranges.json"
	kept := map[string]map[string]networks.Range{}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &kept))
	for _, name := range networks.Names() {
		for _, small := range []bool{true, false} {
			t.Run(networks.RangesName(name, small), func(t *testing.T) {
				if !small && !soak() && !*update {
					require.NotEmpty(t, kept[name])
					return
				}
				got := ranges(t, networks.Spec{Name: name, Small: small})
				if *update {
					kept[networks.RangesName(name, small)] = got
					return
				}
				require.Equal(t, kept[networks.RangesName(name, small)], got)
			})
		}
	}
	if *update {
		data, err := json.MarshalIndent(kept, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(data, '\n'), 0o644))
	}
}

// ranges are those of the activations of a float network for some inputs, to three digits, so that no difference of a
// processor's last bits shows.
func ranges(t *testing.T, s networks.Spec) map[string]networks.Range {
	n := build(t, s)
	found := map[string]networks.Range{}
	seeds := uint64(2)
	if s.Small {
		seeds = 8 // fewer pixels differ more
	}
	for seed := range seeds {
		e := evaluate(t, n.Model, input(n.Model, seed+1))
		for operand, name := range n.Ranged {
			r := found[name]
			for _, v := range e.Operands[operand].V {
				r[0], r[1] = min(r[0], v), max(r[1], v)
			}
			found[name] = r
		}
	}
	for name, r := range found {
		for i, v := range r {
			if v != 0 {
				digits := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
				r[i] = math.Round(v*digits) / digits
			}
		}
		found[name] = r
	}
	return found
}
