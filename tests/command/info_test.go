package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// memoryInfo is what `nngpu info` tells of memory and queues.
type memoryInfo struct {
	Devices []struct {
		Driver   string
		Chosen   bool
		Unusable string
		Memory   []struct{ Kind, Source, Use, Why string }
		Exports  *bool `json:"exports_buffers"`
		Queues   int
		Priority string `json:"global_priority"`
	}
}

// TestInfoMemory: for each device what becomes of each kind of pool, and for the chosen one its queues.
func TestInfoMemory(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		r := ok(t, "info", "--device", device, "--json")
		var v memoryInfo
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
		chosen := 0
		for _, d := range v.Devices {
			if d.Chosen {
				chosen++
			}
			if d.Unusable != "" {
				require.Empty(t, d.Memory)
				continue
			}
			require.NotNil(t, d.Exports)
			var kinds []string
			for _, p := range d.Memory {
				require.Contains(t, []string{"imported", "copied", "refused"}, p.Use)
				require.NotEmpty(t, p.Why)
				kinds = append(kinds, p.Kind+" "+p.Source)
				if p.Use == "refused" {
					require.Equal(t, "opaque fd", p.Source, "all others can be copied")
				}
			}
			require.Equal(t, []string{
				"ashmem ", "mmap_fd ", "hardware_buffer_blob dma-buf", "hardware_buffer_blob opaque fd", "hardware_buffer ",
			}, kinds)
			require.Equal(t, d.Chosen, d.Queues > 0)
			require.Equal(t, d.Chosen, d.Priority != "")
		}
		text := ok(t, "info", "--device", device).stdout
		require.Regexp(t, `(?m)^     memory   ashmem +(imported|copied)  \S`, text)
		require.Regexp(t, `(?m)^ +hardware_buffer_blob, opaque fd +(imported|refused)  \S`, text)
		require.Equal(t, 1, chosen)
		require.Regexp(t, `(?m)^     queues   \d+, of global priority \S+$`, text)
	})
}

// TestInfoNamed: a driver that only NNGPU_LAVAPIPE names is listed, and marked where it is the chosen one. No other
// driver is installed here, so that a test does not need two of them.
func TestInfoNamed(t *testing.T) {
	needDevice(t, "lavapipe")
	manifest := os.Getenv("NNGPU_LAVAPIPE")
	for _, pattern := range []string{"/usr/share/vulkan/icd.d/lvp_icd*.json", "/usr/local/share/vulkan/icd.d/lvp_icd*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if manifest == "" && len(files) > 0 {
			manifest = files[0]
		}
	}
	if manifest == "" {
		if nntest.Required("lavapipe") {
			t.Fatal("lavapipe's manifest is in none of the usual places")
		}
		t.Skip("lavapipe's manifest is in none of the usual places")
	}
	env := []string{"NNGPU_LAVAPIPE=" + manifest, "VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"}
	r := (&call{args: []string{"info", "--device", "LavaPipe", "--json"}, env: env}).run(t)
	require.Equal(t, right, r.code, r.stdout)
	var v struct {
		Devices []struct {
			Index  int
			Chosen bool
			Limits map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	require.Len(t, v.Devices, 1)
	require.Equal(t, -1, v.Devices[0].Index)
	require.True(t, v.Devices[0].Chosen)
	require.NotEmpty(t, v.Devices[0].Limits)
	text := (&call{args: []string{"info", "--device", "lavapipe"}, env: env}).run(t)
	require.Regexp(t, `\A\* lavapipe: \S`, text.stdout)
}

// TestInfoMeasure: what --measure finds is kept, told by later calls, and called busy where the machine was.
func TestInfoMeasure(t *testing.T) {
	type measured struct {
		Devices []struct {
			Chosen   bool
			Features struct {
				Dot bool `json:"integer_dot_product"`
			}
			Measured *struct {
				Dot        float64   `json:"dot_int8_gops"`
				FMA        float64   `json:"fma_f32_gflops"`
				CacheRate  float64   `json:"cache_gbps"`
				MemoryRate float64   `json:"memory_gbps"`
				CopyRate   float64   `json:"copy_gbps"`
				MatrixRate float64   `json:"matrix_gflops"`
				Submit     float64   `json:"submit_us"`
				Dispatch   float64   `json:"dispatch_us"`
				Load       float64   `json:"load"`
				Busy       bool      `json:"busy"`
				Drift      float64   `json:"drift"`
				Unsteady   bool      `json:"unsteady"`
				At         time.Time `json:"at"`
			}
		}
	}
	eachDevice(t, func(t *testing.T, device string) {
		state := "XDG_STATE_HOME=" + t.TempDir()
		info := func(args ...string) (v measured, text string) {
			r := (&call{args: append([]string{"info", "--device", device}, args...), env: []string{state}}).run(t)
			require.Equal(t, right, r.code, r.stderr)
			if args[len(args)-1] == "--json" {
				require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
			}
			return v, r.stdout
		}
		chosen := func(v measured) int {
			for i, d := range v.Devices {
				if d.Chosen {
					return i
				}
			}
			t.Fatal("no device is chosen")
			return 0
		}
		begin := time.Now()
		v, _ := info("--measure", "--json")
		d := v.Devices[chosen(v)]
		m := d.Measured
		require.NotNil(t, m)
		for name, x := range map[string]float64{
			"FMA": m.FMA, "cache": m.CacheRate, "memory": m.MemoryRate, "copy": m.CopyRate, "matrix": m.MatrixRate,
			"submission": m.Submit, "dispatch": m.Dispatch,
		} {
			require.Positive(t, x, name)
		}
		require.Equal(t, d.Features.Dot, m.Dot > 0)
		require.Equal(t, m.Load > 0.15, m.Busy)
		require.Equal(t, m.Drift > 0.1, m.Unsteady)
		require.Positive(t, m.Drift)
		require.False(t, m.At.Before(begin))

		again, _ := info("--verbose", "--json")
		require.Equal(t, m.FMA, again.Devices[chosen(again)].Measured.FMA, "kept")
		_, text := info("--device", device)
		require.Regexp(t, `(?m)^     at most  [\d.]+ GFLOP/s f32, (no|[\d.]+) f16, (no|[\d.]+) GOP/s int8; [\d.]+ GB/s in a cache`, text)
		require.Equal(t, m.Busy, strings.Contains(text, "on a busy machine"))
		require.Equal(t, m.Unsteady && !m.Busy, strings.Contains(text, "speed changed by"))
	})
}
