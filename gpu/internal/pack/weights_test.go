package pack

import (
	"bytes"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TestWeightsAreMadeWhenTheyAreRead: in whatever pieces, each once where they are read front to back.
func TestWeightsAreMadeWhenTheyAreRead(t *testing.T) {
	w := NewWeights(1 << 20)
	var made atomic.Int64
	var want []byte
	for i, n := range []int{soon + 1, 3, 5 * soon, soon, 2*soon + plan.Align - 1, plan.Align} {
		data := bytes.Repeat([]byte{byte(i + 1)}, n)
		offset := w.Make("a constant", []byte{byte(i)}, Recipe{How: "repeat"}, int64(n), func(dst []byte) {
			made.Add(1)
			require.Equal(t, len(data), copy(dst, data))
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

// TestEqualConstantsAreMadeOnce, wherever they lie; those that differ in one byte are not taken for each other.
func TestEqualConstantsAreMadeOnce(t *testing.T) {
	w, r := NewWeights(1<<24), rand.New(rand.NewPCG(1, 2))
	constants := [][]byte{{}, {1}}
	for _, n := range []int{2, 255, 256, 257, 512, 513, 5_000} {
		c := make([]byte, n)
		for i := range c {
			c[i] = byte(r.Uint32())
		}
		constants = append(constants, c, c[:n-1], c[1:])
		for _, i := range []int{0, n / 2, n - 1} {
			other := bytes.Clone(c)
			other[i] ^= 1
			constants = append(constants, other)
		}
	}
	seen := map[string]int64{}
	for range 3 {
		for _, c := range constants {
			c = bytes.Clone(c)
			offset := w.Make("a constant", c, Recipe{How: "repeat"}, 2*soon, func(dst []byte) { clear(dst[copy(dst, c):]) })
			if first, ok := seen[string(c)]; ok {
				require.Equal(t, first, offset)
				continue
			}
			require.EqualValues(t, len(seen)*2*soon, offset)
			seen[string(c)] = offset
		}
	}
	all, err := w.Bytes()
	require.NoError(t, err)
	for c, offset := range seen {
		require.True(t, c == string(all[offset:][:len(c)]), len(c))
	}
}

// filled is what do makes of n bytes that hold something else.
func filled(n int, do Fill) []byte {
	dst := bytes.Repeat([]byte{0xa5}, n)
	do(dst)
	return dst
}

// floatsIn decodes what putFloats wrote.
func floatsIn(b []byte) []float32 {
	return Floats(&ir.Tensor{Type: nn.TensorFloat32, Shape: []int{len(b) / 4}, Const: b})
}
