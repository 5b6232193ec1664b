package tflite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// FuzzImport damages small networks; the import must come back with an error or a consistent model.
func FuzzImport(f *testing.F) {
	f.Add(smallFile(f))
	f.Add(quantisedFile(f))
	for _, data := range shapedFiles(f) {
		f.Add(data)
	}
	n := &net{}
	f.Add(n.file(f, n.detections(flexMapOf(detectionMap(nil)), tflitegen.Float32, none, 4)))
	dir := os.Getenv("NNGPU_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared")
	}
	for _, name := range []string{"hello_world_f32", "micro_speech_s8"} {
		if data, err := os.ReadFile(filepath.Join(dir, "models", name, "model.tflite")); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { mustNotPanic(t, data) })
}
