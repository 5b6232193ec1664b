package vulkan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nngpu/nngpu/cgo/vk"
)

// wrapInstance says with which driver an instance could not be made, and why where the manifests tell: of a
// broken one the loader only says that memory is exhausted. The first broken one that it was given decides.
func wrapInstance(err error, driver string, manifests ...string) error {
	if err == nil {
		return nil
	}
	for _, m := range manifests {
		if fault := manifestFault(m); fault != nil {
			return fmt.Errorf("starting Vulkan with %s: %w: %w", driver, vk.ErrIncompatibleDriver, fault)
		}
	}
	return fmt.Errorf("starting Vulkan with %s: %w", driver, err)
}

// loaderManifests are what the loader reads by itself: what the user's environment names, or else the installed
// ones.
func loaderManifests() []string {
	list := lavapipeFolders
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		if v := os.Getenv(name); v != "" {
			list = filepath.SplitList(v)
			break
		}
	}
	var files []string
	for _, path := range slices.Concat(list, filepath.SplitList(os.Getenv("VK_ADD_DRIVER_FILES"))) {
		if st, err := os.Stat(path); err == nil && st.IsDir() || err != nil && filepath.Ext(path) != ".json" {
			inside, _ := filepath.Glob(filepath.Join(path, "*.json")) // fails for a bad pattern only
			files = append(files, inside...)
			continue
		}
		files = append(files, path)
	}
	return files
}

// layerManifests are those of layers that the loader is told of by the environment.
func layerManifests() []string {
	var files []string
	for _, name := range []string{"VK_LAYER_PATH", "VK_ADD_LAYER_PATH", "VK_IMPLICIT_LAYER_PATH", "VK_ADD_IMPLICIT_LAYER_PATH"} {
		for _, path := range filepath.SplitList(os.Getenv(name)) {
			inside, _ := filepath.Glob(filepath.Join(path, "*.json")) // fails for a bad pattern only
			files = append(append(files, path), inside...)
		}
	}
	return files
}

// allRegular reports a manifest, or a library that one names, that is neither a regular file nor absent. The loader and
// the dynamic linker would wait for a pipe until somebody writes. A folder is as good as absent.
func allRegular(manifests []string) error {
	for _, m := range manifests {
		st, err := os.Stat(m)
		if err != nil || st.IsDir() {
			continue
		}
		if !st.Mode().IsRegular() {
			return fmt.Errorf("the manifest %s: %w", m, errIrregular)
		}
		lib, err := manifestLibrary(m)
		if err != nil || !strings.Contains(lib, "/") {
			continue // the loader says what is wrong, or the dynamic linker knows where it is
		}
		if st, err := os.Stat(lib); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("the manifest %s names %s: %w", m, lib, errIrregular)
		}
	}
	return nil
}

var errIrregular = fmt.Errorf("%w: not a regular file", vk.ErrIncompatibleDriver)

const maxManifest = 1 << 20 // bytes; real ones have some hundreds

// manifestFault says what is wrong with a driver's manifest; nil where nothing is seen.
func manifestFault(path string) error {
	lib, err := manifestLibrary(path)
	if err != nil {
		return err
	}
	if lib == "" {
		return fmt.Errorf("the manifest %s names no library", path)
	}
	if !strings.Contains(lib, "/") { // found by the dynamic linker
		return nil
	}
	if _, err := os.Stat(lib); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the manifest %s names %s, which does not exist", path, lib)
	}
	return nil
}

// manifestLibrary is the library that the manifest of a driver or layer names; empty where it names none. One without a
// slash is found by the dynamic linker.
func manifestLibrary(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxManifest {
		return "", fmt.Errorf("%s is no manifest", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return "", err
	}
	type part struct {
		Library string `json:"library_path"`
	}
	var m struct{ ICD, Layer part }
	if err := json.Unmarshal(text, &m); err != nil {
		return "", fmt.Errorf("the manifest %s is broken: %w", path, err)
	}
	lib := cmp.Or(m.ICD.Library, m.Layer.Library)
	if strings.Contains(lib, "/") && !filepath.IsAbs(lib) {
		lib = filepath.Join(filepath.Dir(path), lib)
	}
	return lib, nil
}
