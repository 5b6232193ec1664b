package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nowhere is set for everything that finds a Vulkan driver besides the loader.
var nowhere = []string{"NNGPU_SWIFTSHADER=/nonexistent", "NNGPU_LAVAPIPE=/nonexistent"}

func TestBadDevice(t *testing.T) {
	f := newFiles(t)
	anyDevice(t) // with no Vulkan at all every case is the same
	broken := f.put(t, "broken_icd.json", []byte(`{"file_format_version": "1.0.0",
		"ICD": {"library_path": "/nonexistent/libvulkan_broken.so", "api_version": "1.3.0"}}`))
	for _, tc := range []bad{
		{name: "unknown name", args: []string{"--device", "voodoo"}, says: []string{`"voodoo"`, "nngpu info"}},
		{name: "unknown index", args: []string{"--device", "99"}, says: []string{"99", "nngpu info"}},
		{name: "SwiftShader is absent", args: []string{"--device", "swiftshader"}, env: nowhere[:1],
			says: []string{"NNGPU_SWIFTSHADER=/nonexistent is neither", "correct or unset it"}},
		{name: "lavapipe is absent", args: []string{"--device", "lavapipe"}, env: nowhere[1:],
			says: []string{"NNGPU_LAVAPIPE=/nonexistent is no manifest", "correct or unset it"}},
		{name: "lavapipe is another file", args: []string{"--device", "lavapipe"}, env: []string{"NNGPU_LAVAPIPE=" + f.model},
			says: []string{"NNGPU_LAVAPIPE=" + f.model, "correct or unset it"}},
		{name: "no loader", env: append([]string{"NNGPU_VULKAN_LOADER=/nonexistent"}, nowhere...),
			says: []string{"no Vulkan loader", "nstall", "libvulkan"}},
		{name: "driver without its library", env: []string{"VK_DRIVER_FILES=" + broken, "VK_ICD_FILENAMES=" + broken},
			says: []string{"VK_DRIVER_FILES=" + broken, "unset"}},
		{name: "no driver", env: append([]string{"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"}, nowhere...),
			says: []string{"VK_DRIVER_FILES=/nonexistent.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, sub := range [][]string{
				{"run", f.model, "-i", f.picture, "-o", "out"}, {"inspect", f.model}, {"bench", f.model, "--runs", "1"}, {"info"},
			} {
				b := tc
				b.args = append(append([]string{}, sub...), tc.args...)
				b.code, b.status = refused, "DEVICE_UNAVAILABLE"
				b.check(t)
			}
		})
	}
}

func TestMemoryBudget(t *testing.T) {
	f := newFiles(t)
	device := anyDevice(t)
	for _, sub := range [][]string{{"run", f.model, "-i", f.picture, "-o", "out"}, {"bench", f.model, "--runs", "1"}} {
		(&bad{
			args: append(sub, "--memory-budget", "1000", "--device", device), code: refused,
			status: "RESOURCE_EXHAUSTED_PERSISTENT", says: []string{"budget of 1000", "raise --memory-budget"},
		}).check(t)
	}
	ok(t, "run", f.model, "-i", f.picture, "--memory-budget", "100000000", "--device", device)
}

// TestPipesAreNotWaitedFor names one wherever a variable names a file: nobody ever writes to it.
func TestPipesAreNotWaitedFor(t *testing.T) {
	needDevice(t, "lavapipe")
	f := newFiles(t)
	pipe := f.pipe(t, "lvp_icd.json")
	names := f.put(t, "names_pipe.json", []byte(`{"file_format_version": "1.0.0", "ICD": {"library_path": "./lvp_icd.json", "api_version": "1.1.0"}}`))
	linked := filepath.Join(f.dir, "link.json")
	require.NoError(t, os.Symlink(pipe, linked))
	layers := filepath.Join(t.TempDir(), "layers")
	require.NoError(t, os.MkdirAll(layers, 0o755))
	require.NoError(t, os.Symlink(pipe, filepath.Join(layers, "layer.json")))
	none := nowhere[0] // SwiftShader would do without the loader
	for _, tc := range []struct {
		name string
		env  []string
		says string
	}{
		{"loader", []string{"NNGPU_VULKAN_LOADER=" + pipe, none}, pipe + ": not a regular file"},
		{"loader, by a link", []string{"NNGPU_VULKAN_LOADER=" + linked, none}, linked + ": not a regular file"},
		{"loader that is a folder", []string{"NNGPU_VULKAN_LOADER=" + f.dir, none}, f.dir + ": not a regular file"},
		{"loader that is a device", []string{"NNGPU_VULKAN_LOADER=/dev/zero", none}, "/dev/zero: not a regular file"},
		{"lavapipe", []string{"NNGPU_LAVAPIPE=" + pipe}, "is no manifest"},
		{"lavapipe's library", []string{"NNGPU_LAVAPIPE=" + names}, "not a regular file"},
		{"SwiftShader", []string{"NNGPU_SWIFTSHADER=" + pipe, "NNGPU_VULKAN_LOADER=/nonexistent"}, "no Vulkan loader"},
		{"driver", []string{"VK_DRIVER_FILES=" + pipe}, "not a regular file"},
		{"driver, by the old name", []string{"VK_ICD_FILENAMES=" + pipe}, "not a regular file"},
		{"driver in a folder", []string{"VK_DRIVER_FILES=" + f.dir}, "not a regular file"},
		{"driver's library", []string{"VK_DRIVER_FILES=" + names}, "not a regular file"},
		{"one more driver", []string{"VK_ADD_DRIVER_FILES=" + pipe}, "not a regular file"},
		{"layer", []string{"VK_LAYER_PATH=" + layers}, "not a regular file"},
		{"implicit layer", []string{"VK_ADD_IMPLICIT_LAYER_PATH=" + layers}, "not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"inspect", f.model}
			if strings.HasPrefix(tc.name, "lavapipe") {
				args = append(args, "--device", "lavapipe")
			}
			r := (&call{args: args, env: tc.env}).run(t)
			require.Equal(t, refused, r.code, "%s%s", r.stdout, r.stderr)
			require.Contains(t, r.stderr, tc.says)
		})
	}
	t.Run("a link to the loader", func(t *testing.T) {
		found, err := filepath.Glob("/usr/lib/*/libvulkan.so.1")
		require.NoError(t, err)
		if len(found) == 0 {
			t.Skip("the loader is not in /usr/lib/*")
		}
		link := filepath.Join(t.TempDir(), "libvulkan.so.1")
		require.NoError(t, os.Symlink(found[0], link))
		r := (&call{args: []string{"inspect", f.model, "--device", "lavapipe"}, env: []string{"NNGPU_VULKAN_LOADER=" + link}}).run(t)
		require.Equal(t, right, r.code, r.stderr)
	})
}

// TestMissingLoaderIsNamed: SwiftShader works without one, and what else was asked for is then not merely unknown.
func TestMissingLoaderIsNamed(t *testing.T) {
	needDevice(t, "swiftshader")
	for _, selector := range []string{"lavapipe", "geforce", "7"} {
		b := bad{args: []string{"inspect", example(t, "digits_s8.tflite"), "--device", selector}, env: []string{"NNGPU_VULKAN_LOADER=/nonexistent"},
			code: refused, status: "DEVICE_UNAVAILABLE", says: []string{"no Vulkan loader: /nonexistent", "SwiftShader only", selector}}
		b.check(t)
		r := (&call{args: b.args, env: b.env}).run(t)
		require.NotContains(t, r.stderr, "no such Vulkan device")
	}
}

// TestLoaderMayBeAbsent needs SwiftShader only, without the Vulkan loader.
func TestLoaderMayBeAbsent(t *testing.T) {
	needDevice(t, "swiftshader")
	c := call{args: []string{"run", example(t, "digits_s8.tflite"), "-i", example(t, "samples/7.png"), "--json"},
		env: []string{"NNGPU_VULKAN_LOADER=/nonexistent"}}
	r := c.run(t)
	require.Equal(t, right, r.code, r.stderr)
	require.Equal(t, 7, decodeRun(t, r).Top[0].Index)
}

func TestInfo(t *testing.T) {
	device := anyDevice(t)
	r := ok(t, "info", "--device", device, "--json")
	var v struct {
		Devices []struct {
			Name, Driver, Type, Class, Variants string
			Index                               int
			APIVersion                          string `json:"api_version"`
			Chosen                              bool
			Unusable                            string
			Limits, Features                    map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	chosen := 0
	for i, d := range v.Devices {
		if d.Index != -1 { // of a driver that is not installed
			require.Equal(t, i, d.Index)
		}
		require.NotEmpty(t, d.Name)
		if d.Unusable != "" {
			continue
		}
		require.NotEmpty(t, d.Variants)
		require.Positive(t, d.Limits["storage_buffer_bytes"])
		require.Contains(t, d.Features, "integer_dot_product")
		if d.Chosen {
			chosen++
		}
	}
	require.Equal(t, 1, chosen)
	text := ok(t, "info", "--device", device)
	require.Regexp(t, `(?m)^\* (\d+|lavapipe): `, text.stdout)
	require.Contains(t, text.stdout, "limits")
	require.Contains(t, text.stdout, "features")
}

func TestInspect(t *testing.T) {
	device := anyDevice(t)
	r := ok(t, "inspect", example(t, "digits_s8.tflite"), "--device", device, "--json")
	v := object(t, r.stdout)
	require.Equal(t, true, v["supported"])
	require.Empty(t, v["refused"])
	in := v["inputs"].([]any)[0].(map[string]any)
	require.Equal(t, []any{1.0, 28.0, 28.0, 1.0}, in["shape"])
	require.Equal(t, "TENSOR_QUANT8_ASYMM_SIGNED", in["type"])
	require.Contains(t, in, "scale")
	require.Len(t, v["outputs"], 1)
	require.NotEmpty(t, v["operators"])
	text := ok(t, "inspect", example(t, "digits_s8.tflite"), "--device", device)
	require.Contains(t, text.stdout, "× CONV_2D")
	require.Contains(t, text.stdout, "all operations are supported")
}

func TestVersionHelpAndCompletion(t *testing.T) {
	require.Regexp(t, `\Anngpu \S+, shaders [0-9a-f]{16}, `, ok(t, "version").stdout)
	v := object(t, ok(t, "version", "--json").stdout)
	require.Equal(t, []string{"go", "shaders", "version"}, keys(v))
	help := ok(t).stdout
	for _, name := range []string{"info", "inspect", "run", "verify", "conformance", "bench", "cache", "version", "completion"} {
		require.Contains(t, help, "\n  "+name)
		require.Contains(t, ok(t, name, "--help").stdout, "Usage:")
		require.Contains(t, ok(t, "help", name).stdout, "Usage:")
	}
	require.Contains(t, help, "Exit codes")
	require.NotContains(t, help, "cold-start")
	require.NotContains(t, help, "prepare-times")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Contains(t, ok(t, "completion", shell).stdout, "nngpu")
	}
	require.Contains(t, ok(t, "__complete", "run", "--format", "").stdout, "npy")
	require.Contains(t, ok(t, "__complete", "info", "--device", "").stdout, "swiftshader")
	require.Contains(t, ok(t, "__complete", "run", "").stdout, "tflite")
}

// TestDocumentedExitCodes: docs/command.md lists the exit codes that are tested here.
func TestDocumentedExitCodes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "command.md"))
	require.NoError(t, err)
	for _, line := range []string{"| 0 | right |", "| 1 | ", "| 2 | ", "| 3 | ", "| 130 | "} {
		require.Contains(t, string(page), "\n"+line)
	}
}
