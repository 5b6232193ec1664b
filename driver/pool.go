package driver

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// pool is a pool of memory for the time of an execution or a copy: its bytes, a file that is read and written in
// pieces, or a buffer.
type pool struct {
	source   nn.Memory
	data     []byte          // mapped
	file     nn.File         // where it cannot be mapped
	image    *nn.ImageLayout // of the texels that it has; nil: no image
	buffer   *Buffer         // that a token stands for
	imported backend.Memory  // data, as the device sees them; nil where they are copied
	place    fileID          // that imported memory of a device lies in, where that is known
	release  func()          // nil: nothing to release
}

// readOnly reports whether the pool must not be written.
func (x *pool) readOnly() bool {
	s, ok := x.source.(interface{ ReadOnly() bool }) // nn.Shared has it, an nn.File may
	return ok && s.ReadOnly()
}

// isMapped reports whether the pool is to be found in data. Precondition: it was acquired.
func (x *pool) isMapped() bool {
	return x.data != nil || x.buffer == nil && x.file == nil && x.imported == nil
}

// unusable is the error of memory that failed with err: GENERAL_FAILURE, because nothing is wrong with what names it,
// unless it is closed.
func unusable(where string, err error) error {
	if errors.Is(err, nn.ErrClosed) {
		return nn.Invalid(where, "%w", nn.ErrClosed)
	}
	return nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
}

// acquire keeps the memory open and maps it. Its errors are those of unusable. After an error the pool needs no close.
func (x *pool) acquire(where string) (err error) {
	if m, ok := x.source.(nn.HostMemory); ok {
		x.data = m
		return nil
	}
	if s, ok := x.source.(nn.Shared); ok {
		if x.release, err = s.Acquire(); err != nil {
			return unusable(where, err)
		}
	}
	_, pinned := x.source.(nn.Pinned)
	if f, ok := x.source.(nn.File); ok && !pinned {
		x.file = f
		return nil
	}
	x.data, err = x.source.Bytes()
	if err == nil && int64(len(x.data)) < x.source.Size() {
		err = fmt.Errorf("%d bytes of %d", len(x.data), x.source.Size())
	}
	if err != nil {
		x.close()
		return unusable(where, fmt.Errorf("cannot be mapped: %w", err))
	}
	return nil
}

// close undoes acquire. Idempotent.
func (x *pool) close() {
	if x.release != nil {
		x.release()
	}
	x.release, x.data, x.file, x.imported, x.place = nil, nil, nil, nil, fileID{}
}

// fill reads len(p) bytes of a file from offset on, or fails.
func fill(f io.ReaderAt, p []byte, offset int64) error {
	n, err := f.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d of %d bytes: %w", n, len(p), err)
}

// flush writes p to a file from offset on, or fails.
func flush(f nn.File, p []byte, offset int64) error {
	n, err := f.WriteAt(p, offset)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("%d of %d bytes: %w", n, len(p), err)
	}
	return nil
}

// spans appends where n bytes from offset on lie: among the process's addresses, and in a file. id names the memory
// where nothing else does.
func (x *pool) spans(list []validate.Span, s validate.Span, offset, n uint64, id int) []validate.Span {
	if n == 0 {
		return list
	}
	if x.data != nil {
		at := uint64(reflect.ValueOf(&x.data[0]).Pointer()) + offset
		s.Space, s.From, s.To = [3]uint64{}, at, at+n
		list = append(list, s)
	}
	if _, ok := x.source.(nn.HostMemory); ok {
		return list
	}
	if l, ok := x.source.(nn.Located); ok {
		file, at := l.Place()
		s.Space, s.From, s.To = [3]uint64{1, file[0], file[1]}, uint64(at)+offset, uint64(at)+offset+n
		return append(list, s)
	}
	if x.place != (fileID{}) {
		s.Space, s.From, s.To = [3]uint64{1, x.place[0], x.place[1]}, offset, offset+n
		return append(list, s)
	}
	s.Space, s.From, s.To = [3]uint64{2, uint64(id)}, offset, offset+n
	return append(list, s)
}

// hasPlace reports whether spans can tell where the bytes are without an id.
func (x *pool) hasPlace() bool {
	if _, ok := x.source.(nn.HostMemory); ok || x.place != (fileID{}) {
		return true
	}
	_, ok := x.source.(nn.Located)
	return ok
}

// sameMemory reports whether a and b are one memory, not two that share bytes.
func sameMemory(a, b nn.Memory) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && isComparable(a) && isComparable(b) && a == b
}

// isComparable reports whether m can be compared, and be the key of a map. It allocates only for what is no pointer.
func isComparable(m nn.Memory) bool {
	t := reflect.TypeOf(m)
	return t != nil && (t.Kind() == reflect.Pointer || t.Comparable() && reflect.ValueOf(m).Comparable())
}
