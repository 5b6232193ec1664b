package driver

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// Buffer is device memory for a tensor that stays there between executions. Requests name it by its token. Safe for
// concurrent use: executions that read it overlap, and one that writes it, or a copy, takes turns with them, in the
// order of the calls.
//
// It is uninitialised until an execution or CopyFrom writes it, and again when either fails or the device is lost.
type Buffer struct {
	client  *Client
	token   nn.BufferToken
	operand nn.Operand // what all roles say; dimensions may be open
	roles   map[role]bool
	// exportable: the memory is a backend.Exportable, and of one size.
	exportable bool

	// turn is held for reading by what reads the tensor, for writing by what writes it. Who takes turns of
	// several buffers takes them in the order of their tokens.
	turn    *semaphore.Weighted
	memory  backend.Memory // guarded by turn; nil until the dimensions are known
	shape   nn.Dims        // guarded by turn; of memory
	written bool           // guarded by turn; initialised

	mu     sync.Mutex
	uses   int           // guarded by mu; executions and copies
	closed bool          // guarded by mu
	freed  chan struct{} // closed when the memory is
}

// turnOf is what of a buffer's turn a reader or a writer takes: all readers together leave nothing to a writer.
func turnOf(write bool) int64 {
	if write {
		return allReaders
	}
	return 1
}

const allReaders = math.MaxInt64

// role is an input or output of a prepared model that a buffer may stand for.
type role struct {
	model  *PreparedModel
	index  int
	output bool
}

// Token names the buffer in requests of the client's models: as a pool, with arguments of no offset, length or
// padding. It says nothing to others, and nothing once the buffer is closed.
func (b *Buffer) Token() nn.BufferToken { return b.token }

// Dims are the dimensions that roles and description give; 0, or none at all for a tensor, where they are open.
func (b *Buffer) Dims() nn.Dims { return slices.Clone(b.operand.Dims) }

// enter keeps the buffer's memory until leave is called.
func (b *Buffer) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return closed("buffer")
	}
	b.uses++
	return nil
}

func (b *Buffer) leave() {
	b.mu.Lock()
	b.uses--
	last := b.closed && b.uses == 0
	b.mu.Unlock()
	if !last {
		return
	}
	if err := b.free(); err != nil { // Close has returned long ago
		b.client.device.log.Warn("the memory of a closed buffer was not freed", "error", err)
	}
}

// Close makes the token invalid and frees the memory, once the executions and copies that use it have ended; it does
// not wait for them. Idempotent.
func (b *Buffer) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	last := b.uses == 0
	b.mu.Unlock()
	if last {
		return b.free()
	}
	return nil
}

// free is called once, when nobody can use the buffer any more.
func (b *Buffer) free() error {
	defer close(b.freed)
	err := b.drop()
	b.client.device.buffers.remove(b) // not before: the device must not close in between
	return err
}

func (b *Buffer) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// drop frees the memory. Precondition: the turn is held for writing, or nobody can use the buffer.
func (b *Buffer) drop() (err error) {
	if b.memory != nil {
		if b.exportable {
			b.client.device.pools.Disown(b)
		}
		bytes := b.memory.Bytes()
		err = b.memory.Close()
		b.client.memory.Give(bytes)
	}
	b.memory, b.shape, b.written = nil, nil, false
	return err
}

// reserve makes memory of the given dimensions, which are known; what the buffer holds is lost where they are new.
// Precondition: the turn is held for writing, or the buffer is not known to others.
func (b *Buffer) reserve(dims nn.Dims) error {
	if b.memory != nil && b.shape.Equal(dims) && !b.memory.Lost() {
		return nil
	}
	if err := b.drop(); err != nil { // first: there may not be room for both
		return err
	}
	m, err := b.newMemory(dims)
	if err != nil {
		return generalFailure("buffer", err)
	}
	if err := b.client.memory.Take(m.Bytes(), "buffer"); err != nil {
		return errors.Join(err, m.Close())
	}
	b.memory, b.shape = m, slices.Clone(dims)
	return nil
}

// empty makes the buffer hold a tensor of dimensions of which one is 0, which takes no memory. Precondition: that of reserve.
func (b *Buffer) empty(dims nn.Dims) error {
	err := b.drop()
	b.shape = slices.Clone(dims)
	return err
}

// isEmpty reports whether the buffer holds, or is to hold, a tensor without elements. Precondition: the turn is held.
func (b *Buffer) isEmpty() bool { return slices.Contains(b.shape, 0) }

// initialised reports whether the buffer holds what was last written. Precondition: the turn is held.
func (b *Buffer) initialised() bool { return b.written && (b.isEmpty() || !b.memory.Lost()) }

// isFixed reports whether roles and description give all dimensions.
func (b *Buffer) isFixed() bool { return known(b.operand.Type, b.operand.Dims) }

// known reports whether rank and sizes are known.
func known(t nn.OperandType, d nn.Dims) bool { return d.Known() && (!t.IsTensor() || len(d) > 0) }

// bufferTable has the buffers of a device's clients until they are freed. The zero value is empty. Locks of clients
// and buffers may be taken while its own is held.
type bufferTable struct {
	mu      sync.Mutex
	byToken map[nn.BufferToken]*Buffer // guarded by mu
}

// add gives b a token and makes it known.
func (t *bufferTable) add(b *Buffer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.client.isClosed() { // here, so that closeAll finds what gets in
		return closed("client")
	}
	for b.token == 0 || t.byToken[b.token] != nil {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		b.token = nn.BufferToken(binary.LittleEndian.Uint64(random[:]))
	}
	if t.byToken == nil {
		t.byToken = map[nn.BufferToken]*Buffer{}
	}
	t.byToken[b.token] = b
	return nil
}

// find returns the client's buffer of that token, or nil: also for a buffer of another client, or a closed one.
func (t *bufferTable) find(c *Client, token nn.BufferToken) *Buffer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.byToken[token]; b != nil && b.client == c && !b.isClosed() {
		return b
	}
	return nil
}

func (t *bufferTable) remove(b *Buffer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byToken[b.token] == b {
		delete(t.byToken, b.token)
	}
}

// closeAll closes the buffers of c and waits until they are free. Precondition: c is closed.
func (t *bufferTable) closeAll(c *Client) error {
	t.mu.Lock()
	var list []*Buffer
	for _, b := range t.byToken {
		if b.client == c {
			list = append(list, b)
		}
	}
	t.mu.Unlock()
	var errs []error
	for _, b := range list {
		errs = append(errs, b.Close())
	}
	for _, b := range list {
		<-b.freed
	}
	return errors.Join(errs...)
}
