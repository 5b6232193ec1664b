package hugepages

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMake: whatever the kernel makes of the advice, it is memory like any other.
func TestMake(t *testing.T) {
	for _, n := range []int64{0, 1, 4096, huge, enough - 1, enough, enough + 4097, 3*enough + 1} {
		b := Make(n)
		require.Len(t, b, int(n))
		require.Zero(t, bytes.Count(b, []byte{1}))
		for i := range b {
			b[i] = 1
		}
		require.Equal(t, int(n), bytes.Count(b, []byte{1}))
		for _, part := range [][]byte{b, b[min(1, n):], b[n/3 : n/2]} { // wherever it begins and ends
			Advise(part)
			require.Equal(t, len(part), bytes.Count(part, []byte{1}))
		}
	}
}
