package cache

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// Data reads the data part of an entry from its files, straight into the caller's memory. It never maps
// them. Safe for concurrent use until Close.
type Data struct {
	parts []dataPart
	size  int64
	// chunks, if not nil, are the hashes that the content must have, chunkBytes apart.
	chunks     [][sha256.Size]byte
	chunkBytes int64
}

// dataPart is the bytes [from, from+size) of the data; they start the file.
type dataPart struct {
	f          *os.File
	from, size int64
}

// newData takes over files, of which sizes are the lengths that were written.
func newData(files []*os.File, sizes []int64) *Data {
	d := &Data{parts: make([]dataPart, len(files))}
	for i, f := range files {
		d.parts[i] = dataPart{f: f, from: d.size, size: sizes[i]}
		d.size += sizes[i]
	}
	return d
}

// Size is the number of bytes that were saved; reading may find fewer.
func (d *Data) Size() int64 { return d.size }

// Verified reports whether ReadAt checks what it reads: always in a Store, never in the HAL's form.
func (d *Data) Verified() bool { return d.chunks != nil }

// Close releases the files.
func (d *Data) Close() error {
	var first error
	for _, p := range d.parts {
		if err := p.f.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ReadAt fills p with the bytes from off, as io.ReaderAt has it. Whole chunks are read into p and judged
// there; of verified data nothing unverified is left in p, and the error wraps ErrRejected. A file that has
// become shorter gives io.ErrUnexpectedEOF.
func (d *Data) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d: %w", off, ErrInvalid)
	}
	if off >= d.size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	end := error(nil)
	if int64(len(p)) > d.size-off {
		p, end = p[:d.size-off], io.EOF
	}
	read := d.readRaw
	if d.chunks != nil {
		read = d.readVerified
	}
	if n, err := read(p, off); err != nil {
		return n, err
	}
	return len(p), end
}

// readRaw reads len(p) bytes that lie inside the data.
func (d *Data) readRaw(p []byte, off int64) (n int, err error) {
	for _, part := range d.parts {
		if len(p) == n {
			break
		}
		in := off + int64(n) - part.from
		if in < 0 || in >= part.size {
			continue
		}
		want := p[n:]
		if int64(len(want)) > part.size-in {
			want = want[:part.size-in]
		}
		got, err := part.f.ReadAt(want, in)
		n += got
		if got < len(want) {
			return n, fmt.Errorf("cache data: %w", noEOF(err))
		}
	}
	return n, nil
}

// readVerified reads the chunks that p touches, several at a time: hashing is what takes the time.
func (d *Data) readVerified(p []byte, off int64) (int, error) {
	first, last := off/d.chunkBytes, (off+int64(len(p))-1)/d.chunkBytes
	if len(p) == 0 {
		return 0, nil
	}
	count := last - first + 1
	errs := make([]error, count)
	var next atomic.Int64
	work := func() {
		for {
			i := next.Add(1) - 1
			if i >= count {
				return
			}
			errs[i] = d.readChunk(p, off, first+i)
		}
	}
	var wg sync.WaitGroup
	for range min(count-1, int64(runtime.GOMAXPROCS(0))-1, 7) {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return int(max(0, (first+int64(i))*d.chunkBytes-off)), err
		}
	}
	return len(p), nil
}

// readChunk verifies one chunk and leaves in p, which starts at off, the part of it that p covers.
func (d *Data) readChunk(p []byte, off, chunk int64) error {
	from := chunk * d.chunkBytes
	to := min(from+d.chunkBytes, d.size)
	lo, hi := max(from, off), min(to, off+int64(len(p)))
	dst := p[lo-off : hi-off]
	whole := dst
	if lo != from || hi != to {
		whole = make([]byte, to-from)
	}
	if _, err := d.readRaw(whole, from); err != nil {
		clear(dst)
		return fmt.Errorf("%w: %w", err, ErrRejected)
	}
	if sha256.Sum256(whole) != d.chunks[chunk] {
		clear(dst)
		return fmt.Errorf("cache data: chunk %d is not what was saved: %w", chunk, ErrRejected)
	}
	if len(whole) != len(dst) {
		copy(dst, whole[lo-from:])
	}
	return nil
}
