package vulkan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestNoScreen: a device that was not opened for windows has none, and one that was works without. What a screen shows is
// tested where there is a window: cmd/nngpu/internal/window.
func TestNoScreen(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		_, err := d.OpenScreen(0, 0)
		require.ErrorIs(t, err, vk.ErrNotSupported)
	})
	for _, selector := range vktest.Selectors() {
		t.Run(selector+" for windows", func(t *testing.T) {
			d := vktest.Open(t, selector, vulkan.Options{Windows: true})
			m, err := d.Allocate(vulkan.Form{DenseBytes: 64, DeviceBytes: 64}, 0)
			require.NoError(t, err)
			require.NoError(t, m.Write(t.Context(), make([]byte, 64)))
			require.NoError(t, m.Close())
		})
	}
}
