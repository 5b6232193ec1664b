package vk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSyncFD(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		if !p.SyncFD {
			_, _, err := d.SyncFD(0)
			require.ErrorIs(t, err, ErrNotSupported)
			return
		}
		require.NoError(t, d.Submit(0, nil, 1))
		fd, s, err := d.SyncFD(0)
		require.NoError(t, err)
		ok, err := d.Wait(0, 1, 10*time.Second)
		require.NoError(t, err)
		require.True(t, ok)
		if fd >= 0 {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.NoError(t, unix.Close(fd))
		}
		require.NoError(t, d.WaitIdle())
		d.DestroySemaphore(s)
	})
}

// opaqueSemaphore is the handle type, of VkExternalSemaphoreHandleTypeFlagBits, that software implementations have.
const opaqueSemaphore = 0x1

// TestExportSemaphore goes the way of SyncFD with the handles that SwiftShader has.
func TestExportSemaphore(t *testing.T) {
	inst := openAll(t)
	list, err := inst.PhysicalDevices()
	require.NoError(t, err)
	for _, p := range list {
		props, err := p.Properties()
		require.NoError(t, err)
		if props.Type != TypeCPU || !props.Timeline || !p.exportsSemaphore(opaqueSemaphore, props.semaphoreFD) {
			continue
		}
		d, err := NewDevice(p, props, Queues{}, FeatureSyncFD)
		require.NoError(t, err)
		require.NoError(t, d.Submit(0, nil, 1))
		fd, s, err := d.exportSemaphore(0, opaqueSemaphore)
		require.NoError(t, err)
		require.GreaterOrEqual(t, fd, 0)
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.Equal(t, unix.FD_CLOEXEC, flags)
		require.NoError(t, d.WaitIdle())
		d.DestroySemaphore(s)
		require.NoError(t, unix.Close(fd))
		Inject(d, &Faults{Calls: map[Call]Fault{CallSubmit: {Result: ResultDeviceLost}}})
		_, s, err = d.exportSemaphore(0, opaqueSemaphore)
		require.ErrorIs(t, err, ErrDeviceLost)
		require.Zero(t, s)
		d.Close()
		require.Empty(t, inst.Messages())
		t.Log(props.Name)
		return
	}
	t.Skip("no device exports semaphores")
}
