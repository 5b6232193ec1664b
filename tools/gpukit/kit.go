package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// kit is the folder and the settings that steps are run with.
type kit struct {
	dir, out string // absolute
	env      []string
	device   string // selector
	about    string // the device, in words
	software bool   // the device is a processor: what takes minutes there is made smaller
}

// open makes ready what steps need: their folders, the programs unpacked, and the environment.
func open(dir, out string) (*kit, error) {
	if out == "" {
		out = filepath.Join(dir, "results")
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	k := &kit{dir: dir, out: out}
	if err := os.MkdirAll(k.work(), 0o755); err != nil {
		return nil, err
	}
	if err := k.unpack(); err != nil {
		return nil, err
	}
	k.env = append(os.Environ(),
		"XDG_CACHE_HOME="+filepath.Join(k.work(), "cache"), "XDG_STATE_HOME="+filepath.Join(k.work(), "state"),
		"NNGPU_SHARED="+k.data(), "NNGPU_CONFORMANCE_PART=10")
	if os.Getenv("NNGPU_VULKAN_LOADER") == "" && !exists("/usr/lib/x86_64-linux-gnu/libvulkan.so.1", "/lib/x86_64-linux-gnu/libvulkan.so.1",
		"/usr/lib/aarch64-linux-gnu/libvulkan.so.1", "/usr/lib64/libvulkan.so.1", "/usr/lib/libvulkan.so.1", "/usr/local/lib/libvulkan.so.1") {
		k.env = append(k.env, "NNGPU_VULKAN_LOADER="+filepath.Join(dir, "lib", "libvulkan.so.1"))
	}
	// Containers have NVIDIA's driver here, where no loader looks.
	const nvidia = "/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json"
	if os.Getenv("VK_DRIVER_FILES") == "" && os.Getenv("VK_ICD_FILENAMES") == "" && exists(nvidia) && !exists("/usr/share/vulkan/icd.d/nvidia_icd.json", "/etc/vulkan/icd.d/nvidia_icd.json") {
		k.env = append(k.env, "VK_DRIVER_FILES="+nvidia)
	}
	return k, nil
}

// exists reports whether one of the paths exists.
func exists(paths ...string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}

func (k *kit) work() string { return filepath.Join(k.out, "work") }
func (k *kit) data() string { return filepath.Join(k.dir, "data") }

// program is the path of a program of the kit, or the name of one of the system.
func (k *kit) program(name string) string {
	for _, p := range []string{filepath.Join(k.dir, "bin", name), filepath.Join(k.work(), name)} {
		if exists(p) {
			return p
		}
	}
	return name
}

// bundle is the file in bin with the programs that are large.
const bundle = "programs"

// unpack unpacks the programs where that was not done yet.
func (k *kit) unpack() error {
	path, done := filepath.Join(k.dir, "bin", bundle), filepath.Join(k.work(), "unpacked")
	if !exists(path) || newer(done, path) {
		return nil
	}
	if err := readBundle(path, k.work()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(done, nil, 0o644)
}

// newer reports whether a file is there and was written after another one.
func newer(path, than string) bool {
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(than)
	return err == nil && a.ModTime().After(b.ModTime())
}

// deviceInfo is what is read of `nngpu info --json`.
type deviceInfo struct {
	Devices []struct {
		Index    int
		Name     string
		Driver   string
		Type     string
		Unusable string
		Chosen   bool
	}
}

// chooseDevice takes the device that NNGPU_DEVICE names, else the first that is no processor, else the command's own
// choice.
func (k *kit) chooseDevice(ctx context.Context) error {
	k.device = os.Getenv("NNGPU_DEVICE")
	s := step{Name: "device", Args: []string{"nngpu", "info", "--json"}, Limit: 2 * time.Minute}
	o := k.runStep(ctx, s, s.Limit)
	var info deviceInfo
	if err := json.Unmarshal(o.Result, &info); err != nil || len(info.Devices) == 0 {
		return fmt.Errorf("no Vulkan device was found: %s %s %s", o.Ended, o.Result, o.Output)
	}
	at := -1
	for i, d := range info.Devices {
		if d.Unusable != "" {
			continue
		}
		better := at < 0 || info.Devices[at].Type == "cpu" && d.Type != "cpu"
		if k.device != "" && d.Chosen || k.device == "" && better {
			at = i
		}
	}
	if at < 0 {
		return errors.New("no Vulkan device can be used; see nngpu info")
	}
	d := info.Devices[at]
	if k.device == "" {
		k.device = strconv.Itoa(d.Index)
	}
	k.about, k.software = d.Name+" ("+d.Driver+")", d.Type == "cpu"
	// Tests that find no device fail instead of being skipped.
	k.env = append(k.env, "NNGPU_DEVICE="+k.device, "NNGPU_REQUIRE=shared,"+k.device)
	fmt.Println(k.about)
	return nil
}
