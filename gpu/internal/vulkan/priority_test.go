package vulkan

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
)

func TestPriorities(t *testing.T) {
	const high, usual = vk.PriorityHigh, vk.PriorityDefault
	fail := func(r vk.Result) error {
		return fmt.Errorf("wrapped: %w", &vk.Error{Call: "vkCreateDevice", Result: r})
	}
	require.Equal(t, []vk.Priority{usual}, priorities(&vk.Properties{}))
	asked := priorities(&vk.Properties{Priorities: true})
	require.Equal(t, []vk.Priority{high, usual}, asked)
	for _, tc := range []struct {
		name  string
		errs  map[vk.Priority]error
		want  vk.Priority
		tried int
		is    error
	}{
		{"granted", nil, high, 1, nil},
		{"not permitted", map[vk.Priority]error{high: fail(vk.ResultNotPermitted)}, usual, 2, nil},
		{"SwiftShader", map[vk.Priority]error{high: fail(vk.ResultInitializationFailed)}, usual, 2, nil},
		{"lost", map[vk.Priority]error{high: fail(vk.ResultDeviceLost)}, 0, 1, vk.ErrDeviceLost},
		{"no memory then", map[vk.Priority]error{high: fail(vk.ResultNotPermitted), usual: fail(vk.ResultOutOfHostMemory)}, 0, 2, vk.ErrOutOfMemory},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tried := 0
			dev, got, err := withPriority(asked, func(p vk.Priority) (*vk.Device, error) {
				tried++
				if err := tc.errs[p]; err != nil {
					return nil, err
				}
				return &vk.Device{}, nil
			})
			require.Equal(t, tc.tried, tried)
			require.ErrorIs(t, err, tc.is)
			require.Equal(t, tc.is == nil, dev != nil)
			if tc.is == nil {
				require.Equal(t, tc.want, got)
			}
		})
	}
	require.False(t, refused(nil))
	require.False(t, refused(errors.New("x")))
}

func TestQueueCount(t *testing.T) {
	for has, want := range map[int]int{0: 1, 1: 1, 2: 2, 16: 2} {
		require.Equal(t, want, queueCount(vk.QueueFamily{Count: has}))
	}
}

// TestQueues submits to every queue that the device has: each counts by itself.
func TestQueues(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		n, priority := d.Queues()
		require.Contains(t, priorities(d.props), priority)
		require.GreaterOrEqual(t, n, 1)
		t.Logf("%d queues, priority %v", n, priority)
		d.queueMu.Lock()
		defer d.queueMu.Unlock()
		for i := range n {
			value := d.queues[i].next + uint64(i+1)*10
			d.queues[i].next = value
			require.NoError(t, d.dev.Submit(i, nil, value))
			ok, err := d.dev.Wait(i, value, 10*time.Second)
			require.NoError(t, err)
			require.True(t, ok)
			v, err := d.dev.Reached(i)
			require.NoError(t, err)
			require.Equal(t, value, v)
		}
		require.Panics(t, func() { _, _ = d.dev.Reached(n) })
		require.Panics(t, func() { _ = d.dev.Submit(-1, nil, 1) })
	})
}
