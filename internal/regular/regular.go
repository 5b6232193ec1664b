// Package regular reads regular files by paths that may name anything. Anything else is refused, and never waited for.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNot: the path names something else, such as a folder, a pipe or a socket.
var ErrNot = errors.New("not a regular file")

// Open opens a file for reading and tells its size in bytes. The caller closes it.
//
// Errors: *os.PathError, perhaps with ErrNot in it.
func Open(path string) (_ *os.File, size int64, err error) {
	// Without the flag a pipe would be waited for until somebody writes; for a regular file it makes no difference.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, 0, &os.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	if err != nil {
		return nil, 0, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, st.Size(), nil
}

// Read returns what a file of at most limit bytes holds.
//
// Errors: those of Open; a file that is longer.
func Read(path string, limit int64) ([]byte, error) {
	file, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, expected %d at most", path, size, limit)
	}
	data := make([]byte, size)
	_, err = io.ReadFull(file, data)
	return data, err
}
