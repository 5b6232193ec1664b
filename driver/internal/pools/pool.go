// Package pools opens the memory that clients bring: pools of models and requests, and the memory that buffers are
// copied from and to. It is mapped, read and written in pieces if somebody could make it smaller, or imported, so that
// the device uses it where it is; Table has the imports. It knows no request and no model.
package pools

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// Pool is a memory for as long as it is used. Not safe for concurrent use.
type Pool struct {
	Source   nn.Memory
	Data     []byte         // mapped
	File     nn.File        // where it cannot be mapped
	Imported backend.Memory // as the device sees it; nil where its bytes are copied
	place    fileID         // that imported memory of a device lies in, where that is known
	release  func()         // nil: nothing to release
}

// ReadOnly reports whether the pool must not be written.
func (x *Pool) ReadOnly() bool {
	s, ok := x.Source.(interface{ ReadOnly() bool }) // nn.Shared has it, an nn.File may
	return ok && s.ReadOnly()
}

// unusable is the error of memory that failed with err: GENERAL_FAILURE, because the argument that names it is right,
// unless the memory is closed.
func unusable(where string, err error) error {
	if errors.Is(err, nn.ErrClosed) {
		return nn.Invalid(where, "%w", nn.ErrClosed)
	}
	return nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
}

// Open keeps the memory open for the host and maps it, until Close. where names it in messages. After an error no Close
// is needed.
//
// Errors: INVALID_ARGUMENT for memory that is closed, GENERAL_FAILURE for memory that cannot be mapped.
func (x *Pool) Open(where string) (err error) {
	if m, ok := x.Source.(nn.HostMemory); ok {
		x.Data = m
		return nil
	}
	if s, ok := x.Source.(nn.Shared); ok {
		if x.release, err = s.Acquire(); err != nil {
			return unusable(where, err)
		}
	}
	_, pinned := x.Source.(nn.Pinned)
	if f, ok := x.Source.(nn.File); ok && !pinned {
		x.File = f
		return nil
	}
	x.Data, err = x.Source.Bytes()
	if err == nil && int64(len(x.Data)) < x.Source.Size() {
		err = fmt.Errorf("%d bytes of %d", len(x.Data), x.Source.Size())
	}
	if err != nil {
		x.Close()
		return unusable(where, fmt.Errorf("cannot be mapped: %w", err))
	}
	return nil
}

// Close lets go of the memory. Idempotent.
func (x *Pool) Close() {
	if x.release != nil {
		x.release()
	}
	x.release, x.Data, x.File, x.Imported, x.place = nil, nil, nil, nil, fileID{}
}

// Fill reads len(p) bytes of a file from offset on, or fails.
func Fill(f io.ReaderAt, p []byte, offset int64) error {
	n, err := f.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d of %d bytes: %w", n, len(p), err)
}

// Flush writes p to a file from offset on, or fails.
func Flush(f nn.File, p []byte, offset int64) error {
	n, err := f.WriteAt(p, offset)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("%d of %d bytes: %w", n, len(p), err)
	}
	return nil
}

// Spans appends where n bytes from offset on lie: among the process's addresses, and in a file. id names the memory if
// nothing else does.
func (x *Pool) Spans(list []validate.Span, s validate.Span, offset, n uint64, id int) []validate.Span {
	if n == 0 {
		return list
	}
	if x.Data != nil {
		at := uint64(reflect.ValueOf(&x.Data[0]).Pointer()) + offset
		s.Space, s.From, s.To = [3]uint64{}, at, at+n
		list = append(list, s)
	}
	if _, ok := x.Source.(nn.HostMemory); ok {
		return list
	}
	if l, ok := x.Source.(nn.Located); ok {
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

// HasPlace reports whether Spans can tell where the bytes are without an id.
func (x *Pool) HasPlace() bool {
	if _, ok := x.Source.(nn.HostMemory); ok || x.place != (fileID{}) {
		return true
	}
	_, ok := x.Source.(nn.Located)
	return ok
}

// Same reports whether a and b are one memory, not two that share bytes.
func Same(a, b nn.Memory) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && IsComparable(a) && IsComparable(b) && a == b
}

// IsComparable reports whether m can be compared, and be the key of a map. It allocates only if m is not a pointer.
func IsComparable(m nn.Memory) bool {
	t := reflect.TypeOf(m)
	return t != nil && (t.Kind() == reflect.Pointer || t.Comparable() && reflect.ValueOf(m).Comparable())
}
