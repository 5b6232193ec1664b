package modeldata

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadRegularFilesOnly: a pipe is refused, and not waited for.
func TestReadRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "meta.json"), filepath.Join(dir, "input_0.bin")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("abc"), 0o600))
	_, err := Open(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Read([]string{file, pipe})
	require.ErrorContains(t, err, "not a regular file")
	_, err = Read([]string{dir})
	require.Error(t, err)
	got, err := Read([]string{file})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("abc")}, got)
	_, err = Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, ErrNoModel)
	huge := filepath.Join(dir, "huge")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, maxFile+1))
	_, err = Read([]string{huge})
	require.ErrorContains(t, err, "at most")
}
