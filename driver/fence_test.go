package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
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
			require.False(t, ready(int(before.Fd())))
			f.Signal(tc.err)
			f.Signal(errors.New("too late"))
			after, err := f.File()
			require.NoError(t, err)
			defer after.Close()
			require.NoError(t, unix.SetNonblock(int(before.Fd()), true))
			for _, file := range []*os.File{before, after} {
				n, ok := eventCount(int(file.Fd()))
				require.True(t, ok)
				require.Equal(t, tc.want, n)
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

// TestSyncFile stands in for what no kernel of a test machine makes: a descriptor that says what a sync_file says.
func TestSyncFile(t *testing.T) {
	var state atomic.Int32
	syncStatus = func(int) (int, bool) { return int(state.Load()), true }
	defer func() { syncStatus = syncFileStatus }()
	for _, tc := range []struct {
		name  string
		state int
		want  nn.Status
	}{{"signalled", 1, nn.StatusNone}, {"failed", -int(unix.EIO), nn.StatusGeneralFailure}} {
		t.Run(tc.name, func(t *testing.T) {
			r, w, err := os.Pipe() // readable when "signalled"
			require.NoError(t, err)
			defer r.Close()
			f, err := ImportFence(r)
			require.NoError(t, err)
			require.Error(t, f.Wait(canceled(t)))
			state.Store(int32(tc.state))
			require.NoError(t, w.Close())
			require.Equal(t, tc.want, nn.StatusOf(f.Wait(t.Context())))
		})
	}
}

// TestX10UnknownOutcome: a fence that cannot tell how it ended has failed.
func TestX10UnknownOutcome(t *testing.T) {
	for name, sync := range map[string]bool{"eventfd": false, "sync_file": true} {
		t.Run(name, func(t *testing.T) {
			defer func() { syncStatus = syncFileStatus }()
			syncStatus = func(int) (int, bool) { return 1, sync }
			f, err := NewFence().File()
			require.NoError(t, err)
			status, err := statusReader(int(f.Fd()))
			require.NoError(t, err)
			require.NoError(t, status(int(f.Fd())))
			gone := int(f.Fd())
			require.NoError(t, f.Close())
			syncStatus = func(int) (int, bool) { return 0, false }
			require.ErrorIs(t, status(gone), errOutcome)
		})
	}
}
