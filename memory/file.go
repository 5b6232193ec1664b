//go:build linux

package memory

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// File is a pool in a file that somebody may shorten: it is never mapped. It is nn.Shared, nn.File and nn.Located.
//
// Reading and writing take as long as the file's file system does.
type File struct {
	base
	id          [2]uint64
	read, write bool
}

// Bytes implements nn.Memory: it fails.
func (f *File) Bytes() ([]byte, error) {
	return nil, f.unmappable("its file may become shorter")
}

// Acquire implements nn.Shared: the file can be read and written until release, closed or not.
func (f *File) Acquire() (release func(), err error) { return f.acquire() }

// ReadOnly implements nn.Shared: whether WriteAt will refuse.
func (f *File) ReadOnly() bool { return !f.write }

// Place implements nn.Located: device and inode of the file.
func (f *File) Place() (file [2]uint64, offset int64) { return f.id, f.h.Offset }

// ReadAt implements io.ReaderAt over the pool's bytes.
//
// Errors: io.EOF at the pool's end; INVALID_ARGUMENT before its beginning, when it is closed or may not be read;
// GENERAL_FAILURE when the file has become shorter than the pool or cannot be read.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, nn.Invalid(f.h.Kind.where(), "reading at %d", off)
	}
	if !f.read {
		return 0, nn.Invalid(f.h.Kind.where(), "may not be read")
	}
	if off >= f.size {
		return 0, io.EOF
	}
	var end error
	if room := f.size - off; int64(len(p)) > room {
		p, end = p[:room], io.EOF
	}
	n, err := f.file.ReadAt(p, f.h.Offset+off)
	if n == len(p) {
		return n, end
	}
	if err == io.EOF {
		err = fmt.Errorf("the file ends at byte %d of the pool: %w", off+int64(n), io.ErrUnexpectedEOF)
	}
	return n, f.fault(err)
}

// WriteAt implements io.WriterAt over the pool's bytes. What it wrote is seen at once by whoever reads or has mapped
// the file.
//
// Errors: as ReadAt; INVALID_ARGUMENT for a range beyond the pool, of which nothing is written. A file that becomes
// shorter while it is written grows again by what is written.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off > f.size || int64(len(p)) > f.size-off {
		return 0, nn.Invalid(f.h.Kind.where(), "writing %d bytes at %d of %d", len(p), off, f.size)
	}
	if !f.write {
		return 0, nn.Invalid(f.h.Kind.where(), "may not be written")
	}
	at := f.h.Offset + off
	if err := f.checkWrite(at + int64(len(p))); err != nil {
		return 0, f.fault(err)
	}
	n, err := f.file.WriteAt(p, at)
	if err != nil {
		return n, f.fault(err)
	}
	return n, nil
}

// checkWrite looks whether a write up to the file's byte end stays in the file.
func (f *File) checkWrite(end int64) error {
	return control(f.file, func(fd uintptr) error {
		var st unix.Stat_t
		if err := unix.Fstat(int(fd), &st); err != nil {
			return err
		}
		if st.Size < end {
			return fmt.Errorf("the file has %d bytes, not %d: %w", st.Size, end, io.ErrUnexpectedEOF)
		}
		// Linux appends whatever the position if the descriptor, of which the client has a copy, says so.
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err == nil && flags&unix.O_APPEND != 0 {
			err = errors.New("the descriptor is for appending")
		}
		return err
	})
}

func (f *File) fault(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errClosed(f.h.Kind.where())
	}
	return nn.Errorf(nn.StatusGeneralFailure, f.h.Kind.where(), "%w", err)
}

var (
	_ Pool       = (*File)(nil)
	_ nn.File    = (*File)(nil)
	_ nn.Shared  = (*File)(nil)
	_ nn.Located = (*File)(nil)
)
