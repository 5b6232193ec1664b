package vulkan_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestTwoQueues runs urgent and other executables side by side. No software device has two queues: one with two
// timelines stands for them, so that the order between the queues is not tested, but what belongs to each is.
func TestTwoQueues(t *testing.T) {
	for _, name := range vktest.Selectors() {
		t.Run(name, func(t *testing.T) { twoQueues(t, vktest.Open(t, name, vulkan.Options{TwoQueues: true})) })
	}
}

func twoQueues(t *testing.T, d *vulkan.Device) {
	n, _ := d.Queues()
	require.Equal(t, 2, n)
	var group sync.WaitGroup
	for i := range 4 {
		x := newExecutable(t, d, absPlan(int64(500+i), 3), vulkan.ExecutableOptions{Urgent: i%2 == 0})
		group.Go(func() {
			for k := range 50 {
				in, out := floats(int64(500+i), float32(k)), make([]byte, 4*(500+i))
				if err := runOnce(t.Context(), x, in, out); err != nil {
					t.Errorf("executable %d, run %d: %v", i, k, err)
					return
				}
				if err := wantAbs(in, out); err != nil {
					t.Error(fmt.Errorf("executable %d, run %d: %w", i, k, err))
					return
				}
			}
		})
	}
	group.Wait()
}
