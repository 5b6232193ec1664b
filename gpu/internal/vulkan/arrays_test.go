package vulkan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestArrays: a block has one array for each range, which goes with the block; a device has so many storage buffers for all
// arrays, and says when they are used up.
func TestArrays(t *testing.T) {
	d := openOrSkip(t, SwiftShader, Options{})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.Positive(t, d.info.Facts.MaxBlocks)
	require.GreaterOrEqual(t, d.props.MaxArrays, d.info.Facts.MaxBlocks)
	_, err := d.pipelines.layout("sssa")
	require.NoError(t, err)
	b, err := d.newBlock(8192, 0, weightsBlock, "test")
	require.NoError(t, err)
	first, err := b.array(arrayKey{0, 4096, 1024})
	require.NoError(t, err)
	same, err := b.array(arrayKey{0, 4096, 1024})
	require.NoError(t, err)
	require.Equal(t, first, same)
	for _, other := range []arrayKey{{4096, 4096, 1024}, {0, 2048, 1024}, {0, 4096, 256}} {
		set, err := b.array(other)
		require.NoError(t, err)
		require.NotEqual(t, first, set)
	}
	require.EqualValues(t, 4+4+2+16, d.arrays.Load())

	limit := d.props.MaxArrays
	d.props.MaxArrays = 30
	_, err = b.array(arrayKey{256, 5120, 1024})
	d.props.MaxArrays = limit
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err))
	require.EqualValues(t, 26, d.arrays.Load(), "what there is no room for is not counted")
	b.free()
	require.Zero(t, d.arrays.Load())
}
