//go:build linux

package memory

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// Open verifies a handle and opens what it stands for: *Mapped, *File, *DMABuf, *Opaque or *Image, as the package's
// comment tells. It duplicates the descriptor; h.Files stay the caller's. A memfd that may still shrink is sealed
// against it where that is permitted; this is all that its owner sees.
//
// Errors: INVALID_ARGUMENT for values that no pool can have (empty, negative or overflowing sizes and offsets,
// unknown protections, a description that contradicts itself, a nil file); GENERAL_FAILURE for what cannot be decoded or mapped
// (an unknown kind, not one descriptor or one of the wrong sort, a file that is too short or does not permit the
// protection); RESOURCE_EXHAUSTED_TRANSIENT where the process has no descriptor left.
func Open(h Handle) (Pool, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	where := h.Kind.where()
	f, err := dup(h.Files[0])
	if err != nil {
		return nil, exhausted(where, err)
	}
	h.Files = nil
	p, err := open(h, f)
	if err != nil {
		f.Close()
		return nil, nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
	}
	return p, nil
}

// open takes over f if it succeeds.
func open(h Handle, f *os.File) (Pool, error) {
	size := h.Size
	if h.Kind == HardwareBuffer {
		var err error
		if size, err = h.Buffer.Bytes(); err != nil {
			return nil, err
		}
	}
	b := newBase(h, f, size)
	var p Pool
	var err error
	switch h.Buffer.Source {
	case SourceDMABuf:
		p, err = openDMABuf(b)
	case SourceOpaque:
		p, err = openOpaque(b)
	default:
		p, err = openFile(b)
	}
	if err != nil || h.Kind != HardwareBuffer {
		return p, err
	}
	return &Image{backing: p, d: h.Buffer}, nil
}

// openFile maps what cannot shrink.
func openFile(b base) (Pool, error) {
	s, err := inspect(b.file)
	if err != nil {
		return nil, err
	}
	if s.mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("not a file (mode %#o)", s.mode)
	}
	if b.h.Kind == MmapFD {
		if b.h.Prot&ProtRead != 0 && !s.read || b.h.Prot&ProtWrite != 0 && !s.write {
			return nil, fmt.Errorf("the descriptor does not permit %v", b.h.Prot)
		}
		s.read, s.write = b.h.Prot&ProtRead != 0, b.h.Prot&ProtWrite != 0
	}
	if s.size-b.h.Offset < b.size {
		return nil, fmt.Errorf("%d bytes at %d of a file of %d", b.size, b.h.Offset, s.size)
	}
	if !s.fixed || !s.read {
		return &File{base: b, id: s.id, read: s.read, write: s.write}, nil
	}
	if b.size > math.MaxInt-int64(os.Getpagesize()) {
		return nil, fmt.Errorf("%d bytes are more than an address space", b.size)
	}
	return mapFile(b, s)
}

// base is what all opened pools have.
type base struct {
	h    Handle   // without files
	file *os.File // owned
	size int64
	life *lifetime
	// release is life.release, kept so that Acquire and Hold allocate nothing.
	release func()
}

// newBase makes a base whose end closes f; h is without files.
func newBase(h Handle, f *os.File, size int64) base {
	l := &lifetime{drop: func() { f.Close() }}
	return base{h: h, file: f, size: size, life: l, release: l.release}
}

// acquire keeps the memory open until release.
func (b *base) acquire() (release func(), err error) {
	if err := b.life.acquire(); err != nil {
		return nil, err
	}
	return b.release, nil
}

// Kind implements Pool.
func (b *base) Kind() Kind { return b.h.Kind }

// Size implements nn.Memory.
func (b *base) Size() int64 { return b.size }

// Close implements Pool.
func (b *base) Close() error {
	b.life.close()
	return nil
}

// Handle implements Pool.
func (b *base) Handle() (Handle, error) {
	if err := b.life.acquire(); err != nil {
		return Handle{}, err
	}
	defer b.life.release()
	f, err := dup(b.file)
	if err != nil {
		return Handle{}, dupError(b.h.Kind, err)
	}
	h := b.h
	h.Files = []*os.File{f}
	return h, nil
}

// unmappable is the error of Bytes where the host cannot have them.
func (b *base) unmappable(why string) error {
	if err := b.life.check(); err != nil {
		return err
	}
	return nn.Errorf(nn.StatusGeneralFailure, b.h.Kind.where(), "cannot be mapped by the host: %s", why)
}

// stat is what a descriptor permits, and the file behind it.
type stat struct {
	mode        uint32
	size        int64
	id          [2]uint64 // device and inode
	read, write bool      // what the descriptor permits
	fixed       bool      // nobody can shrink the file
	sealed      bool      // nobody can write to it either, by whatever descriptor or mapping
	dmabuf      bool
}

// inspect looks at a descriptor and seals a memfd against shrinking if that is permitted.
func inspect(f *os.File) (s stat, err error) {
	err = control(f, func(fd uintptr) (err error) {
		s, err = inspectFD(fd)
		return err
	})
	return s, err
}

func inspectFD(fd uintptr) (s stat, err error) {
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil {
		return s, fmt.Errorf("fcntl: %w", err)
	}
	if flags&unix.O_PATH != 0 {
		return s, errors.New("an O_PATH descriptor")
	}
	s.read = flags&unix.O_ACCMODE != unix.O_WRONLY
	s.write = flags&unix.O_ACCMODE != unix.O_RDONLY
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(fd), &fs); err != nil {
		return s, fmt.Errorf("fstatfs: %w", err)
	}
	s.dmabuf = fs.Type == unix.DMA_BUF_MAGIC
	if seals, err := unix.FcntlInt(fd, unix.F_GET_SEALS, 0); err == nil {
		if seals&unix.F_SEAL_SHRINK == 0 {
			_, err = unix.FcntlInt(fd, unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
		}
		// A fault in huge pages may find none left, which is as fatal as a file that shrank.
		s.fixed = err == nil && fs.Type != unix.HUGETLBFS_MAGIC
		if seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
			s.write = false
		}
		s.sealed = s.fixed && seals&unix.F_SEAL_WRITE != 0
	}
	// The size counts only now: before, the file could shrink.
	var st unix.Stat_t
	if err := unix.Fstat(int(fd), &st); err != nil {
		return s, fmt.Errorf("fstat: %w", err)
	}
	s.mode, s.size, s.id = st.Mode, st.Size, [2]uint64{uint64(st.Dev), st.Ino}
	return s, nil
}
