//go:build linux

package keep

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopiedWeights: what the host does not see on the device is copied, as far as it belongs to the executable, and cannot be
// changed; what it sees is not.
func TestCopiedWeights(t *testing.T) {
	all := []byte("weights and what lies behind them")
	const size = 7
	var k Weights
	defer k.Close()
	data, err := k.Take(bytes.NewReader(all), size, false)
	require.NoError(t, err)
	require.Equal(t, int64(size), data.Size())
	got, err := io.ReadAll(io.NewSectionReader(data, 0, data.Size()))
	require.NoError(t, err)
	require.Equal(t, all[:size], got)
	require.Equal(t, int64(size), k.Bytes())
	_, err = data.(sized).WriteAt([]byte("x"), 0)
	require.Error(t, err)

	for name, size := range map[string]int64{"seen by the host": size, "none": 0, "less than there should be": int64(len(all)) + 1} {
		var k Weights
		r := bytes.NewReader(all)
		data, err := k.Take(r, size, name == "seen by the host")
		require.NoError(t, err, name)
		require.Same(t, r, data, name)
		require.Zero(t, k.Bytes(), name)
		k.Close()
	}
}
