package gpu

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// countedData counts how often each byte of a file is read. Not safe for concurrent use: Restore reads front to back.
type countedData struct {
	fileData
	reads []uint8 // by byte
	next  int64
	back  int // reads that did not go on where the last one ended
}

func (d *countedData) ReadAt(b []byte, at int64) (int, error) {
	n, err := d.fileData.ReadAt(b, at)
	for i := range n {
		d.reads[at+int64(i)]++
	}
	if at != d.next {
		d.back++
	}
	d.next = at + int64(n)
	return n, err
}

// TestRestoreCopiesOnce: the data part is read once, front to back, into memory of the device or staging memory: none
// of it passes through memory of Go's.
func TestRestoreCopiesOnce(t *testing.T) {
	const rows, columns = 1021, 1024 // 4 MB of weights
	for _, o := range []Options{{}, {Staged: true}} {
		for _, selector := range vktest.Selectors() {
			t.Run(selector+" staged="+strconv.FormatBool(o.Staged), func(t *testing.T) {
				b := openBackend(t, selector, o)
				m := matrixModel(rows, columns)
				rng := rand.New(rand.NewPCG(5, 6))
				for i := range 4 * rows * columns { // the filter: equal parts of it would be stored once
					m.Values[i] = byte(rng.Uint32())
				}
				model, data, _, stats := stored(t, b, m, bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))))
				require.Greater(t, stats.WeightBytes, int64(rows*columns*4))
				path := filepath.Join(t.TempDir(), "data")
				require.NoError(t, os.WriteFile(path, data, 0o600))
				f, err := os.Open(path)
				require.NoError(t, err)
				defer f.Close()
				d := &countedData{fileData: fileData{f, int64(len(data))}, reads: make([]uint8, len(data))}

				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				x, err := b.Restore(t.Context(), model, d, backend.Options{})
				require.NoError(t, err)
				runtime.ReadMemStats(&after)
				require.NoError(t, x.Close())
				require.Zero(t, d.back)
				for at, n := range d.reads {
					if n != 1 {
						t.Fatalf("byte %d of %d was read %d times", at, len(data), n)
					}
				}
				allocated := int64(after.TotalAlloc - before.TotalAlloc)
				require.Less(t, allocated, stats.WeightBytes/4, "bytes of Go's memory")
			})
		}
	}
}
