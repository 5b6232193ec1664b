package driver_test

import (
	"errors"
	"io"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// sharedPool is memory that can be closed while it is used.
type sharedPool struct {
	data     []byte
	readOnly bool
	unmapped error // of Bytes

	mu       sync.Mutex
	acquired int // guarded by mu
	acquires int // guarded by mu; all of them
	closed   bool
	onClose  []func()
}

func (p *sharedPool) Size() int64            { return int64(len(p.data)) }
func (p *sharedPool) Bytes() ([]byte, error) { return p.data, p.unmapped }
func (p *sharedPool) ReadOnly() bool         { return p.readOnly }

func (p *sharedPool) Acquire() (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nn.ErrClosed
	}
	p.acquired++
	p.acquires++
	return p.release, nil
}

func (p *sharedPool) release() {
	p.mu.Lock()
	if p.acquired--; p.acquired < 0 {
		panic("released too often")
	}
	p.mu.Unlock()
	p.end()
}

// Close ends the pool when nobody uses it.
func (p *sharedPool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
}

func (p *sharedPool) end() {
	p.mu.Lock()
	var list []func()
	if p.closed && p.acquired == 0 {
		list, p.onClose = p.onClose, nil
	}
	p.mu.Unlock()
	for _, f := range list {
		f()
	}
}

func (p *sharedPool) users() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquired
}

// pinnedPool is a sharedPool that devices may use in place.
type pinnedPool struct{ sharedPool }

func (p *pinnedPool) OnClose(f func()) {
	p.mu.Lock()
	p.onClose = append(p.onClose, f)
	p.mu.Unlock()
	p.end()
}

func newPinned(data []byte) *pinnedPool { return &pinnedPool{sharedPool{data: data}} }

// filePool is a file that states a size.
type filePool struct {
	size int64
	mu   sync.Mutex
	data []byte // guarded by mu; may be shorter
	full bool   // writing fails
}

func newFile(data []byte) *filePool { return &filePool{size: int64(len(data)), data: data} }

func (f *filePool) Size() int64            { return f.size }
func (f *filePool) Bytes() ([]byte, error) { return nil, errors.New("a file is not mapped") }

func (f *filePool) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *filePool) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full || off+int64(len(p)) > int64(len(f.data)) {
		return 0, errors.New("no room in the file")
	}
	return copy(f.data[off:], p), nil
}

// placedPool says where in a file it lies.
type placedPool struct {
	nn.Memory
	file   uint64
	offset int64
}

func (p placedPool) Place() ([2]uint64, int64) { return [2]uint64{8, p.file}, p.offset }
