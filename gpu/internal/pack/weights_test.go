package pack

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestWeightsAreMadeWhenTheyAreRead: in whatever pieces, each once where they are read front to back.
func TestWeightsAreMadeWhenTheyAreRead(t *testing.T) {
	w := NewWeights(1 << 20)
	var made atomic.Int64
	var want []byte
	for i, n := range []int{soon + 1, 3, 5 * soon, soon, 2*soon + plan.Align - 1, plan.Align} {
		data := bytes.Repeat([]byte{byte(i + 1)}, n)
		offset := w.Make("a constant", []byte{byte(i)}, Recipe{How: "repeat"}, int64(n), func() []byte {
			made.Add(1)
			return data
		})
		require.EqualValues(t, len(want), offset)
		want = append(want, data...)
		want = append(want, make([]byte, plan.AlignUp(int64(n))-int64(n))...)
	}
	want = append(want, make([]byte, plan.Align)...)
	require.EqualValues(t, len(want), w.Size())
	require.EqualValues(t, 3, made.Swap(0), "small ones at once")
	for _, step := range []int{1000, soon, 3*soon + 7, len(want)} {
		got := bytes.Repeat([]byte{9}, len(want))
		for at := 0; at < len(got); at += step {
			_, err := w.ReadAt(got[at:min(at+step, len(got))], int64(at))
			require.NoError(t, err)
		}
		require.Equal(t, want, got, step)
		require.EqualValues(t, 3, made.Swap(0), step)
	}
	part := bytes.Repeat([]byte{9}, 100) // what was there is written over, padding too
	n, err := w.ReadAt(part, w.Size()-60)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 60, n)
	require.Equal(t, append(make([]byte, 60), bytes.Repeat([]byte{9}, 40)...), part)
	n, err = w.ReadAt(part, w.Size()+1)
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, n)
}

func TestWeightsOfAnotherSizeAreAnError(t *testing.T) {
	w := NewWeights(1 << 20)
	w.Make("a constant", []byte{1}, Recipe{}, 2*soon, func() []byte { return make([]byte, 2*soon-1) })
	_, err := w.Bytes()
	require.ErrorContains(t, err, "8191 bytes of packed weights where 8192 were to be")
}
