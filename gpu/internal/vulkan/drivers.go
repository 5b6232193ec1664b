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

const (
	swiftShaderLibrary = "libvk_swiftshader.so"
	swiftShaderJSON    = "vk_swiftshader_icd.json"
)

// softwareDriver is where a software implementation was found. lib may be empty, and so may manifest.
type softwareDriver struct {
	lib      string // the .so
	manifest string // the loader's .json
}

func (s softwareDriver) found() bool { return s.lib != "" || s.manifest != "" }

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// swiftShaderFolders lists where SwiftShader is looked for. $NNGPU_SWIFTSHADER, a file or a folder, replaces
// the rest.
func swiftShaderFolders() []string {
	if p := os.Getenv("NNGPU_SWIFTSHADER"); p != "" {
		return []string{p}
	}
	var list []string
	if exe, err := os.Executable(); err == nil {
		list = append(list, filepath.Dir(exe))
	}
	data := os.Getenv("XDG_DATA_HOME")
	if home, err := os.UserHomeDir(); data == "" && err == nil {
		data = filepath.Join(home, ".local", "share")
	}
	if data != "" {
		list = append(list, filepath.Join(data, "nngpu"))
	}
	return append(list, "/usr/lib/chromium")
}

func findSwiftShader() softwareDriver {
	for _, p := range swiftShaderFolders() {
		if s := swiftShaderAt(p); s.found() {
			return s
		}
	}
	return softwareDriver{}
}

// noSwiftShader says where findSwiftShader looked in vain.
func noSwiftShader() string {
	if p := os.Getenv("NNGPU_SWIFTSHADER"); p != "" {
		return fmt.Sprintf("NNGPU_SWIFTSHADER=%s is neither %s nor a folder with it: correct or unset it", p, swiftShaderLibrary)
	}
	return fmt.Sprintf("%s is in none of %s; NNGPU_DEVICE=swiftshader make demo installs it", swiftShaderLibrary, strings.Join(swiftShaderFolders(), ", "))
}

// swiftShaderAt looks at a folder, a library or a manifest.
func swiftShaderAt(path string) softwareDriver {
	path, err := filepath.Abs(path)
	if err != nil {
		return softwareDriver{}
	}
	if isFile(path) && strings.HasSuffix(path, ".json") {
		s := softwareDriver{manifest: path}
		if lib := filepath.Join(filepath.Dir(path), swiftShaderLibrary); isFile(lib) {
			s.lib = lib
		}
		return s
	}
	lib := path
	if !isFile(path) {
		lib = filepath.Join(path, swiftShaderLibrary)
	}
	if !isFile(lib) {
		return softwareDriver{}
	}
	s := softwareDriver{lib: lib}
	if m := filepath.Join(filepath.Dir(lib), swiftShaderJSON); isFile(m) {
		s.manifest = m
	}
	return s
}

// lavapipeFolders are the usual places of loader manifests.
var lavapipeFolders = []string{
	"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/local/share", "/etc/vulkan/icd.d",
}

func findLavapipe() softwareDriver {
	if p := os.Getenv("NNGPU_LAVAPIPE"); p != "" {
		if isFile(p) {
			return softwareDriver{manifest: p}
		}
		return softwareDriver{}
	}
	for _, dir := range lavapipeFolders {
		files, err := filepath.Glob(filepath.Join(dir, "lvp_icd*.json"))
		if err != nil { // only for a bad pattern
			panic(err)
		}
		if len(files) > 0 {
			return softwareDriver{manifest: files[0]}
		}
	}
	return softwareDriver{}
}

// noLavapipe says where findLavapipe looked in vain.
func noLavapipe() string {
	if p := os.Getenv("NNGPU_LAVAPIPE"); p != "" {
		return fmt.Sprintf("NNGPU_LAVAPIPE=%s is no manifest (lvp_icd*.json): correct or unset it", p)
	}
	return "no lvp_icd*.json in " + strings.Join(lavapipeFolders, ", ") + "; NNGPU_DEVICE=lavapipe make demo installs it"
}

// withManifest calls f with the path of s's manifest, a temporary one if it has none of its own.
func (s softwareDriver) withManifest(f func(path string) error) error {
	if s.manifest != "" {
		return f(s.manifest)
	}
	type icd struct {
		Library string `json:"library_path"`
		API     string `json:"api_version"`
	}
	text, err := json.Marshal(struct {
		Format string `json:"file_format_version"`
		ICD    icd    `json:"ICD"`
	}{"1.0.0", icd{s.lib, "1.1.0"}})
	if err != nil {
		return fmt.Errorf("manifest of %s: %w", s.lib, err)
	}
	file, err := os.CreateTemp("", "nngpu_icd_*.json")
	if err != nil {
		return fmt.Errorf("manifest of %s: %w", s.lib, err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("manifest of %s: %w", s.lib, err)
	}
	return f(file.Name())
}

// loadLibrary opens the loader, or SwiftShader without one. $NNGPU_VULKAN_LOADER replaces the usual names.
func loadLibrary(swiftShader softwareDriver) (vk.Library, error) {
	list := []vk.Library{{Path: "libvulkan.so.1"}, {Path: "libvulkan.so"}}
	if p := os.Getenv("NNGPU_VULKAN_LOADER"); p != "" {
		list = []vk.Library{{Path: p}}
	}
	if swiftShader.lib != "" {
		list = append(list, vk.Library{Path: swiftShader.lib, ICD: true})
	}
	lib, err := vk.Load(list)
	if err != nil {
		return lib, fmt.Errorf("%w\nmake demo installs a Vulkan loader and a software driver (by hand, on Debian: libvulkan1 and mesa-vulkan-drivers); %s in one of %s would do alone",
			err, swiftShaderLibrary, strings.Join(swiftShaderFolders(), ", "))
	}
	return lib, nil
}

// wrapInstance names the driver with which no instance could be made, and the cause where the manifests show it: for a
// broken one the loader only says that memory is exhausted. The first broken one of those given decides.
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

// layerManifests are those of the layers that the environment names to the loader.
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
// the dynamic linker would wait on a pipe until somebody writes. A folder counts as absent.
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
