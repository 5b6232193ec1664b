package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/nn"
)

// readCount waits for an eventfd and reads its counter.
func readCount(t *testing.T, f *os.File) uint64 {
	t.Helper()
	require.NoError(t, f.SetReadDeadline(time.Now().Add(20*time.Second)))
	b := make([]byte, 8)
	_, err := f.Read(b)
	require.NoError(t, err)
	return binary.NativeEndian.Uint64(b)
}

// readable reports whether an eventfd was signalled.
func readable(t *testing.T, f *os.File) (yes bool) {
	t.Helper()
	raw, err := f.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		yes = err == nil && n == 1
	}))
	return yes
}

func TestFenceFile(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want uint64
	}{
		{"success", nil, 1},
		{"failure", nn.Invalid("test", "wrong"), FenceFailed + uint64(nn.StatusInvalidArgument)},
		{"missed", context.DeadlineExceeded, FenceFailed + uint64(nn.StatusMissedDeadlineTransient)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := NewFence()
			before, err := f.File()
			require.NoError(t, err)
			defer before.Close()
			require.False(t, readable(t, before))
			f.Signal(tc.err)
			f.Signal(errors.New("too late"))
			after, err := f.File()
			require.NoError(t, err)
			defer after.Close()
			for _, file := range []*os.File{before, after} {
				require.Equal(t, tc.want, readCount(t, file))
			}
			require.Equal(t, tc.err, f.Err())
			require.Equal(t, tc.err, f.Wait(t.Context()))
		})
	}
}

// TestImportedFence: an outcome crosses as a descriptor, and looking at it does not use it up.
func TestImportedFence(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			f := NewFence()
			file, err := f.File()
			require.NoError(t, err)
			a, err := ImportFence(file)
			require.NoError(t, err)
			b, err := ImportFence(file)
			require.NoError(t, err)
			require.Error(t, a.Wait(canceled(t)), "not signalled yet")
			var want nn.Status
			if fails {
				want = nn.StatusGeneralFailure
				f.Signal(errors.New("broken"))
			} else {
				f.Signal(nil)
			}
			late, err := ImportFence(file)
			require.NoError(t, err)
			for _, g := range []*Fence{a, b, late} {
				require.Equal(t, want, nn.StatusOf(g.Wait(t.Context())))
			}
			require.NotZero(t, readCount(t, file), "nobody has read it")
			require.NoError(t, file.Close())
		})
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestImportFenceRefuses what is no fence, whatever it is.
func TestImportFenceRefuses(t *testing.T) {
	plain, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer plain.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	gone, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	for name, f := range map[string]*os.File{"nothing": nil, "a file": plain, "a pipe": r, "a closed file": gone} {
		t.Run(name, func(t *testing.T) {
			_, err := ImportFence(f)
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
		})
	}
}

// TestImportedFenceClosed: Close ends the wait, and no descriptor is left.
func TestImportedFenceClosed(t *testing.T) {
	file := func() *os.File {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		require.NoError(t, err)
		return os.NewFile(uintptr(fd), "eventfd")
	}()
	defer file.Close()
	before := descriptors(t)
	for range 200 {
		f, err := ImportFence(file)
		require.NoError(t, err)
		f.Close()
		require.ErrorIs(t, f.Wait(t.Context()), ErrFenceClosed)
	}
	require.Eventually(t, func() bool { return descriptors(t) < before+20 }, 20*time.Second, 10*time.Millisecond)
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
