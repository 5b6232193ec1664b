package vulkan

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
)

func TestManifestFaults(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib.so")
	require.NoError(t, os.WriteFile(lib, nil, 0o600))
	for name, tc := range map[string]struct{ text, fault string }{
		"absolute":    {`{"ICD":{"library_path":"` + lib + `"}}`, ""},
		"relative":    {`{"ICD":{"library_path":"./lib.so","api_version":"1.1.0"}}`, ""},
		"by linker":   {`{"ICD":{"library_path":"libnosuch.so"}}`, ""},
		"empty":       {``, "is broken"},
		"cut":         {`{"ICD":{"library_path":"./lib`, "is broken"},
		"list":        {`[]`, "is broken"},
		"nothing":     {`{}`, "names no library"},
		"missing lib": {`{"ICD":{"library_path":"./nosuch.so"}}`, filepath.Join(dir, "nosuch.so") + ", which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "icd.json")
			require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
			err := wrapInstance(vk.ErrOutOfMemory, "x", path)
			if tc.fault == "" {
				require.ErrorIs(t, err, vk.ErrOutOfMemory)
				return
			}
			require.ErrorIs(t, err, vk.ErrIncompatibleDriver)
			require.ErrorContains(t, err, tc.fault)
			require.ErrorContains(t, err, path)
		})
	}
	require.NoError(t, wrapInstance(nil, "x", "/nonexistent"))
	require.ErrorIs(t, manifestFault(filepath.Join(dir, "nosuch.json")), os.ErrNotExist)
	require.Error(t, manifestFault(dir))
	big := filepath.Join(dir, "big.json")
	require.NoError(t, os.WriteFile(big, nil, 0o600))
	require.NoError(t, os.Truncate(big, maxManifest+1))
	require.Error(t, manifestFault(big))
}

func TestLoaderManifests(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	for _, path := range []string{a, b} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	t.Setenv("VK_DRIVER_FILES", "")
	t.Setenv("VK_ICD_FILENAMES", "/x/one.json:/x/two.json")
	t.Setenv("VK_ADD_DRIVER_FILES", "")
	require.Equal(t, []string{"/x/one.json", "/x/two.json"}, loaderManifests())
	t.Setenv("VK_DRIVER_FILES", dir)
	require.Equal(t, []string{a, b}, loaderManifests())
	t.Setenv("VK_ADD_DRIVER_FILES", "/y/three.json")
	require.Equal(t, []string{a, b, "/y/three.json"}, loaderManifests())
}

// TestBrokenManifestIsNamed: the loader itself calls a broken manifest a lack of memory.
func TestBrokenManifestIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(path, []byte("{broken"), 0o600))
	for _, selector := range []string{Lavapipe, ""} {
		t.Setenv("NNGPU_LAVAPIPE", path)
		t.Setenv("VK_DRIVER_FILES", path)
		d, err := Open(selector, Options{})
		if err == nil { // SwiftShader, used without a loader
			require.NoError(t, d.Close())
		}
		if err == nil || errors.Is(err, vk.ErrNoLoader) {
			if required(Lavapipe) { // which needs one
				t.Fatal("no Vulkan loader")
			}
			t.Skip("no Vulkan loader")
		}
		require.ErrorIs(t, err, vk.ErrIncompatibleDriver)
		require.ErrorContains(t, err, "the manifest "+path+" is broken")
	}
}
