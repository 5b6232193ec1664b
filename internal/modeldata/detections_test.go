package modeldata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDetected: what is listed must be found, in any order, and of what else is found only what has a low score counts for nothing.
func TestDetected(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "meta.json"), []byte(`{"name": "x", "format": {"kind": "tflite"}, "tolerance": [
		{"output": 0, "kind": "detections"}, {"output": 1, "kind": "detections"}, {"output": 2, "kind": "detections"}, {"output": 3, "kind": "exact"}],
		"cases": [{"dir": ".", "inputs": [{}], "outputs": [{}, {}, {}, {}], "detections": [
			{"label": "cat", "cls": 16, "score": 0.7, "box": [0, 0.25, 0.5, 1]}, {"label": "dog", "cls": 17, "score": 0.5, "box": [0, 0.25, 0.5, 1]}]}]}`), 0o600))
	f, err := Open(dir)
	require.NoError(t, err)
	require.True(t, f.Lists(2) && !f.Lists(3))
	require.NoError(t, f.Within(1, Difference{Max: 99}))
	require.Error(t, f.Within(3, Difference{Max: 1}))
	at := []float32{0, 0.25, 0.5, 1}
	for _, tc := range []struct {
		name                   string
		boxes, classes, scores []float32
		err                    string
	}{
		{"both", append(at, at...), []float32{16, 17}, []float32{0.7, 0.5}, ""},
		{"the other way round, nearly", append([]float32{0.02, 0.25, 0.5, 1}, at...), []float32{17, 16}, []float32{0.52, 0.69}, ""},
		{"and one of low score", append(append(at, at...), 9, 9, 9, 9), []float32{16, 17, 3}, []float32{0.7, 0.5, 0.41}, ""},
		{"and one of high score", append(append(at, at...), 9, 9, 9, 9), []float32{16, 17, 3}, []float32{0.7, 0.5, 0.45}, "is not expected"},
		{"one twice", append(append(at, at...), at...), []float32{16, 17, 17}, []float32{0.7, 0.5, 0.5}, "is not expected"},
		{"one only", at, []float32{16}, []float32{0.7}, "class 17"},
		{"another class", append(at, at...), []float32{16, 18}, []float32{0.7, 0.5}, "class 17"},
		{"another score", append(at, at...), []float32{16, 17}, []float32{0.7, 0.46}, "class 17"},
		{"another place", append(at, 0, 0.25, 0.5, 0.96), []float32{16, 17}, []float32{0.7, 0.5}, "class 17"},
		{"boxes too few", at, []float32{16, 17}, []float32{0.7, 0.5}, "1 boxes"},
	} {
		err := f.Detected(&f.Cases[0], [][]byte{encode(tc.boxes), encode(tc.classes), encode(tc.scores), nil})
		if tc.err == "" {
			require.NoError(t, err, tc.name)
		} else {
			require.ErrorContains(t, err, tc.err, tc.name)
		}
	}
	require.Error(t, f.Detected(&f.Cases[0], nil))
	require.NoError(t, (&Folder{}).Detected(&Case{}, nil))
}
