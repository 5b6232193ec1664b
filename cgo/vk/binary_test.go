package vk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBinariesAbsent asks a device for what no software implementation has.
func TestBinariesAbsent(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		if p.Binaries {
			t.Skip("has VK_KHR_pipeline_binary")
		}
		_, err := d.BinaryKey()
		require.ErrorIs(t, err, ErrNotSupported)
		_, _, err = d.CapturePipeline([]uint32{1}, 0, Workgroup{Local: [3]uint32{1, 1, 1}})
		require.ErrorIs(t, err, ErrNotSupported)
		for _, list := range [][]Binary{nil, {{}}, {{Key: make([]byte, MaxBinaryKey+1), Data: []byte{1}}}} {
			_, err = d.PipelineOf(list, []uint32{1}, 0, Workgroup{Local: [3]uint32{1, 1, 1}})
			require.ErrorIs(t, err, ErrNotSupported)
		}
		_, err = d.capture(1)
		require.ErrorIs(t, err, ErrNotSupported)
		_, err = d.binary(1)
		require.ErrorIs(t, err, ErrNotSupported)
	})
}
