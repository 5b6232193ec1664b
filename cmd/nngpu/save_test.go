package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func outputs(dir string, data ...string) []outputFile {
	var list []outputFile
	for i, d := range data {
		list = append(list, outputFile{outputPath(dir, i, "bin"), []byte(d)})
	}
	return list
}

func TestSaveOutputs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, saveOutputs(dir, outputs(dir, "one", "")))
	require.NoError(t, saveOutputs(dir, outputs(dir, "two", "three")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	b, err := os.ReadFile(filepath.Join(dir, "output_0.bin"))
	require.NoError(t, err)
	require.Equal(t, "two", string(b))
}

// TestSaveAllOrNothing has a folder in the way of the second output.
func TestSaveAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "output_1.bin"), 0o755))
	require.Error(t, saveOutputs(dir, outputs(dir, "one", "two")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	// An old result stays as it was.
	old := filepath.Join(dir, "output_0.bin")
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o644))
	require.Error(t, saveOutputs(dir, outputs(dir, "one", "two")))
	b, err := os.ReadFile(old)
	require.NoError(t, err)
	require.Equal(t, "old", string(b))
}

func TestSaveIntoNewFolderFails(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	// The second file lies in a folder that does not exist.
	files := append(outputs(dir, "one"), outputFile{filepath.Join(dir, "absent", "output_1.bin"), nil})
	require.Error(t, saveOutputs(dir, files))
	require.NoDirExists(t, dir)
}
