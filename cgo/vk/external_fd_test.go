package vk

import (
	"math/bits"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// exported is a buffer whose memory can be handed out.
type exported struct {
	buffer Buffer
	memory Memory
	need   Requirements
	fd     int
}

func newExported(t *testing.T, d *Device, bytes int64) exported {
	t.Helper()
	var x exported
	var err error
	x.buffer, err = d.NewExternalBuffer(bytes, externalUsage, OpaqueFD)
	require.NoError(t, err)
	x.need = d.Requirements(x.buffer)
	x.memory, err = d.AllocateExport(x.buffer, x.need.Size, 0, OpaqueFD)
	require.NoError(t, err)
	require.NoError(t, d.Bind(x.buffer, x.memory))
	x.fd, err = d.ExportFD(x.memory, OpaqueFD)
	require.NoError(t, err)
	t.Cleanup(func() {
		d.DestroyBuffer(x.buffer)
		d.Free(x.memory)
		require.NoError(t, unix.Close(x.fd))
	})
	return x
}

// fill writes value to all of b.
func fill(t *testing.T, d *Device, value uint64, b Buffer, bytes int64, word uint32) {
	t.Helper()
	var c Commands
	c.Fill(b, 0, bytes, word)
	c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
	run(t, d, value, &c)
}

// importFD imports h for a new buffer.
func importFD(t *testing.T, d *Device, bytes int64, h Handle) (Buffer, Memory, error) {
	t.Helper()
	b, err := d.NewExternalBuffer(bytes, externalUsage, h.Kind)
	require.NoError(t, err)
	m, err := d.ImportFD(h, b)
	if err == nil {
		err = d.Bind(b, m)
	}
	if err != nil {
		d.Free(m)
		d.DestroyBuffer(b)
		return 0, 0, err
	}
	return b, m, nil
}

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestExportImport passes memory through an fd and back within the process: both ends see each other's bytes.
func TestExportImport(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		require.True(t, p.OpaqueFD.Import && p.OpaqueFD.Export)
		const bytes = 3*4096 + 16
		x := newExported(t, d, bytes)
		flags, err := unix.FcntlInt(uintptr(x.fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.Equal(t, unix.FD_CLOEXEC, flags)
		fill(t, d, 1, x.buffer, bytes, 7)
		before := openFDs(t)
		h := Handle{FD: x.fd, Kind: OpaqueFD, Bytes: x.need.Size, Trusted: true}
		b, m, err := importFD(t, d, bytes, h)
		require.NoError(t, err)
		back := newTestBuffer(t, d, p, bytes)
		var c Commands
		c.Copy(b, 0, back.buffer, 0, bytes)
		c.Barrier(StageTransfer, AccessTransferRead|AccessTransferWrite, StageTransfer, AccessTransferRead|AccessTransferWrite)
		c.Fill(b, 0, bytes, 9)
		c.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
		run(t, d, 2, &c)
		require.Equal(t, byte(7), back.bytes[0])
		require.Equal(t, byte(7), back.bytes[bytes-4])
		var again Commands
		again.Copy(x.buffer, 0, back.buffer, 0, bytes)
		again.Barrier(StageTransfer, AccessTransferWrite, StageHost, AccessHostRead)
		run(t, d, 3, &again)
		require.Equal(t, byte(9), back.bytes[bytes-4])
		d.DestroyBuffer(b)
		d.Free(m)
		require.Equal(t, before, openFDs(t))
	})
}

// TestImportFDRefuses hands over what is no memory of the device, or not as it was said.
func TestImportFDRefuses(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		const bytes = 4096
		x := newExported(t, d, bytes)
		good := Handle{FD: x.fd, Kind: OpaqueFD, Bytes: x.need.Size, Trusted: true}
		plain, err := unix.MemfdCreate("nngpu-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		defer unix.Close(plain)
		require.NoError(t, unix.Ftruncate(plain, 100))
		readOnly, err := unix.Open("/proc/self/fd/"+strconv.Itoa(x.fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(readOnly)
		var pipe [2]int
		require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
		defer unix.Close(pipe[0])
		defer unix.Close(pipe[1])
		dir, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(dir)
		null, err := unix.Open("/dev/zero", unix.O_RDWR|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(null)
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		require.NoError(t, err)
		defer unix.Close(event)
		before := openFDs(t)
		for name, change := range map[string]func(h *Handle){
			"closed":            func(h *Handle) { h.FD = -1 },
			"short file":        func(h *Handle) { h.FD = plain },
			"pipe":              func(h *Handle) { h.FD = pipe[0] },
			"eventfd":           func(h *Handle) { h.FD = event },
			"device":            func(h *Handle) { h.FD = null },
			"folder":            func(h *Handle) { h.FD = dir },
			"read only":         func(h *Handle) { h.FD = readOnly },
			"too large":         func(h *Handle) { h.Bytes = 1 << 20 },
			"far too large":     func(h *Handle) { h.Bytes = 1 << 62 },
			"empty":             func(h *Handle) { h.Bytes = 0 },
			"negative":          func(h *Handle) { h.Bytes = -4096 },
			"unknown type":      func(h *Handle) { h.MemoryType = 31 },
			"negative type":     func(h *Handle) { h.MemoryType = -1 },
			"nobody vouches":    func(h *Handle) { h.Trusted = false },
			"file, not trusted": func(h *Handle) { h.FD, h.Trusted = plain, false },
		} {
			h := good
			change(&h)
			_, _, err := importFD(t, d, bytes, h)
			require.ErrorIs(t, err, ErrInvalidHandle, name)
		}
		b, m, err := importFD(t, d, bytes, good)
		require.NoError(t, err)
		d.DestroyBuffer(b)
		d.Free(m)

		// What only the driver can tell. lavapipe knows its own files; for SwiftShader any will do.
		require.NoError(t, unix.Ftruncate(plain, 1<<16))
		for _, size := range []int64{x.need.Size, 1 << 16} {
			b, m, err := importFD(t, d, size, Handle{FD: plain, Kind: OpaqueFD, Bytes: size, Trusted: true})
			if strings.Contains(p.Name, "llvmpipe") {
				require.ErrorIs(t, err, ErrInvalidHandle)
				continue
			}
			require.NoError(t, err)
			d.DestroyBuffer(b)
			d.Free(m)
		}
		require.Equal(t, before, openFDs(t))
		_, err = d.ImportFD(Handle{FD: x.fd, Kind: HostMemory, Bytes: bytes}, x.buffer)
		require.ErrorIs(t, err, ErrNotSupported)
		_, err = d.FDTypes(x.fd, OpaqueFD)
		require.ErrorIs(t, err, ErrNotSupported)
	})
}

// TestImportDmaBuf stands a memfd in a dma-buf's place, where a device takes that: no kernel at hand makes dma-bufs.
func TestImportDmaBuf(t *testing.T) {
	eachCPU(t, func(t *testing.T, d *Device, p *Properties) {
		const bytes = 1 << 14
		memfd := func(flags int) int {
			fd, err := unix.MemfdCreate("nngpu-test", flags|unix.MFD_CLOEXEC)
			require.NoError(t, err)
			require.NoError(t, unix.Ftruncate(fd, bytes))
			return fd
		}
		fd := memfd(unix.MFD_ALLOW_SEALING)
		defer unix.Close(fd)
		if !p.DmaBuf.Import {
			_, err := d.FDTypes(fd, DmaBuf)
			require.ErrorIs(t, err, ErrNotSupported)
			_, err = d.ImportFD(Handle{FD: fd, Kind: DmaBuf, Bytes: bytes}, 0)
			require.ErrorIs(t, err, ErrNotSupported)
			return
		}
		types, err := d.FDTypes(fd, DmaBuf)
		require.NoError(t, err)
		require.NotZero(t, types)
		memoryType := bits.TrailingZeros32(types)
		b, m, err := importFD(t, d, bytes, Handle{FD: fd, Kind: DmaBuf, Bytes: bytes, MemoryType: memoryType})
		require.NoError(t, err)
		require.Error(t, unix.Ftruncate(fd, 0), "sealed by the import")
		fill(t, d, 1, b, bytes, 0x05050505)
		got := make([]byte, bytes)
		n, err := unix.Pread(fd, got, 0)
		require.NoError(t, err)
		require.Equal(t, bytes, n)
		require.Equal(t, byte(5), got[0])
		require.Equal(t, byte(5), got[bytes-1])
		d.DestroyBuffer(b)
		d.Free(m)

		_, _, err = importFD(t, d, bytes, Handle{FD: fd, Kind: DmaBuf, Bytes: bytes + 4096, MemoryType: memoryType})
		require.ErrorIs(t, err, ErrInvalidHandle, "short")
		unsealable := memfd(0)
		defer unix.Close(unsealable)
		for _, trusted := range []bool{false, true} {
			_, _, err = importFD(t, d, bytes, Handle{FD: unsealable, Kind: DmaBuf, Bytes: bytes, MemoryType: memoryType, Trusted: trusted})
			require.ErrorIs(t, err, ErrInvalidHandle, "may shrink")
		}
	})
}
