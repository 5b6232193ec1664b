package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCacheCommand follows entries of the cache from their making to their end.
func TestCacheCommand(t *testing.T) {
	device := anyDevice(t)
	flags, dir, _ := cacheFlags(t)
	call := func(code int, args ...string) map[string]any {
		t.Helper()
		plain := nngpu(t, append(append([]string{"cache"}, args...), flags...)...)
		require.Equal(t, code, plain.code, "%v: %s%s", args, plain.stdout, plain.stderr)
		require.NotEmpty(t, plain.stdout)
		r := nngpu(t, append(append([]string{"cache", "--json"}, args...), flags...)...)
		require.Equal(t, code, r.code, "%v: %s%s", args, r.stdout, r.stderr)
		return object(t, r.stdout)
	}
	require.Empty(t, call(right, "ls")["entries"])
	require.Equal(t, dir, call(right, "path")["path"])
	require.Equal(t, dir+"\n", ok(t, append([]string{"cache", "path"}, flags...)...).stdout)

	digit(t, device, flags...)
	ok(t, append([]string{"run", example(t, "digits_f32.tflite"), "-i", example(t, "samples/5.png"), "--device", device}, flags...)...)
	entries := call(right, "ls")["entries"].([]any)
	require.Len(t, entries, 2)
	first := entries[0].(map[string]any)
	require.Equal(t, []string{"data_bytes", "device", "id", "label", "made", "model_bytes", "used"}, keys(first))
	require.Contains(t, first["label"], "operations")
	stats := call(right, "stats")
	require.Equal(t, []string{"bytes", "devices", "entries", "max_bytes", "path", "state"}, keys(stats))
	require.Equal(t, 2.0, stats["entries"])
	require.Equal(t, 1.0, stats["devices"])
	require.Equal(t, 0.0, call(right, "verify")["damaged"])

	flipBits(t, dir)
	verified := call(wrong, "verify")
	require.Equal(t, 2.0, verified["damaged"])
	require.NotEmpty(t, verified["entries"].([]any)[1].(map[string]any)["error"])

	id := first["id"].(string)
	complete := func(words ...string) string {
		t.Helper()
		return ok(t, append(append([]string{"__complete", "cache", "rm"}, flags...), words...)...).stdout
	}
	for _, e := range entries {
		require.Contains(t, complete(""), e.(map[string]any)["id"].(string)+"\t", "with what it is")
	}
	require.Regexp(t, `\A`+id+`\t[^\n]*operations[^\n]*\n:4\n\z`, complete(id[:20]), "and no files")
	require.NotContains(t, complete(id, ""), id, "it is on the command line")
	require.Equal(t, ":4\n", complete("zz"))
	require.Equal(t, 1.0, object(t, ok(t, append([]string{"cache", "rm", id[:20], "--json"}, flags...)...).stdout)["removed"])
	entries = call(right, "ls")["entries"].([]any)
	require.Len(t, entries, 1)
	require.NotEqual(t, id, entries[0].(map[string]any)["id"])
	require.Equal(t, usage, nngpu(t, append([]string{"cache", "rm", id}, flags...)...).code, "it is gone")
	require.Equal(t, 1.0, object(t, ok(t, append([]string{"cache", "rm", "--all", "--json"}, flags...)...).stdout)["removed"])
	status, _ := digit(t, device, flags...)
	require.Equal(t, "miss", status)
}

func TestCacheCommandNeedsNoDevice(t *testing.T) {
	flags, _, _ := cacheFlags(t)
	for _, sub := range []string{"ls", "verify", "stats", "path"} {
		r := (&call{args: append([]string{"cache", sub}, flags...), env: append([]string{"NNGPU_VULKAN_LOADER=/nonexistent"}, nowhere...)}).run(t)
		require.Equal(t, right, r.code, r.stderr)
	}
}

func TestBadCacheCommand(t *testing.T) {
	for _, tc := range []bad{
		{name: "no subcommand", args: []string{"cache"}, says: []string{"ls, verify, rm, stats or path"}},
		{name: "unknown subcommand", args: []string{"cache", "clear"}, says: []string{`"clear"`, "cache --help"}},
		{name: "argument", args: []string{"cache", "ls", "x"}, says: []string{"no arguments"}},
		{name: "rm nothing", args: []string{"cache", "rm"}, says: []string{"--all"}},
		{name: "rm both", args: []string{"cache", "rm", "x", "--all"}, says: []string{"--all"}},
		{name: "rm unknown", args: []string{"cache", "rm", "0123"}, says: []string{`no entry has an ID that begins with "0123"`, "cache ls"}},
		{name: "folder that is a file", args: []string{"cache", "ls", "--cache-dir", "/etc/passwd"}, says: []string{"--cache-dir: /etc/passwd is not a folder"}},
		{name: "state that is a file", args: []string{"cache", "verify", "--state-dir", "/etc/passwd"}, says: []string{"--state-dir: /etc/passwd is not a folder"}},
		{name: "rm a path", args: []string{"cache", "rm", "../../x"}, says: []string{"cache ls"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.code, tc.status = usage, "INVALID_ARGUMENT"
			tc.check(t)
		})
	}
}

func TestCachePathWithoutAHome(t *testing.T) {
	r := (&call{args: []string{"cache", "path"}, env: []string{"HOME=", "XDG_CACHE_HOME="}}).run(t)
	require.Equal(t, usage, r.code)
	require.Empty(t, r.stdout, "an empty path would be a folder to some shell")
	require.Contains(t, r.stderr, "--cache-dir does")
}

// TestForeignFilesInTheCache: what is listed is not verified, and what is no entry stays.
func TestForeignFilesInTheCache(t *testing.T) {
	flags, dir, _ := cacheFlags(t)
	entry := filepath.Join(dir, "0123456789abcdef", "0123456789abcdef", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")
	require.NoError(t, os.MkdirAll(entry, 0o700))
	write(t, filepath.Join(entry, "model"), []byte("\x1b[2J not an entry"))
	write(t, filepath.Join(dir, "note.txt"), []byte("not ours"))
	r := ok(t, append([]string{"cache", "ls"}, flags...)...)
	require.NotContains(t, r.stdout, "\x1b")
	require.Contains(t, r.stdout, "1 entry")
	require.Equal(t, wrong, nngpu(t, append([]string{"cache", "verify"}, flags...)...).code)
	ok(t, append([]string{"cache", "rm", "--all"}, flags...)...)
	require.FileExists(t, filepath.Join(dir, "note.txt"))
}
