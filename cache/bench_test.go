package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// weights are the sizes of the data part that are timed: none, those of a small network, of a large one.
var weights = []int{0, 4 << 20, 64 << 20}

// readInto reads all data of e into staging, as a driver does, and closes e.
func readInto(b *testing.B, e *Entry, staging []byte) {
	_, err := e.Data.ReadAt(staging[:e.Data.Size()], 0)
	require.NoError(b, err)
	require.NoError(b, e.Close())
}

// BenchmarkLoad times the HAL's form: one copy of the data, unverified.
func BenchmarkLoad(b *testing.B) {
	for _, size := range weights {
		b.Run(fmt.Sprintf("%d MB", size>>20), func(b *testing.B) {
			o, f := options(b), newFiles(b, 1, 1)
			require.NoError(b, openMap(b, o).Save(Token{}, noise(1, 200_000), noise(2, size), f.model, f.data))
			staging := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				// A map of its own each time, as in a process that has just started.
				e, err := openMap(b, o).Load(Token{}, f.model, f.data)
				require.NoError(b, err)
				readInto(b, e, staging)
			}
		})
	}
}

// BenchmarkGet times the transparent form: one copy of the data, verified where it lands.
func BenchmarkGet(b *testing.B) {
	for _, size := range weights {
		b.Run(fmt.Sprintf("%d MB", size>>20), func(b *testing.B) {
			o := options(b)
			require.NoError(b, openStore(b, o).Put(key(1), "", noise(1, 200_000), noise(2, size)))
			staging := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				e, err := openStore(b, o).Get(key(1))
				require.NoError(b, err)
				readInto(b, e, staging)
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	m, f := openMap(b, options(b)), newFiles(b, 1, 1)
	model, data := noise(1, 200_000), noise(2, 4<<20)
	for b.Loop() {
		require.NoError(b, m.Save(Token{}, model, data, f.model, f.data))
	}
}

func BenchmarkPut(b *testing.B) {
	s := openStore(b, options(b))
	model, data := noise(1, 200_000), noise(2, 4<<20)
	for b.Loop() {
		require.NoError(b, s.Put(key(1), "", model, data))
	}
}

// TestLoadCopiesDataOnce: loading allocates for the model, and nothing that grows with the data.
func TestLoadCopiesDataOnce(t *testing.T) {
	const size = 16 << 20
	o, f := options(t), newFiles(t, 1, 1)
	s := openStore(t, o)
	require.NoError(t, s.Save(Token{}, noise(1, 1000), noise(2, size), f.model, f.data))
	require.NoError(t, s.Put(key(1), "", noise(1, 1000), noise(2, size)))
	staging := make([]byte, size)
	most := int64(256 << 10)
	if nntest.Raced { // a sync.Pool then drops at random what it is given
		most = size / 2
	}
	for name, load := range map[string]func() (*Entry, error){
		"HAL":   func() (*Entry, error) { return s.Load(Token{}, f.model, f.data) },
		"store": func() (*Entry, error) { return s.Get(key(1)) },
	} {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := load()
				require.NoError(b, err)
				readInto(b, e, staging)
			}
		})
		require.Less(t, r.AllocedBytesPerOp(), most, name)
	}
}
