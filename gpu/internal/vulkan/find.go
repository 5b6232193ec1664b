package vulkan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
