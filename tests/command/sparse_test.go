package command

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hole writes a file that has data at its beginning and size bytes in all, most of them on no disk.
func hole(t *testing.T, path string, data []byte, size int64) string {
	t.Helper()
	write(t, path, data)
	if err := os.Truncate(path, size); err != nil {
		t.Skipf("no sparse files: %v", err)
	}
	return path
}

// TestSparseFiles: what a file holds is judged before it is read. Reading these takes many seconds.
func TestSparseFiles(t *testing.T) {
	device, f := anyDevice(t), newFiles(t)
	inFolder := func(name string) string { return filepath.Join(t.TempDir(), name) }
	model := func(data []byte, size int64) []string {
		return []string{"inspect", hole(t, inFolder("m.tflite"), data, size), "--device", device}
	}
	run := func(flags ...string) []string { return append([]string{"run", f.model, "--device", device}, flags...) }
	folder := func(file string, data []byte) string {
		dir := pairFolder(t, t.TempDir(), "sparse")
		hole(t, filepath.Join(dir, file), data, 4<<30)
		return dir
	}
	network, picture := read(t, f.model), read(t, f.picture)
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"model of nothing", model(nil, 4<<30-1), usage, "identifier"},
		{"model of 4 GiB", model(network, 4<<30), usage, "at most 4294967295"},
		{"model with a hole of 2 GiB behind it", model(network, 2<<30), usage, "constants are only"},
		{"identifier and nothing", model(network[:8], 4<<30-1), usage, "not a whole one"},
		{"picture of nothing", run("-i", hole(t, inFolder("p.png"), nil, 4<<30)), usage, "pictures have at most"},
		{"small picture of nothing", run("-i", hole(t, inFolder("p.jpg"), nil, 256<<20)), usage, "not a picture"},
		{"picture with a hole behind it", run("-i", hole(t, inFolder("p.png"), picture, 4<<30)), usage, "pictures have at most"},
		{"bytes", run("-i", hole(t, inFolder("x.bin"), nil, 4<<30)), usage, "4294967296 bytes"},
		{"array", run("-i", hole(t, inFolder("x.npy"), npy("|i1", "False", "(1, 28, 28, 1)", nil), 4<<30)), usage, "of data"},
		{"labels", run("-i", f.picture, "--labels", hole(t, inFolder("l.txt"), []byte("a\nb\n"), 4<<30)), usage, "at most"},
		{"expected result", []string{"verify", folder("output_0.bin", nil), "--device", device}, wrong, "expected 24 at most"},
		{"input of a case", []string{"verify", folder("input_1.bin", nil), "--device", device}, wrong, "expected 24 at most"},
		{"description of a case", []string{"verify", folder("meta.json", []byte("{}")), "--device", device}, wrong, "at most"},
		{"model of a case", []string{"verify", folder("model.tflite", network), "--device", device}, wrong, "at most 4294967295"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := nngpu(t, tc.args...)
			require.Equal(t, tc.code, r.code, "%s%s", r.stdout, r.stderr)
			require.Contains(t, r.stdout+r.stderr, tc.says)
			require.Less(t, r.took, 4*time.Second)
		})
	}
}
