package gpu

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// BenchmarkRestore is the time from the two parts of a stored model, the data in a file, to an executable, on a
// device that has its pipelines already. limit-ms is what it may take: 3 ms and 1 ms for each MB of weights.
// Beside it stands the same work of the compiler.
func BenchmarkRestore(b *testing.B) {
	b.Setenv("NNGPU_VALIDATION", "0")
	for _, selector := range vktest.Selectors() {
		for _, name := range []string{"digits/digits_s8.tflite", "mobilenet_v2_224_u8", "mobilenet_v2_224_s8", "deeplabv3_257_f32"} {
			b.Run(selector+"/"+name, func(b *testing.B) {
				m := network(b, name)
				device := openBackend(b, selector, Options{})
				model, data, _, _ := stored(b, device, m, bytesOf(b, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2))))
				path := filepath.Join(b.TempDir(), "data")
				require.NoError(b, os.WriteFile(path, data, 0o600))

				start := time.Now()
				x, err := device.Compile(b.Context(), m, backend.Options{})
				require.NoError(b, err)
				compiled := time.Since(start)
				require.NoError(b, x.Close())

				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					f, err := os.Open(path)
					require.NoError(b, err)
					x, err := device.Restore(b.Context(), model, fileData{f, int64(len(data))}, backend.Options{})
					require.NoError(b, err)
					b.StopTimer() // an executable in use is not closed
					require.NoError(b, x.Close())
					require.NoError(b, f.Close())
					b.StartTimer()
				}
				mb := float64(len(data)) / 1e6
				b.ReportMetric(mb, "weights-MB")
				b.ReportMetric(3+mb, "limit-ms")
				b.ReportMetric(float64(len(model))/1e3, "model-kB")
				b.ReportMetric(float64(compiled)/1e6, "compile-ms")
			})
		}
	}
}
