package null

import (
	"context"
	"errors"
	"sync"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// memory keeps tensors in their dense form. It panics where the driver breaks the contract: the race detector sees the
// rest.
type memory struct {
	b      *Backend
	data   []byte
	bytes  int64
	losses int64 // of the device, when it was made

	mu       sync.Mutex
	borrowed int  // guarded by mu; executions
	closed   bool // guarded by mu
}

// Allocate implements backend.Backend.
func (b *Backend) Allocate(t nn.OperandType, dims nn.Dims, budget int64) (backend.Memory, error) {
	if err := b.begin("allocate"); err != nil {
		return nil, err
	}
	o := nn.Operand{Type: t, Dims: dims}
	n, err := o.ByteSize()
	if err != nil {
		return nil, nn.Invalid("memory", "%w", err)
	}
	if n == 0 {
		return nil, nn.Invalid("memory", "%v%v has no size", t, []uint32(dims))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, limit := range []int64{budget, b.MaxMemory} {
		if limit > 0 && int64(n) > limit {
			return nil, nn.Errorf(nn.StatusResourceExhaustedPersistent, "memory", "%d bytes exceed %d", n, limit)
		}
		if limit > 0 && b.used+int64(n) > limit {
			return nil, nn.Errorf(nn.StatusResourceExhaustedTransient, "memory", "%d bytes, %d of %d are in use", n, b.used, limit)
		}
	}
	b.used += int64(n)
	b.peak = max(b.peak, b.used)
	return &memory{b: b, data: make([]byte, n), bytes: int64(n), losses: b.losses.Load()}, nil
}

// Used is how many bytes are allocated.
func (b *Backend) Used() int64 {
	used, _, _ := b.Memory()
	return used
}

// Memory implements backend.Backend: it counts what was allocated.
func (b *Backend) Memory() (used, peak, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak, b.MaxMemory
}

// Import implements backend.Backend.
func (b *Backend) Import(p []byte, _ bool) (backend.Memory, error) {
	if b.NoImport {
		return nil, backend.ErrNotImported
	}
	if err := b.begin("import"); err != nil {
		return nil, err
	}
	return &memory{b: b, data: p, losses: b.losses.Load()}, nil
}

func (m *memory) borrow() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return closed("memory")
	}
	m.borrowed++
	return nil
}

func (m *memory) giveBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.borrowed--
}

func (m *memory) Bytes() int64 { return m.bytes }

func (m *memory) Write(ctx context.Context, dense []byte) error {
	return m.exchange(ctx, "write memory", dense, func() { copy(m.data, dense) })
}

func (m *memory) Read(ctx context.Context, dense []byte) error {
	return m.exchange(ctx, "read memory", dense, func() { copy(dense, m.data) })
}

// exchange does what Write and Read share.
func (m *memory) exchange(ctx context.Context, call string, dense []byte, do func()) error {
	if err := m.borrow(); err != nil {
		return err
	}
	defer m.giveBack()
	if err := m.b.begin(call); err != nil {
		return err
	}
	if len(dense) != len(m.data) {
		panic("null: " + call + " of another size")
	}
	do()
	return errors.Join(m.b.since(m.losses), ctx.Err())
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.borrowed > 0 {
		panic("null: memory is closed while it is used")
	}
	if m.closed {
		return nil
	}
	m.closed = true
	m.b.record("free memory")
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	m.b.used -= m.bytes
	return nil
}
