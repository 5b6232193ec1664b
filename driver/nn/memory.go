package nn

import "io"

// Memory is a pool that a model or request refers to by index. It may implement Shared, Pinned, Sealed or File.
type Memory interface {
	// Size is the number of bytes of the pool.
	Size() int64
	// Bytes maps the pool for reading and writing. The slice is valid as long as the memory is.
	Bytes() ([]byte, error)
}

// HostMemory is a pool in the caller's own memory.
type HostMemory []byte

// Size implements Memory.
func (m HostMemory) Size() int64 { return int64(len(m)) }

// Bytes implements Memory.
func (m HostMemory) Bytes() ([]byte, error) { return m, nil }

// Shared is a Memory that can be closed while it is used.
type Shared interface {
	Memory
	// Acquire keeps the memory open until release is called, once: what Bytes returned stays valid, and a File can be
	// read and written. When the memory is closed it fails with ErrClosed.
	Acquire() (release func(), err error)
	// ReadOnly reports whether Bytes must not be written.
	ReadOnly() bool
}

// Pinned is a Shared memory whose Bytes nobody can shrink or take away before it is closed and released, so that a
// device may use them in place.
type Pinned interface {
	Shared
	// OnClose calls f once, when the memory is closed and no longer acquired but still mapped; at once if that
	// has happened. Callers drop there what they tied to the memory.
	OnClose(f func())
}

// Sealed is a Shared memory that may be out of everybody's reach. Constants are used where they are in it, and copied
// out of any other that is no HostMemory.
type Sealed interface {
	Shared
	// Sealed reports whether nobody can change or take away the bytes any more, before the memory is closed and
	// released.
	Sealed() bool
}

// File is a Memory that cannot be mapped safely, because somebody else may shrink it: Bytes fails, and the pool is
// read and written in pieces. Both fail, rather than fault, where the file has become too short.
type File interface {
	Memory
	io.ReaderAt
	io.WriterAt
}

// Located is a Memory that lies in a file, so that two mappings of the same bytes are known as such.
type Located interface {
	Memory
	// Place names the file, alike for two memories exactly when they lie in the same one, and the byte of it at
	// which the memory begins. It does not change, and stays when the memory is closed.
	Place() (file [2]uint64, offset int64)
}

// BufferToken is a pool that stands for a buffer of the driver, which the client allocated: arguments in it have
// no offset, length or padding. 0 stands for none.
type BufferToken uint64

// Size implements Memory; a token has no bytes of its own.
func (BufferToken) Size() int64 { return 0 }

// Bytes implements Memory: the bytes are the driver's.
func (BufferToken) Bytes() ([]byte, error) { return nil, nil }
