package memory

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// memfd returns a new memfd of a size, with seals on it; without MFD_ALLOW_SEALING if seals is negative.
func memfd(t testing.TB, size int64, seals int) *os.File {
	t.Helper()
	flags := unix.MFD_CLOEXEC
	if seals >= 0 {
		flags |= unix.MFD_ALLOW_SEALING
	}
	fd, err := unix.MemfdCreate("test", flags)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "memfd:test")
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(size))
	if seals > 0 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
		require.NoError(t, err)
	}
	return f
}

// plain returns an ordinary file.
func plain(t testing.TB, size int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(size))
	return f
}

// reopen opens f once more, with other flags.
func reopen(t testing.TB, f *os.File, flags int) *os.File {
	t.Helper()
	g, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), flags, 0)
	require.NoError(t, err)
	t.Cleanup(func() { g.Close() })
	return g
}

func files(f ...*os.File) []*os.File { return f }

func blob(width uint32) Descriptor {
	return Descriptor{Width: width, Height: 1, Layers: 1, Format: FormatBlob}
}

// TestM27Handles: every kind opens; zero sizes, unknown kinds and what cannot be decoded or mapped are errors at use.
func TestM27Handles(t *testing.T) {
	const size = 3*4096 + 17
	f := memfd(t, size, 0)
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	closed := memfd(t, size, 0)
	require.NoError(t, closed.Close())
	path := reopen(t, f, unix.O_PATH)

	image := Descriptor{Width: 5, Height: 3, Layers: 2, Format: FormatRGBA8, Stride: 8}
	opaque := blob(100)
	opaque.Source, opaque.Allocation = SourceOpaque, 256
	with := func(d Descriptor, f func(d *Descriptor)) Descriptor { f(&d); return d }

	const none, invalid, failure = nn.StatusNone, nn.StatusInvalidArgument, nn.StatusGeneralFailure
	for _, tc := range []struct {
		name string
		h    Handle
		want nn.Status
	}{
		{"ashmem", Handle{Kind: Ashmem, Size: size, Files: files(f)}, none},
		{"ashmem, part of the file", Handle{Kind: Ashmem, Size: 1, Files: files(f)}, none},
		{"mmap_fd", Handle{Kind: MmapFD, Size: size, Prot: ProtRead | ProtWrite, Files: files(f)}, none},
		{"mmap_fd, last byte", Handle{Kind: MmapFD, Size: 1, Offset: size - 1, Prot: ProtRead, Files: files(f)}, none},
		{"blob", Handle{Kind: HardwareBufferBlob, Size: 100, Buffer: blob(100), Files: files(f)}, none},
		{"opaque blob", Handle{Kind: HardwareBufferBlob, Size: 100, Buffer: opaque, Files: files(f)}, none},
		{"image", Handle{Kind: HardwareBuffer, Buffer: image, Files: files(f)}, none},

		{"no kind", Handle{Size: size, Files: files(f)}, failure},
		{"unknown kind", Handle{Kind: "ion", Size: size, Files: files(f)}, failure},
		{"no descriptor", Handle{Kind: Ashmem, Size: size}, failure},
		{"nil descriptor", Handle{Kind: Ashmem, Size: size, Files: files(nil)}, invalid},
		{"two descriptors", Handle{Kind: Ashmem, Size: size, Files: files(f, f)}, failure},
		{"closed descriptor", Handle{Kind: Ashmem, Size: size, Files: files(closed)}, failure},
		{"O_PATH descriptor", Handle{Kind: Ashmem, Size: size, Files: files(path)}, failure},
		{"directory", Handle{Kind: Ashmem, Size: 1, Files: files(dir)}, failure},
		{"device", Handle{Kind: MmapFD, Size: 1, Prot: ProtRead, Files: files(null)}, failure},
		{"pipe", Handle{Kind: Ashmem, Size: 1, Files: files(r)}, failure},
		{"longer than the file", Handle{Kind: Ashmem, Size: size + 1, Files: files(f)}, failure},
		{"huge", Handle{Kind: Ashmem, Size: math.MaxInt64, Files: files(f)}, failure},

		{"zero size", Handle{Kind: Ashmem, Files: files(f)}, invalid},
		{"negative size", Handle{Kind: Ashmem, Size: -1, Files: files(f)}, invalid},
		{"ashmem with protection", Handle{Kind: Ashmem, Size: 1, Prot: ProtRead, Files: files(f)}, invalid},
		{"ashmem with offset", Handle{Kind: Ashmem, Size: 1, Offset: 1, Files: files(f)}, invalid},
		{"ashmem with description", Handle{Kind: Ashmem, Size: 1, Buffer: blob(1), Files: files(f)}, invalid},
		{"mmap_fd of zero size", Handle{Kind: MmapFD, Prot: ProtRead, Files: files(f)}, invalid},
		{"no protection", Handle{Kind: MmapFD, Size: 1, Files: files(f)}, invalid},
		{"PROT_EXEC", Handle{Kind: MmapFD, Size: 1, Prot: ProtRead | unix.PROT_EXEC, Files: files(f)}, invalid},

		{"blob of width 0", Handle{Kind: HardwareBufferBlob, Buffer: blob(0), Files: files(f)}, invalid},
		{"blob of another size", Handle{Kind: HardwareBufferBlob, Size: 99, Buffer: blob(100), Files: files(f)}, invalid},
		{"blob of height 2", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(blob(100), func(d *Descriptor) { d.Height = 2 })}, invalid},
		{"blob with an image's format", Handle{Kind: HardwareBufferBlob, Size: 5, Buffer: image, Files: files(f)}, invalid},
		{"blob longer than the file", Handle{Kind: HardwareBufferBlob, Size: size + 1, Buffer: blob(size + 1), Files: files(f)}, failure},
		{"blob that is no dma-buf", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(blob(100), func(d *Descriptor) { d.Source = SourceDMABuf })}, failure},
		{"blob of unknown source", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(blob(100), func(d *Descriptor) { d.Source = 9 })}, invalid},
		{"file with an allocation", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(blob(100), func(d *Descriptor) { d.Allocation = 100 })}, invalid},
		{"opaque, allocation too small", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(opaque, func(d *Descriptor) { d.Allocation = 99 })}, invalid},
		{"opaque, file too small", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(opaque, func(d *Descriptor) { d.Allocation = size + 1 })}, failure},
		{"opaque, memory type 32", Handle{Kind: HardwareBufferBlob, Size: 100, Files: files(f),
			Buffer: with(opaque, func(d *Descriptor) { d.MemoryType = 32 })}, invalid},
		{"opaque directory", Handle{Kind: HardwareBufferBlob, Size: 100, Buffer: opaque, Files: files(dir)}, failure},
		{"image with a size", Handle{Kind: HardwareBuffer, Size: 1, Buffer: image, Files: files(f)}, invalid},
		{"image of BLOB", Handle{Kind: HardwareBuffer, Buffer: blob(100), Files: files(f)}, invalid},
		{"image longer than the file", Handle{Kind: HardwareBuffer, Files: files(f),
			Buffer: with(image, func(d *Descriptor) { d.Layers = 1000 })}, failure},
		{"image that overflows", Handle{Kind: HardwareBuffer, Files: files(f),
			Buffer: with(image, func(d *Descriptor) { d.Stride, d.Height, d.Layers = math.MaxUint32, math.MaxUint32, math.MaxUint32 })}, invalid},
		{"image, stride below width", Handle{Kind: HardwareBuffer, Files: files(f),
			Buffer: with(image, func(d *Descriptor) { d.Stride = 4 })}, invalid},
		{"image of unknown format", Handle{Kind: HardwareBuffer, Files: files(f),
			Buffer: with(image, func(d *Descriptor) { d.Format = 0x23 })}, invalid}, // Y8Cb8Cr8_420
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Open(tc.h)
			require.Equal(t, tc.want, nn.StatusOf(err), "%v", err)
			if err != nil {
				require.Nil(t, p)
				refused := Refused{Err: err, Want: tc.h.Size}
				_, atUse := refused.Bytes()
				require.Equal(t, err, atUse)
				require.GreaterOrEqual(t, refused.Size(), int64(0))
				return
			}
			require.Equal(t, tc.h.Kind, p.Kind())
			require.Equal(t, tc.h.Size, p.Size())
			require.NoError(t, p.Close())
			require.NoError(t, p.Close())
		})
	}
	_, err = f.Stat()
	require.NoError(t, err, "Open must leave the caller's descriptor open")
}

// TestM29Offsets: ends beyond 2^63 are the caller's mistake, ends beyond the file cannot be mapped; the sum is never
// taken in fewer bits.
func TestM29Offsets(t *testing.T) {
	const size = 2 * 4096
	for _, tc := range []struct {
		offset, size int64
		want         nn.Status
	}{
		{0, size, nn.StatusNone},
		{1, size - 1, nn.StatusNone},
		{4095, 2, nn.StatusNone},
		{size - 1, 1, nn.StatusNone},
		{1, size, nn.StatusGeneralFailure},
		{size, 1, nn.StatusGeneralFailure},
		{1 << 32, 1, nn.StatusGeneralFailure},
		{math.MaxInt64 - 1, 1, nn.StatusGeneralFailure},
		{math.MaxInt64, 1, nn.StatusInvalidArgument},
		{1, math.MaxInt64, nn.StatusInvalidArgument},
		{-1, 1, nn.StatusInvalidArgument},
		{-4096, 4097, nn.StatusInvalidArgument},
		{math.MinInt64, 1, nn.StatusInvalidArgument},
	} {
		for name, f := range map[string]*os.File{"memfd": memfd(t, size, 0), "file": plain(t, size)} {
			t.Run(fmt.Sprintf("%s %d+%d", name, tc.offset, tc.size), func(t *testing.T) {
				p, err := FromFile(f, ProtRead, tc.offset, tc.size)
				require.Equal(t, tc.want, nn.StatusOf(err), "%v", err)
				if err == nil {
					require.NoError(t, p.Close())
				}
			})
		}
	}
}

// TestAbilities: which files are mapped and which only read and written, and that type assertions tell.
func TestAbilities(t *testing.T) {
	const size, rw = 4096 + 5, ProtRead | ProtWrite
	sealed := unix.F_SEAL_SHRINK
	for _, tc := range []struct {
		name     string
		file     *os.File
		prot     Prot // 0 for ashmem
		mapped   bool
		readOnly bool
		want     nn.Status
	}{
		{"ashmem, may be sealed", memfd(t, size, 0), 0, true, false, 0},
		{"ashmem, sealed", memfd(t, size, sealed), 0, true, false, 0},
		{"ashmem, sealed for good", memfd(t, size, sealed|unix.F_SEAL_SEAL), 0, true, false, 0},
		{"ashmem, must not be sealed", memfd(t, size, unix.F_SEAL_SEAL), 0, false, false, 0},
		{"ashmem, F_SEAL_WRITE", memfd(t, size, unix.F_SEAL_WRITE), 0, true, true, 0},
		{"ashmem, F_SEAL_FUTURE_WRITE", memfd(t, size, unix.F_SEAL_FUTURE_WRITE), 0, true, true, 0},
		{"ashmem, sealed, O_RDONLY", reopen(t, memfd(t, size, sealed), unix.O_RDONLY), 0, true, true, 0},
		{"ashmem, unsealed, O_RDONLY", reopen(t, memfd(t, size, 0), unix.O_RDONLY), 0, false, true, 0},
		{"ashmem over a file", plain(t, size), 0, false, false, 0},
		{"mmap_fd rw", memfd(t, size, 0), rw, true, false, 0},
		{"mmap_fd r", memfd(t, size, 0), ProtRead, true, true, 0},
		{"mmap_fd w", memfd(t, size, 0), ProtWrite, false, false, 0},
		{"mmap_fd rw, F_SEAL_WRITE", memfd(t, size, unix.F_SEAL_WRITE), rw, false, false, nn.StatusGeneralFailure},
		{"mmap_fd rw, O_RDONLY", reopen(t, memfd(t, size, sealed), unix.O_RDONLY), rw, false, false, nn.StatusGeneralFailure},
		{"mmap_fd r, O_WRONLY", reopen(t, memfd(t, size, sealed), unix.O_WRONLY), ProtRead, false, false, nn.StatusGeneralFailure},
		{"mmap_fd w, O_WRONLY", reopen(t, memfd(t, size, sealed), unix.O_WRONLY), ProtWrite, false, false, 0},
		{"mmap_fd over a file", plain(t, size), rw, false, false, 0},
		{"mmap_fd r over a file", reopen(t, plain(t, size), unix.O_RDONLY), ProtRead, false, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := Handle{Kind: Ashmem, Size: size, Files: files(tc.file)}
			if tc.prot != 0 {
				h.Kind, h.Prot = MmapFD, tc.prot
			}
			p, err := Open(h)
			require.Equal(t, tc.want, nn.StatusOf(err), "%v", err)
			if err != nil {
				return
			}
			defer p.Close()
			_, pinned := p.(nn.Pinned)
			_, shared := p.(nn.Shared)
			_, file := p.(nn.File)
			_, external := p.(External)
			require.True(t, shared)
			require.Equal(t, []bool{tc.mapped, !tc.mapped, false}, []bool{pinned, file, external})
			require.Equal(t, tc.readOnly, p.(interface{ ReadOnly() bool }).ReadOnly())
			b, err := p.Bytes()
			if !tc.mapped {
				require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
				return
			}
			require.NoError(t, err)
			require.Len(t, b, size)
			require.Equal(t, size, cap(b))
			require.Zero(t, b[size-1])
			if !tc.readOnly {
				b[size-1] = 1
			}
			require.Error(t, tc.file.Truncate(0), "the file must not shrink")
			require.Error(t, tc.file.Truncate(size-1))
		})
	}
}

// TestUnsealableMemfd: a memfd that was made without MFD_ALLOW_SEALING.
func TestUnsealableMemfd(t *testing.T) {
	f := memfd(t, 100, -1)
	if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_SEAL == 0 {
		t.Skip("this system makes every memfd sealable (vm.memfd_noexec)")
	}
	p, err := Open(Handle{Kind: Ashmem, Size: 100, Files: files(f)})
	require.NoError(t, err)
	defer p.Close()
	require.IsType(t, &File{}, p)
}

// TestHugePages: huge pages may run out under a mapping, so they are not mapped.
func TestHugePages(t *testing.T) {
	fd, err := unix.MemfdCreate("huge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_HUGETLB)
	if err != nil {
		t.Skipf("no memfd of huge pages: %v", err)
	}
	f := os.NewFile(uintptr(fd), "huge")
	defer f.Close()
	const size = 32 << 20 // a multiple of any usual huge page
	if err := f.Truncate(size); err != nil {
		t.Skipf("no memfd of huge pages: %v", err)
	}
	p, err := Open(Handle{Kind: Ashmem, Size: size, Files: files(f)})
	require.NoError(t, err)
	defer p.Close()
	require.IsType(t, &File{}, p)
}

// TestNoDescriptorsLeft: it is an error that passes, and nothing is lost by it.
func TestNoDescriptorsLeft(t *testing.T) {
	f := memfd(t, 100, 0)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: old.Max}))
	_, err := Open(Handle{Kind: Ashmem, Size: 100, Files: files(f)})
	_, made := NewAshmem("none", 100)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), "%v", err)
	require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(made), "%v", made)
	p, err := Open(Handle{Kind: Ashmem, Size: 100, Files: files(f)})
	require.NoError(t, err)
	require.NoError(t, p.Close())
}

// TestNames: what errors call things.
func TestNames(t *testing.T) {
	require.Equal(t, "r w rw Prot(0x4)", fmt.Sprintf("%v %v %v %v", ProtRead, ProtWrite, ProtRead|ProtWrite, Prot(4)))
	require.Equal(t, "file dma-buf opaque fd Source(3)", fmt.Sprintf("%v %v %v %v", SourceFile, SourceDMABuf, SourceOpaque, Source(3)))
	require.Equal(t, "BLOB R8_UNORM Format(0x39)", fmt.Sprintf("%v %v %v", FormatBlob, FormatR8, Format(0x39)))
}
