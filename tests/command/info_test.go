package command

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
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
		chosen := false // not where an environment variable names a driver that is not installed: info lists those that are
		for _, d := range v.Devices {
			chosen = chosen || d.Chosen
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
		if chosen {
			require.Regexp(t, `(?m)^     queues   \d+, of global priority \S+$`, text)
		}
	})
}
