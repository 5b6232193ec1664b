package gpu

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestQuickModels: fewer and smaller pipelines, the same results within the rounding of another order of sums, and
// the same again when stored.
func TestQuickModels(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, name := range storedNetworks {
			t.Run(selector+" "+name, func(t *testing.T) {
				m := network(t, name)
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
				b := openBackend(t, selector, Options{})
				_, _, want, full := stored(t, b, m, inputs)
				x, err := b.Compile(t.Context(), m, backend.Options{Quick: true, Storable: true})
				require.NoError(t, err)
				require.LessOrEqual(t, x.Stats().Pipelines, full.Pipelines)
				got := compute(t, x, m, inputs)
				requireClose(t, m, want, got)
				model, data, err := x.(backend.Storer).Store()
				require.NoError(t, err)
				require.NoError(t, x.Close())
				y, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.Equal(t, got, compute(t, y, m, inputs))
				require.NoError(t, y.Close())
			})
		}
	}
}

// requireClose wants equal 8-bit outputs, and floats that differ by rounding only.
func requireClose(t *testing.T, m *nn.Model, want, got [][]byte) {
	t.Helper()
	for i, index := range m.Main.Outputs {
		if m.Main.Operands[index].Type != nn.TensorFloat32 {
			require.Equal(t, want[i], got[i], "output %d", i)
			continue
		}
		for k := 0; k < len(want[i]); k += 4 {
			w := math.Float32frombits(binary.LittleEndian.Uint32(want[i][k:]))
			g := math.Float32frombits(binary.LittleEndian.Uint32(got[i][k:]))
			require.InDelta(t, w, g, 1e-5+1e-5*math.Abs(float64(w)), "output %d", i)
		}
	}
}
