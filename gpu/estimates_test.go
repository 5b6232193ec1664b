package gpu

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestEstimatesAreStored: what was learned of the segments comes back with the model; what makes no sense is ignored.
func TestEstimatesAreStored(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			m := network(t, "digits/digits_s8.tflite")
			x, err := b.Compile(t.Context(), m, backend.Options{Storable: true})
			require.NoError(t, err)
			model, data, err := x.(backend.Storer).Store()
			require.NoError(t, err)
			first := x.Estimates()
			require.Len(t, first, x.Stats().Segments)

			learned := make([]time.Duration, len(first))
			for i := range learned {
				learned[i] = time.Duration(i+1) * 123 * time.Microsecond
			}
			e := x.(backend.Storer)
			for _, bad := range [][]time.Duration{
				nil, learned[1:], append([]time.Duration{1}, learned...), append([]time.Duration{0}, learned[1:]...),
				append([]time.Duration{-1}, learned[1:]...), append([]time.Duration{backend.MaxEstimate + 1}, learned[1:]...),
			} {
				e.SetEstimates(bad)
				require.Equal(t, first, x.Estimates())
			}
			e.SetEstimates(learned)
			require.Equal(t, learned, x.Estimates())
			alone, err := e.StoreModel()
			require.NoError(t, err)
			again, dataAgain, err := x.(backend.Storer).Store()
			require.NoError(t, err)
			require.Equal(t, again, alone)
			require.Equal(t, data, dataAgain)
			require.NotEqual(t, model, again)
			require.Len(t, again, len(model))
			require.NoError(t, x.Close())

			for _, tc := range []struct {
				model []byte
				want  []time.Duration
			}{{model, first}, {again, learned}} {
				y, err := b.Restore(t.Context(), tc.model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.Equal(t, tc.want, y.Estimates())
				_, err = y.(backend.Storer).StoreModel()
				require.ErrorIs(t, err, errNotStorable)
				require.NoError(t, y.Close())
			}
		})
	}
}
