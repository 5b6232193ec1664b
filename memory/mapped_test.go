package memory

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestNewAshmem: what it makes has its size for ever, and others see what is written.
func TestNewAshmem(t *testing.T) {
	for _, size := range []int64{1, 4095, 4096, 4097, 1<<20 + 3} {
		m, err := NewAshmem("pool", size)
		require.NoError(t, err)
		require.Equal(t, Ashmem, m.Kind())
		require.False(t, m.ReadOnly())
		h, err := m.Handle()
		require.NoError(t, err)
		require.Error(t, h.Files[0].Truncate(size-1))
		require.Error(t, h.Files[0].Truncate(size+1))
		other, err := Open(h)
		require.NoError(t, err)
		require.NoError(t, h.Close())
		a, err := m.Bytes()
		require.NoError(t, err)
		b, err := other.Bytes()
		require.NoError(t, err)
		a[size-1] = 42
		require.EqualValues(t, 42, b[size-1])
		require.NoError(t, m.Close())
		b[0] = 1 // still mapped
		require.NoError(t, other.Close())
	}
	for _, size := range []int64{0, -1, 1 << 62} {
		_, err := NewAshmem("pool", size)
		require.Error(t, err, "%d", size)
	}
	_, err := NewAshmem(strings.Repeat("n", 300), 1)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
}

// TestHugePool: an address space is not memory; only what is touched is allocated.
func TestHugePool(t *testing.T) {
	m, err := NewAshmem("huge", 1<<40)
	if err != nil {
		t.Skipf("no address space for a TiB: %v", err)
	}
	defer m.Close()
	b, err := m.Bytes()
	require.NoError(t, err)
	b[1<<40-1] = 1
	h, err := m.Handle()
	require.NoError(t, err)
	defer h.Close()
	end, err := FromFile(h.Files[0], ProtRead, 1<<40-7, 7)
	require.NoError(t, err)
	defer end.Close()
	c, err := end.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 1}, c)
}

// TestM28MappedOffset: Bytes begins at the handle's offset, whatever its alignment, and what is written reaches the
// file there and nowhere else.
func TestM28MappedOffset(t *testing.T) {
	const size = 3 * 4096
	for _, offset := range []int64{0, 1, 4095, 4096, 4097, 8192 + 11} {
		f := memfd(t, size, 0)
		p, err := FromFile(f, ProtRead|ProtWrite, offset, 100)
		require.NoError(t, err)
		b, err := p.Bytes()
		require.NoError(t, err)
		require.Len(t, b, 100)
		for i := range b {
			b[i] = byte(i + 1)
		}
		require.NoError(t, p.Close())
		got := make([]byte, size)
		_, err = f.ReadAt(got, 0)
		require.NoError(t, err)
		want := make([]byte, size)
		for i := range 100 {
			want[offset+int64(i)] = byte(i + 1)
		}
		require.Equal(t, want, got)
	}
}

// TestClosedWhileAcquired: the mapping outlives Close until the last release; hooks see it, the latest first.
func TestClosedWhileAcquired(t *testing.T) {
	m, err := NewAshmem("acquired", 10000)
	require.NoError(t, err)
	first, err := m.Acquire()
	require.NoError(t, err)
	second, err := m.Acquire()
	require.NoError(t, err)
	b, err := m.Bytes()
	require.NoError(t, err)
	var ran []string
	m.OnClose(func() { ran = append(ran, "first"); b[9999]++ })
	m.OnClose(func() { ran = append(ran, "second"); b[9999]++ })
	require.NoError(t, m.Close())
	_, err = m.Acquire()
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	first()
	again, err := m.Bytes()
	require.NoError(t, err)
	again[9999] = 7
	require.NoError(t, m.Close())
	require.Empty(t, ran)
	require.True(t, isMapped(t, "acquired"))
	second()
	require.Equal(t, []string{"second", "first"}, ran)
	require.False(t, isMapped(t, "acquired"))
	_, err = m.Bytes()
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	_, err = m.Handle()
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	m.OnClose(func() { ran = append(ran, "late") })
	require.Equal(t, []string{"second", "first", "late"}, ran)
	require.Panics(t, first)
}

func isMapped(t *testing.T, name string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Contains(string(maps), "/memfd:"+name+" ")
}

// TestAcquireAllocatesNothing: executions that repeat must not allocate for it.
func TestAcquireAllocatesNothing(t *testing.T) {
	m, err := NewAshmem("allocates", 10)
	require.NoError(t, err)
	defer m.Close()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		release, err := m.Acquire()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = m.Bytes()
		release()
	}))
}

// TestPlace: two mappings of one file are known as such.
func TestPlace(t *testing.T) {
	f, g := memfd(t, 10000, 0), plain(t, 10000)
	place := func(f *os.File, offset int64) ([2]uint64, int64) {
		p, err := FromFile(f, ProtRead, offset, 10)
		require.NoError(t, err)
		defer p.Close()
		return p.(nn.Located).Place()
	}
	a, at := place(f, 0)
	require.Zero(t, at)
	b, at := place(reopen(t, f, os.O_RDONLY), 5000)
	require.EqualValues(t, 5000, at)
	require.Equal(t, a, b)
	c, _ := place(memfd(t, 10000, 0), 0)
	d, _ := place(g, 0)
	require.NotEqual(t, a, c)
	require.NotEqual(t, a, d)
	require.NotEqual(t, c, d)
}

// TestNoLeaks opens and closes 10,000 times, with errors and pools still acquired in between: descriptors and mappings
// stay the same.
func TestNoLeaks(t *testing.T) {
	f, g := memfd(t, 3*4096, 0), plain(t, 4096)
	count := func() (fds, maps int) {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		b, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return len(entries), strings.Count(string(b), "/memfd:")
	}
	fds, maps := count()
	image := Descriptor{Width: 5, Height: 3, Layers: 2, Format: FormatRGB8, Stride: 8}
	opaque := blob(100)
	opaque.Source, opaque.Allocation = SourceOpaque, 4096
	for i := range 10_000 {
		h := Handle{Kind: MmapFD, Size: 4096, Prot: ProtRead, Offset: int64(i % 7), Files: files(f)}
		switch i % 7 {
		case 1:
			h.Files[0] = g // refused: there are 4096 bytes from 0
		case 2:
			h = Handle{Kind: HardwareBuffer, Buffer: image, Files: files(g)}
		case 3:
			h = Handle{Kind: HardwareBufferBlob, Size: 100, Buffer: opaque, Files: files(f)}
		case 4:
			h = Handle{Kind: HardwareBuffer, Buffer: image, Files: files(f)}
		}
		p, err := Open(h)
		if i%7 == 1 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		if s, ok := p.(nn.Shared); ok {
			release, err := s.Acquire()
			require.NoError(t, err)
			require.NoError(t, p.Close())
			release()
		}
		require.NoError(t, p.Close())
	}
	fdsAfter, mapsAfter := count()
	require.Equal(t, []int{fds, maps}, []int{fdsAfter, mapsAfter})
}

// TestConcurrentUse acquires, reads, hooks and closes pools from many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	for round := range 50 {
		m, err := NewAshmem(fmt.Sprintf("concurrent%d", round), 8*4096)
		require.NoError(t, err)
		var hooks sync.WaitGroup
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					release, err := m.Acquire()
					if err != nil {
						return
					}
					b, err := m.Bytes()
					if err != nil {
						t.Error(err)
						release()
						return
					}
					b[worker*4096]++
					if i == 0 {
						hooks.Add(1)
						m.OnClose(func() { b[worker*4096]++; hooks.Done() })
					}
					if h, err := m.Handle(); err == nil {
						h.Close()
					}
					if i == 20 && worker == round%8 {
						m.Close()
					}
					release()
				}
			})
		}
		wg.Wait()
		hooks.Wait()
		require.False(t, isMapped(t, fmt.Sprintf("concurrent%d", round)))
	}
}

// TestPunchedHole: a hole that the owner makes in a sealed memfd reads as zero and faults nobody.
func TestPunchedHole(t *testing.T) {
	f := memfd(t, 4*4096, 0)
	p, err := Open(Handle{Kind: Ashmem, Size: 4 * 4096, Files: files(f)})
	require.NoError(t, err)
	defer p.Close()
	b, err := p.Bytes()
	require.NoError(t, err)
	b[5000] = 1
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 4096); err != nil {
		t.Skipf("no holes: %v", err)
	}
	require.Zero(t, b[5000])
	b[5000] = 2
}
