package memory

import (
	"errors"
	"os"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func opaqueBlob(width uint32, allocation int64) Handle {
	d := blob(width)
	d.Source, d.Allocation, d.MemoryType, d.DeviceUUID = SourceOpaque, allocation, 3, [16]byte{1, 2, 3}
	return Handle{Kind: HardwareBufferBlob, Size: int64(width), Buffer: d}
}

// TestOpaque: memory of a device is for devices alone, and says what an import needs to know.
func TestOpaque(t *testing.T) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC) // stands for a file of the kernel's without a type
	require.NoError(t, err)
	anonymous := os.NewFile(uintptr(event), "eventfd")
	defer anonymous.Close()
	for _, tc := range []struct {
		name           string
		f              *os.File
		fixed, regular bool
	}{
		{"memfd", memfd(t, 4096, 0), true, true},
		{"sealed memfd", memfd(t, 4096, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW), true, true},
		{"memfd that cannot be sealed", memfd(t, 4096, unix.F_SEAL_SEAL), false, true},
		{"file", plain(t, 4096), false, true},
		{"file of the kernel's", anonymous, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := opaqueBlob(100, 4096)
			h.Files = files(tc.f)
			p, err := Open(h)
			require.NoError(t, err)
			require.EqualValues(t, 100, p.Size())
			_, shared := p.(nn.Shared)
			_, file := p.(nn.File)
			_, located := p.(nn.Located)
			require.Equal(t, []bool{false, false, false}, []bool{shared, file, located})
			_, err = p.Bytes()
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
			require.ErrorContains(t, err, "cannot be mapped by the host")

			e := p.(External)
			require.Equal(t, h.Buffer, e.Descriptor())
			require.EqualValues(t, 4096, e.Allocation())
			require.Equal(t, tc.fixed, e.Fixed())
			require.Equal(t, tc.regular, e.Regular())
			fd, err := e.DupFD()
			require.NoError(t, err)
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			require.NoError(t, err)
			require.NotZero(t, flags&unix.FD_CLOEXEC)
			require.NoError(t, unix.Close(fd))

			release, err := e.Hold()
			require.NoError(t, err)
			var dropped int
			e.OnRelease(func() { dropped++ })
			require.NoError(t, p.Close())
			require.Zero(t, dropped)
			_, err = e.Hold()
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
			release()
			require.Equal(t, 1, dropped)
			_, err = e.DupFD()
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
			e.OnRelease(func() { dropped++ })
			require.Equal(t, 2, dropped)
		})
	}
}

// fakeDMABuf is a memfd in a dma-buf's place, whose synchronisation is noted.
func fakeDMABuf(t *testing.T, size int64) (d *DMABuf, synced *[]uint64, fail *error) {
	t.Helper()
	f, err := dup(memfd(t, size, unix.F_SEAL_SHRINK))
	require.NoError(t, err)
	s, err := inspect(f)
	require.NoError(t, err)
	buffer := blob(uint32(size))
	buffer.Source = SourceDMABuf
	d = newDMABuf(newBase(Handle{Kind: HardwareBufferBlob, Size: size, Buffer: buffer}, f, size), s, size)
	synced, fail = new([]uint64), new(error)
	d.sync = func(flags uint64) error {
		*synced = append(*synced, flags)
		return *fail
	}
	return d, synced, fail
}

// TestDMABufAccess: the host's accesses are bracketed by DMA_BUF_IOCTL_SYNC, an importer's are not.
func TestDMABufAccess(t *testing.T) {
	d, synced, fail := fakeDMABuf(t, 5000)
	_, pinned := nn.Memory(d).(nn.Pinned)
	require.False(t, pinned, "devices import it by descriptor")
	hold, err := d.Hold()
	require.NoError(t, err)
	require.Empty(t, *synced)
	release, err := d.Acquire()
	require.NoError(t, err)
	b, err := d.Bytes()
	require.NoError(t, err)
	require.Len(t, b, 5000)
	b[4999] = 1
	require.Equal(t, []uint64{syncRead | syncWrite | syncStart}, *synced)
	again, err := d.Bytes()
	require.NoError(t, err)
	require.Same(t, &b[0], &again[0])
	release()
	require.Equal(t, []uint64{3, 7}, *synced)

	*fail = errors.New("the device is gone")
	_, err = d.Acquire()
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
	*fail = nil

	var dropped bool
	d.OnRelease(func() { dropped = true; b[0] = 1 })
	require.NoError(t, d.Close())
	require.False(t, dropped)
	hold()
	require.True(t, dropped)
	_, err = d.Bytes()
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	_, err = d.Acquire()
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
}

// TestDMABufThatIsNone: the ioctl on another file fails, and so does Acquire.
func TestDMABufThatIsNone(t *testing.T) {
	d, _, _ := fakeDMABuf(t, 4096)
	defer d.Close()
	d.sync = func(flags uint64) error {
		return control(d.file, func(fd uintptr) error { return syncDMABuf(fd, flags) })
	}
	_, err := d.Acquire()
	require.ErrorIs(t, err, unix.ENOTTY)
}

// TestDMABuf uses a real one where the system makes them.
func TestDMABuf(t *testing.T) {
	f := newDMABufFile(t, 8192)
	buffer := blob(5000)
	buffer.Source = SourceDMABuf
	h := Handle{Kind: HardwareBufferBlob, Size: 5000, Buffer: buffer, Files: files(f)}
	p, err := Open(h)
	require.NoError(t, err)
	d := p.(*DMABuf)
	release, err := d.Acquire()
	require.NoError(t, err)
	b, err := d.Bytes()
	require.NoError(t, err)
	b[4999] = 1
	release()
	require.True(t, d.Fixed())
	require.EqualValues(t, 8192, d.Allocation())
	other, err := Open(h)
	require.NoError(t, err)
	where, _ := d.Place()
	there, _ := other.(nn.Located).Place()
	require.Equal(t, where, there)
	require.NoError(t, other.Close())
	require.NoError(t, p.Close())

	h.Size, h.Buffer.Width = 8193, 8193
	_, err = Open(h)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
	_, err = Open(Handle{Kind: Ashmem, Size: 5000, Files: files(f)})
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
	opaque := opaqueBlob(100, 4096)
	opaque.Files = files(f)
	_, err = Open(opaque)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
}
