package memory

import (
	"net"
	"os"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func everyField(t testing.TB) Handle {
	return Handle{Kind: HardwareBuffer, Size: 1, Prot: ProtWrite, Offset: -3, Buffer: Descriptor{
		Width: 4, Height: 5, Layers: 6, Format: FormatRGBA16F, Usage: 1 << 60, Stride: 8, Source: SourceOpaque,
		Allocation: 1 << 40, MemoryType: 10, DeviceUUID: [16]byte{11, 15: 12}, DriverUUID: [16]byte{13, 15: 14},
	}, Files: make([]*os.File, 2)}
}

func TestHandleEncoding(t *testing.T) {
	h := everyField(t)
	b, err := h.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, b, 104+len("hardware_buffer"))
	var got Handle
	require.NoError(t, got.UnmarshalBinary(b))
	require.Equal(t, h, got)

	for n := range b {
		require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(got.UnmarshalBinary(b[:n])), "%d bytes", n)
	}
	require.Error(t, got.UnmarshalBinary(append(b, 0)))
	for name, at := range map[string]int{"magic": 0, "version": 4, "files": 6, "kind": 7, "source": 69} {
		bad := append([]byte(nil), b...)
		bad[at] = 0xff
		require.Error(t, got.UnmarshalBinary(bad), name)
	}
	require.Equal(t, h, got, "a failure must leave the handle alone")

	for _, bad := range []Handle{{}, {Kind: Kind(make([]byte, 65))}, {Kind: Ashmem, Files: make([]*os.File, 254)}} {
		_, err := bad.MarshalBinary()
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	}
}

// TestHandleOverSocket passes a pool as one process does to another.
func TestHandleOverSocket(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	conn := func(fd int) *net.UnixConn {
		f := os.NewFile(uintptr(fd), "socket")
		defer f.Close()
		c, err := net.FileConn(f)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c.(*net.UnixConn)
	}
	from, to := conn(ends[0]), conn(ends[1])

	sent, err := NewAshmem("sent", 5000)
	require.NoError(t, err)
	defer sent.Close()
	h, err := sent.Handle()
	require.NoError(t, err)
	message, err := h.MarshalBinary()
	require.NoError(t, err)
	_, _, err = from.WriteMsgUnix(message, unix.UnixRights(int(h.Files[0].Fd())), nil)
	require.NoError(t, err)
	require.NoError(t, h.Close())

	b, oob := make([]byte, 1000), make([]byte, 1000)
	n, m, _, _, err := to.ReadMsgUnix(b, oob)
	require.NoError(t, err)
	var received Handle
	require.NoError(t, received.UnmarshalBinary(b[:n]))
	_, err = Open(received)
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "without its descriptor")
	control, err := unix.ParseSocketControlMessage(oob[:m])
	require.NoError(t, err)
	fds, err := unix.ParseUnixRights(&control[0])
	require.NoError(t, err)
	require.Len(t, fds, len(received.Files))
	received.Files[0] = os.NewFile(uintptr(fds[0]), "received")
	pool, err := Open(received)
	require.NoError(t, err)
	require.NoError(t, received.Close())
	defer pool.Close()

	a, err := sent.Bytes()
	require.NoError(t, err)
	c, err := pool.Bytes()
	require.NoError(t, err)
	a[4999] = 9
	require.EqualValues(t, 9, c[4999])
}
