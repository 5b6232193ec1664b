package vulkan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestAccountRoom lets other programs take the device's memory.
func TestAccountRoom(t *testing.T) {
	room := int64(500)
	a := account{limit: 1000, room: func() int64 { return room }}
	require.NoError(t, a.take(500, 0, "a"))
	room = 400
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(a.take(401, 0, "b")))
	require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(a.take(1001, 0, "b")))
	require.NoError(t, a.take(400, 0, "b"))
	room = 0
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(a.take(1, 0, "c")))
	used, _ := a.read()
	require.Equal(t, int64(900), used)
}

// TestFitsAnswersAsTake: and takes nothing.
func TestFitsAnswersAsTake(t *testing.T) {
	room := int64(700)
	for _, tc := range []struct{ bytes, budget int64 }{{1, 0}, {600, 0}, {601, 0}, {701, 0}, {1001, 0}, {100, 500}, {101, 500}, {501, 500}} {
		a := account{limit: 1000, room: func() int64 { return room }}
		require.NoError(t, a.take(400, 0, "a"))
		fits := a.fits(tc.bytes, tc.budget, "b")
		used, peak := a.read()
		require.Equal(t, [2]int64{400, 400}, [2]int64{used, peak})
		require.Equal(t, a.take(tc.bytes, tc.budget, "b"), fits, tc)
	}
}

// TestBudgetOfDriver asks the driver where it has an answer.
func TestBudgetOfDriver(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		require.Equal(t, d.props.HasBudget(), d.account.room != nil)
		if d.account.room == nil {
			t.Skip("no VK_EXT_memory_budget")
		}
		room := d.account.room()
		require.Positive(t, room)
		require.LessOrEqual(t, room, d.props.Heaps[0])
		b, err := d.newBlock(1<<20, 0, deviceBlock, "test")
		require.NoError(t, err)
		b.free()
	})
}
