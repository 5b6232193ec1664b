package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

func TestPoolKinds(t *testing.T) {
	for _, tc := range []struct {
		name string
		x    vulkan.External
		want [5]PoolUse // ashmem, mmap_fd, dma-buf, opaque fd, image
	}{
		{"nothing", vulkan.External{}, [5]PoolUse{Copied, Copied, Copied, Refused, Copied}},
		{"host memory", vulkan.External{HostImport: true, HostAlign: 4096}, [5]PoolUse{Imported, Imported, Copied, Refused, Imported}},
		{"opaque fds", vulkan.External{OpaqueFD: true, Export: true}, [5]PoolUse{Copied, Copied, Copied, Imported, Copied}},
		{"files", vulkan.External{OpaqueFD: true, PlainFiles: true}, [5]PoolUse{Copied, Copied, Copied, Imported, Copied}},
		{"dma-bufs", vulkan.External{DmaBuf: true}, [5]PoolUse{Copied, Copied, Imported, Refused, Copied}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := externalOf(tc.x)
			require.Len(t, got.Pools, len(tc.want))
			for i, p := range got.Pools {
				require.Equal(t, tc.want[i], p.Use, "%s %s", p.Kind, p.Source)
				require.NotEmpty(t, p.Why)
			}
			require.Equal(t, tc.x.Export, got.Export)
			require.Equal(t, tc.x.HostAlign, got.HostAlign)
		})
	}
}

// TestQueuesInUse of opened devices.
func TestQueuesInUse(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		n, priority := b.Queues()
		require.Positive(t, n)
		require.NotEmpty(t, priority)
	})
}
