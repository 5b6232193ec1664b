package nntest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Required reports whether NNGPU_REQUIRE, a list with commas, has name: then a test that needs it fails where it is absent,
// and is not skipped.
func Required(name string) bool {
	return slices.Contains(strings.Split(os.Getenv("NNGPU_REQUIRE"), ","), name)
}

// Devices are the names of the devices to test on: those that NNGPU_DEVICE, a list with commas, has, else both software
// implementations.
func Devices() []string {
	if list := os.Getenv("NNGPU_DEVICE"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{"lavapipe", "swiftshader"}
}

// Opened skips the test where err says why a device could not be opened, or fails it where that is required.
func Opened(t testing.TB, device string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Required(device):
		t.Fatalf("device %s is required: %v", device, err)
	default:
		t.Skipf("device %s: %v", device, err)
	}
}

// Shared returns the path of a file or folder of the test data, which lie in shared/ beside the project or where
// NNGPU_SHARED says. Where it is absent the test is skipped, or fails if "shared" is required.
func Shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("NNGPU_SHARED")
	if root == "" {
		root = filepath.Join(moduleRoot(t), "..", "shared")
	}
	full := filepath.Join(append([]string{root}, path...)...)
	if _, err := os.Stat(full); err != nil {
		if Required("shared") {
			t.Fatalf("test data is required: %v", err)
		}
		t.Skipf("test data is absent: %v", err)
	}
	return full
}

// moduleRoot is the folder of go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}
