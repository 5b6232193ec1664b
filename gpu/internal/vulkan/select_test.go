package vulkan_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// childVariable makes the test binary open the device that it names, print what happened and exit: the
// loader is opened once in a process, and environments differ.
const childVariable = "NNGPU_TEST_OPEN"

func TestMain(m *testing.M) {
	selector, child := os.LookupEnv(childVariable)
	if !child {
		os.Exit(m.Run())
	}
	d, err := vulkan.Open(selector, vulkan.Options{})
	if err != nil {
		fmt.Printf("loader %v driver %v unknown %v\n%v\n", errors.Is(err, vk.ErrNoLoader),
			errors.Is(err, vk.ErrIncompatibleDriver), errors.Is(err, vulkan.ErrUnknownDevice), err)
		return
	}
	fmt.Printf("opened %s\n", d.Info().Name)
	if err := d.Close(); err != nil {
		fmt.Println(err)
	}
}

func openInChild(t *testing.T, selector string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "NNGPU_VALIDATION=0", childVariable+"="+selector), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// swiftShaderFolder is where this machine has SwiftShader.
func swiftShaderFolder(t *testing.T) string {
	t.Helper()
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	for _, dir := range []string{os.Getenv("NNGPU_SWIFTSHADER"), filepath.Join(home, ".local/share/nngpu"), "/usr/lib/chromium"} {
		if _, err := os.Stat(filepath.Join(dir, "libvk_swiftshader.so")); dir != "" && err == nil {
			return dir
		}
	}
	if vktest.Required(vulkan.SwiftShader) {
		t.Fatal("no SwiftShader")
	}
	t.Skip("no SwiftShader")
	return ""
}

func TestOpenFailures(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken_icd.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"file_format_version":"1.0.0",
		"ICD":{"library_path":"`+dir+`/missing.so","api_version":"1.1.0"}}`), 0o600))
	garbage := filepath.Join(dir, "libvk_swiftshader.so")
	require.NoError(t, os.WriteFile(garbage, []byte("no library"), 0o600))
	const noLoader, noSwiftShader = "NNGPU_VULKAN_LOADER=/nonexistent", "NNGPU_SWIFTSHADER=/nonexistent"
	for _, tc := range []struct {
		name     string
		selector string
		env      []string
		want     []string
	}{
		{"no loader, no SwiftShader", "", []string{noLoader, noSwiftShader}, []string{"loader true", "/nonexistent", "libvulkan1"}},
		{"no loader, broken SwiftShader", "", []string{noLoader, "NNGPU_SWIFTSHADER=" + dir}, []string{"loader true", garbage}},
		{"SwiftShader missing", "SwiftShader", []string{noSwiftShader}, []string{"unknown true", "libvk_swiftshader.so", "/nonexistent"}},
		{"SwiftShader broken", "swiftshader", []string{"NNGPU_SWIFTSHADER=" + dir}, []string{"driver true"}},
		{"lavapipe missing", "lavapipe", []string{"NNGPU_LAVAPIPE=/nonexistent"}, []string{"unknown true", "lvp_icd"}},
		{"lavapipe broken", "lavapipe", []string{"NNGPU_LAVAPIPE=" + broken}, []string{"driver true", broken}},
		{"the user's choice is broken", "", []string{"VK_DRIVER_FILES=" + broken, "VK_ICD_FILENAMES=" + broken}, []string{"driver true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := openInChild(t, tc.selector, tc.env...)
			if strings.Contains(out, "libvulkan.so.1") {
				if vktest.Required(vulkan.Lavapipe) { // which needs one
					t.Fatal(out)
				}
				t.Skip("no Vulkan loader here")
			}
			for _, w := range tc.want {
				require.Contains(t, out, w)
			}
		})
	}
}

func TestOpenSwiftShader(t *testing.T) {
	dir := swiftShaderFolder(t)
	bare := t.TempDir() // the library without its manifest
	lib := filepath.Join(bare, "libvk_swiftshader.so")
	require.NoError(t, os.Symlink(filepath.Join(dir, "libvk_swiftshader.so"), lib))
	for _, tc := range []struct {
		name, selector string
		env            []string
	}{
		{"folder", "swiftshader", []string{"NNGPU_SWIFTSHADER=" + dir}},
		{"library without manifest", "SWIFTSHADER", []string{"NNGPU_SWIFTSHADER=" + lib}},
		{"folder without manifest", "swiftshader", []string{"NNGPU_SWIFTSHADER=" + bare}},
		{"beside other drivers", "shader dev", []string{"NNGPU_SWIFTSHADER=" + dir}},
		{"without a loader", "swiftshader", []string{"NNGPU_VULKAN_LOADER=/nonexistent", "NNGPU_SWIFTSHADER=" + dir}},
		{"without a loader, best", "", []string{"NNGPU_VULKAN_LOADER=/nonexistent", "NNGPU_SWIFTSHADER=" + dir}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Regexp(t, "^opened SwiftShader Device.*\n$", openInChild(t, tc.selector, tc.env...))
		})
	}
}

func TestSelectors(t *testing.T) {
	list, err := vulkan.Enumerate()
	if errors.Is(err, vk.ErrNoLoader) || errors.Is(err, vk.ErrIncompatibleDriver) || len(list) == 0 {
		if vktest.Required(vulkan.Lavapipe) || vktest.Required(vulkan.SwiftShader) {
			t.Fatal("no Vulkan device: ", err)
		}
		t.Skip("no Vulkan device: ", err)
	}
	require.NoError(t, err)
	for i, d := range list {
		t.Logf("%d: %s, %s, Vulkan %s, %+v", d.Index, d.Name, d.Driver, d.API, d.Facts)
		require.Equal(t, i, d.Index)
		if d.Unusable != nil {
			continue
		}
		require.NotEmpty(t, d.Name)
		require.Contains(t, []plan.Class{plan.ClassCPU, plan.ClassGPU}, d.Facts.Class)
		require.LessOrEqual(t, d.Facts.StorageAlign, int64(plan.Align))
		require.LessOrEqual(t, d.Facts.TexelAlign, int64(plan.Align))
		byIndex := vktest.Open(t, strconv.Itoa(i), vulkan.Options{})
		require.Equal(t, d.Name, byIndex.Info().Name)
		byName := vktest.Open(t, strings.ToUpper(d.Name), vulkan.Options{})
		require.Equal(t, d.Name, byName.Info().Name)
	}
	for _, unknown := range []string{strconv.Itoa(len(list)), "-1", "no such device"} {
		_, err := vulkan.Open(unknown, vulkan.Options{})
		require.ErrorIs(t, err, vulkan.ErrUnknownDevice)
		require.ErrorContains(t, err, strconv.Quote(list[0].Name))
	}
}

func TestFacts(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		f := d.Facts()
		software := d.Info().Type == backend.TypeCPU
		require.Equal(t, software, f.Class == plan.ClassCPU)
		require.True(t, !software || f.Unified)
		require.True(t, f.StorageTexelRGBA32F)
		require.GreaterOrEqual(t, f.MaxInvocations, uint32(256))
		require.GreaterOrEqual(t, f.MaxStorageRange, int64(128<<20)-1)
		require.GreaterOrEqual(t, f.MaxTexelElements, int64(65536))
		require.NotEmpty(t, d.Info().Driver)
		_, _, limit := d.Memory()
		require.Positive(t, limit)
	})
}
