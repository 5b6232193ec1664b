package conformancedata

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed writes a file of models.
func packed(t *testing.T, lines string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(lines))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	path := filepath.Join(t.TempDir(), "models.jsonl.gz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// TestListsOfNothing: a list of empty objects has three bytes of text for each, and next to none when it is packed.
func TestListsOfNothing(t *testing.T) {
	many := func(n int) string { return "[" + strings.Repeat("{},", n-1) + "{}]" }
	for name, tc := range map[string]struct{ line, says string }{
		"operands":   {`{"name": "x", "main": {"operands": ` + many(1_000_000) + `}}`, "a list of more than"},
		"operations": {`{"name": "x", "main": {"operations": ` + many(1_000_000) + `}}`, "a list of more than"},
		"graphs":     {`{"name": "x", "referenced": ` + many(1_000_000) + `}`, "a list of more than"},
		"long line":  {`{"name": "x", "main": {"operands": ` + many(10_000_000) + `}}`, "line longer than"},
		"no list":    {`{"name": "x", "main": {"operands": {}}}`, "instead of a list"},
		"no objects": {`{"name": "x", "main": {"operands": [1]}}`, "cannot unmarshal"},
	} {
		path := packed(t, tc.line)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := LoadFile(path, nil, func(*Case) error { return nil })
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, tc.says, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20), name)
	}
	require.NoError(t, LoadFile(packed(t, `{"name": "x", "main": {"operands": null}, "referenced": []}`), nil, func(*Case) error { return nil }))
}

// TestPipe: nobody writes to it.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "models.jsonl.gz"), 0o600))
	require.ErrorContains(t, Load(dir, nil, nil), "not a regular file")
}
