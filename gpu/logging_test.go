package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/tests/logtest"
)

// TestLossIsLogged: once when the device is lost, once when it is there again or is given up.
func TestLossIsLogged(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			m := network(t, lostNetwork)
			inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
			x, err := b.Compile(t.Context(), m, backend.Options{})
			require.NoError(t, err)
			var said []logtest.Warning
			b.LogTo(logtest.New(func(w logtest.Warning) { said = append(said, w) }))
			compute(t, x, m, inputs)
			require.Empty(t, said)

			lose(b, vk.CallWait)
			_, err = attempt(t, x, m, inputs)
			unavailable(t, err)
			require.Len(t, said, 1, "before anybody comes back")
			require.Equal(t, "the device is lost", said[0].Message)
			require.ErrorIs(t, said[0].Err, vk.ErrDeviceLost)
			for range 2 {
				compute(t, x, m, inputs)
			}
			require.Len(t, said, 2)
			require.Contains(t, said[1].Message, "was opened again")

			lose(b, vk.CallWait)
			for range 3 {
				_, err = attempt(t, x, m, inputs)
				unavailable(t, err)
			}
			require.Len(t, said, 4)
			require.Equal(t, said[0].Message, said[2].Message)
			require.Contains(t, said[3].Message, "stays lost")
			require.NoError(t, x.Close())
		})
	}
}

// TestGoneDeviceIsLogged: once for each attempt to open it again, of which there is one a minute.
func TestGoneDeviceIsLogged(t *testing.T) {
	b := openBackend(t, vktest.Selectors()[0], Options{})
	t.Setenv("NNGPU_LAVAPIPE", t.TempDir())
	t.Setenv("NNGPU_SWIFTSHADER", t.TempDir())
	t.Setenv("VK_DRIVER_FILES", t.TempDir())
	t.Setenv("VK_ICD_FILENAMES", t.TempDir())
	var said []string
	b.LogTo(logtest.New(func(w logtest.Warning) { said = append(said, w.Message) }))
	b.devices.now().Abandon()
	for range 3 {
		_, err := b.devices.use()
		unavailable(t, err)
	}
	require.Equal(t, []string{"the device is lost", "the lost device cannot be opened again"}, said)
	b.devices.retry = time.Now()
	_, err := b.devices.use()
	unavailable(t, err)
	require.Len(t, said, 3)
}

// TestValidationIsLogged: each message once, and who asks for messages gets them as well, the last ones at least.
func TestValidationIsLogged(t *testing.T) {
	b := openBackend(t, vktest.Selectors()[0], Options{})
	said := 0
	b.LogTo(logtest.New(func(w logtest.Warning) {
		require.Contains(t, w.Message, "validation layer")
		said++
	}))
	var list []string
	for i := range maxMessages + 10 {
		list = append(list, fmt.Sprint("mistake ", i))
	}
	b.devices.mu.Lock()
	b.devices.collect(list)
	b.devices.mu.Unlock()
	require.Equal(t, len(list), said)
	require.Equal(t, list[10:], b.ValidationMessages())
	require.Empty(t, b.ValidationMessages())
}
