package cache

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/nn"
)

// Both forms of the cache keep a SHA-256 of each chunk of the data part among what is authenticated.
const (
	// defaultChunk is small enough to be hashed while it is still in a core's own cache.
	defaultChunk = 256 << 10
	minChunk     = 4 << 10
	maxChunk     = 16 << 20
)

// Data reads the data part of an entry from its files and verifies what it reads. It never maps them. Safe for
// concurrent use until Close.
type Data struct {
	parts []dataPart
	size  int64
	// chunks are the hashes that the content must have, chunkBytes apart.
	chunks     [][sha256.Size]byte
	chunkBytes int64

	closed atomic.Bool
}

// dataPart is the bytes [from, from+size) of the data; they start the file.
type dataPart struct {
	f          *os.File
	from, size int64
}

// newData takes over files, of which sizes are the lengths that were written.
func newData(files []*os.File, sizes []int64, chunks [][sha256.Size]byte, chunkBytes int64) *Data {
	d := &Data{parts: make([]dataPart, len(files)), chunks: chunks, chunkBytes: chunkBytes}
	for i, f := range files {
		d.parts[i] = dataPart{f: f, from: d.size, size: sizes[i]}
		d.size += sizes[i]
	}
	return d
}

// Size is the number of bytes that were saved; reading may find fewer.
func (d *Data) Size() int64 { return d.size }

// Close releases the files. Idempotent.
func (d *Data) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	var first error
	for _, p := range d.parts {
		if err := p.f.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ReadAt fills p with the bytes from off, as io.ReaderAt has it. Whole chunks are read into private memory and verified
// there, and only verified bytes are copied to p, which may be memory that is slow to read, or that others see. Where a
// chunk is not what was stored the error wraps ErrRejected, and p keeps what it had there. After Close the error is
// nn.ErrClosed.
func (d *Data) ReadAt(p []byte, off int64) (int, error) {
	n, err := d.readAt(p, off)
	if err != nil && d.closed.Load() {
		return n, nn.Errorf(nn.StatusGeneralFailure, "cache data", "%w", nn.ErrClosed)
	}
	return n, err
}

func (d *Data) readAt(p []byte, off int64) (int, error) {
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
	if n, err := d.readChunks(p, off); err != nil {
		return n, err
	}
	return len(p), end
}

// readChunks fills p, which lies inside the data, from the chunks that it touches.
func (d *Data) readChunks(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	first, last := off/d.chunkBytes, (off+int64(len(p))-1)/d.chunkBytes
	errs := make([]error, last-first+1)
	inParallel(len(errs), func(i int) { errs[i] = d.readChunk(p, off, first+int64(i)) })
	for i, err := range errs {
		if err != nil {
			return int(max(0, (first+int64(i))*d.chunkBytes-off)), err
		}
	}
	return len(p), nil
}

// scratches are buffers that chunks are judged in.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// readChunk verifies one chunk and copies to p, which starts at off, the part of it that p covers.
func (d *Data) readChunk(p []byte, off, chunk int64) error {
	from := chunk * d.chunkBytes
	to := min(from+d.chunkBytes, d.size)
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	if int64(cap(*scratch)) < to-from {
		*scratch = make([]byte, to-from)
	}
	whole := (*scratch)[:to-from]
	if err := d.readRaw(whole, from); err != nil {
		return fmt.Errorf("%w: %w", err, ErrRejected)
	}
	if sha256.Sum256(whole) != d.chunks[chunk] {
		return fmt.Errorf("cache data: chunk %d is not what was saved: %w", chunk, ErrRejected)
	}
	lo, hi := max(from, off), min(to, off+int64(len(p)))
	copy(p[lo-off:hi-off], whole[lo-from:])
	return nil
}

// readRaw fills p, which lies inside the data, from the files.
func (d *Data) readRaw(p []byte, off int64) error {
	for _, part := range d.parts {
		in := off - part.from
		if len(p) == 0 || in < 0 || in >= part.size {
			continue
		}
		n := min(int64(len(p)), part.size-in)
		if got, err := part.f.ReadAt(p[:n], in); int64(got) < n {
			return fmt.Errorf("cache data: %w", noEOF(err))
		}
		p, off = p[n:], off+n
	}
	return nil
}

// hashChunks gives the hashes of the chunks of data.
func hashChunks(data []byte, chunkBytes int64) [][sha256.Size]byte {
	hashes := make([][sha256.Size]byte, chunksIn(int64(len(data)), chunkBytes))
	inParallel(len(hashes), func(i int) {
		from := int64(i) * chunkBytes
		hashes[i] = sha256.Sum256(data[from:min(from+chunkBytes, int64(len(data)))])
	})
	return hashes
}

// chunksIn is how many chunks so many bytes have.
func chunksIn(bytes, chunkBytes int64) int64 { return (bytes + chunkBytes - 1) / chunkBytes }

// validChunk reports whether chunks of data may have that size. bytes is the size of all data: hashes must be countable.
func validChunk(chunkBytes, bytes int64) bool {
	return chunkBytes >= minChunk && chunkBytes <= maxChunk && chunkBytes&(chunkBytes-1) == 0 &&
		bytes >= 0 && bytes <= math.MaxInt64/4
}

// appendHashes writes hashes one after the other.
func appendHashes(b []byte, hashes [][sha256.Size]byte) []byte {
	for i := range hashes {
		b = append(b, hashes[i][:]...)
	}
	return b
}

// cutHashes undoes appendHashes for the n hashes that b begins with. Precondition: b is that long.
func cutHashes(b []byte, n int64) (hashes [][sha256.Size]byte, rest []byte) {
	hashes = make([][sha256.Size]byte, n)
	for i := range hashes {
		hashes[i] = [sha256.Size]byte(b)
		b = b[sha256.Size:]
	}
	return hashes, b
}

// maxWorkers bounds what a load takes of a machine with many cores.
const maxWorkers = 8

// inParallel calls f for 0 to n-1, several at a time: hashing is what takes the time.
func inParallel(n int, f func(int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0), maxWorkers) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
