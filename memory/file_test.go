package memory

import (
	"bytes"
	"io"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestM28WritesReachTheFile: of an mmap_fd pool over an ordinary file, at its offset, seen at once by others.
func TestM28WritesReachTheFile(t *testing.T) {
	for _, offset := range []int64{0, 1, 4095, 4097} {
		f := plain(t, 3*4096)
		p, err := FromFile(f, ProtRead|ProtWrite, offset, 100)
		require.NoError(t, err)
		pool := p.(nn.File)
		mapped, err := unix.Mmap(int(f.Fd()), 0, 3*4096, unix.PROT_READ, unix.MAP_SHARED)
		require.NoError(t, err)
		n, err := pool.WriteAt([]byte("some bytes"), 90)
		require.NoError(t, err)
		require.Equal(t, 10, n)
		require.Equal(t, "some bytes", string(mapped[offset+90:offset+100]))
		require.NoError(t, unix.Munmap(mapped))
		_, err = f.WriteAt([]byte{1, 2, 3}, offset)
		require.NoError(t, err)
		got, err := io.ReadAll(io.NewSectionReader(pool, 0, pool.Size()))
		require.NoError(t, err)
		require.Equal(t, append([]byte{1, 2, 3}, make([]byte, 87)...), got[:90])
		require.NoError(t, p.Close())
	}
}

// TestFileRanges: what leaves the pool is refused though the file goes on (M29).
func TestFileRanges(t *testing.T) {
	f := plain(t, 4096)
	pattern := bytes.Repeat([]byte("x"), 4096)
	_, err := f.WriteAt(pattern, 0)
	require.NoError(t, err)
	p, err := FromFile(f, ProtRead|ProtWrite, 10, 100)
	require.NoError(t, err)
	defer p.Close()
	pool := p.(nn.File)
	for _, tc := range []struct {
		at    int64
		n     int
		read  int
		err   error // of reading; nil for INVALID_ARGUMENT if negative
		write nn.Status
	}{
		{0, 100, 100, nil, nn.StatusNone},
		{99, 1, 1, nil, nn.StatusNone},
		{100, 0, 0, io.EOF, nn.StatusNone},
		{100, 1, 0, io.EOF, nn.StatusInvalidArgument},
		{99, 2, 1, io.EOF, nn.StatusInvalidArgument},
		{0, 101, 100, io.EOF, nn.StatusInvalidArgument},
		{math.MaxInt64, 1, 0, io.EOF, nn.StatusInvalidArgument},
		{-1, 1, 0, nil, nn.StatusInvalidArgument},
		{math.MinInt64, 1, 0, nil, nn.StatusInvalidArgument},
	} {
		n, err := pool.ReadAt(make([]byte, tc.n), tc.at)
		require.Equal(t, tc.read, n, "%+v", tc)
		if tc.at < 0 {
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		} else {
			require.Equal(t, tc.err, err, "%+v", tc)
		}
		_, err = pool.WriteAt(make([]byte, tc.n), tc.at)
		require.Equal(t, tc.write, nn.StatusOf(err), "%+v: %v", tc, err)
	}
	got := make([]byte, 4096)
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, pattern[:10], got[:10])
	require.Equal(t, make([]byte, 100), got[10:110])
	require.Equal(t, pattern[110:], got[110:])
}

// TestShortenedFile: a file that became shorter after it was handed over is an error, in this process, which lives.
func TestShortenedFile(t *testing.T) {
	for name, f := range map[string]*os.File{"file": plain(t, 8192), "memfd": memfd(t, 8192, unix.F_SEAL_SEAL)} {
		t.Run(name, func(t *testing.T) {
			p, err := FromFile(f, ProtRead|ProtWrite, 100, 8000)
			require.NoError(t, err)
			defer p.Close()
			pool := p.(nn.File)
			require.NoError(t, f.Truncate(4096))
			n, err := pool.ReadAt(make([]byte, 8000), 0)
			require.Equal(t, 3996, n)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			_, err = pool.WriteAt(make([]byte, 10), 3990)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
			_, err = pool.WriteAt(make([]byte, 6), 3990)
			require.NoError(t, err)
			st, err := f.Stat()
			require.NoError(t, err)
			require.EqualValues(t, 4096, st.Size(), "a refused write must not make the file longer")
			_, err = FromFile(f, ProtRead, 100, 8000)
			require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
		})
	}
}

// TestFileProtection: reading and writing against the handle's protection or the descriptor's is refused.
func TestFileProtection(t *testing.T) {
	f := plain(t, 100)
	sealed := memfd(t, 100, unix.F_SEAL_SEAL|unix.F_SEAL_WRITE)
	for _, tc := range []struct {
		name        string
		h           Handle
		read, write nn.Status
	}{
		{"r", Handle{Kind: MmapFD, Size: 9, Prot: ProtRead, Files: files(f)}, 0, nn.StatusInvalidArgument},
		{"w", Handle{Kind: MmapFD, Size: 9, Prot: ProtWrite, Files: files(f)}, nn.StatusInvalidArgument, 0},
		{"rw", Handle{Kind: MmapFD, Size: 9, Prot: ProtRead | ProtWrite, Files: files(f)}, 0, 0},
		{"O_RDONLY", Handle{Kind: Ashmem, Size: 9, Files: files(reopen(t, f, os.O_RDONLY))}, 0, nn.StatusInvalidArgument},
		{"O_WRONLY", Handle{Kind: Ashmem, Size: 9, Files: files(reopen(t, f, os.O_WRONLY))}, nn.StatusInvalidArgument, 0},
		{"F_SEAL_WRITE", Handle{Kind: Ashmem, Size: 9, Files: files(sealed)}, 0, nn.StatusInvalidArgument},
		{"O_APPEND", Handle{Kind: Ashmem, Size: 9, Files: files(reopen(t, f, os.O_RDWR|os.O_APPEND))}, 0, nn.StatusGeneralFailure},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Open(tc.h)
			require.NoError(t, err)
			defer p.Close()
			pool := p.(nn.File)
			_, err = pool.ReadAt(make([]byte, 9), 0)
			require.Equal(t, tc.read, nn.StatusOf(err), "%v", err)
			_, err = pool.WriteAt(make([]byte, 9), 0)
			require.Equal(t, tc.write, nn.StatusOf(err), "%v", err)
			st, err := tc.h.Files[0].Stat()
			require.NoError(t, err)
			require.EqualValues(t, 100, st.Size())
		})
	}
}

// TestClosedFile: what is read or written after Close, or at the same time, gets an error and never another file.
func TestClosedFile(t *testing.T) {
	f := plain(t, 4096)
	for range 20 {
		p, err := FromFile(f, ProtRead|ProtWrite, 0, 4096)
		require.NoError(t, err)
		pool := p.(nn.File)
		var started, wg sync.WaitGroup
		started.Add(4)
		for i := range 4 {
			wg.Go(func() {
				b := make([]byte, 1024)
				for n := 0; ; n++ {
					var err error
					if i%2 == 0 {
						_, err = pool.ReadAt(b, int64(i)*1024)
					} else {
						_, err = pool.WriteAt(b, int64(i)*1024)
					}
					if n == 0 {
						started.Done()
					}
					if err != nil {
						if nn.StatusOf(err) != nn.StatusInvalidArgument {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		started.Wait()
		require.NoError(t, p.Close())
		wg.Wait()
		require.NoError(t, p.Close())
		_, err = p.Handle()
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	}
}
