package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestClosedEntry: closing twice is nothing, and what is read afterwards is closed, not damaged.
func TestClosedEntry(t *testing.T) {
	s := openStore(t, options(t))
	require.NoError(t, s.Put(Key{1}, "test", []byte("model"), make([]byte, 3<<18)))
	e, err := s.Get(Key{1})
	require.NoError(t, err)
	b := make([]byte, 2<<18)
	_, err = e.Data.ReadAt(b, 5)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, e.Close())
		for _, off := range []int64{0, 5, 1 << 40} {
			_, err = e.Data.ReadAt(b, off)
			require.ErrorIs(t, err, nn.ErrClosed)
			require.NotErrorIs(t, err, ErrRejected)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
		}
		require.EqualValues(t, 3<<18, e.Data.Size())
	}
}
