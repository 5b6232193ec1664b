package null

import (
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// memory keeps tensors in their dense form.
type memory struct {
	b     *Backend
	data  []byte
	bytes int64
}

var _ backend.Allocator = (*Backend)(nil)

// Allocate implements backend.Allocator.
func (b *Backend) Allocate(t nn.OperandType, dims nn.Dims, budget int64) (backend.Memory, error) {
	b.record("allocate")
	o := nn.Operand{Type: t, Dims: dims}
	n, err := o.ByteSize()
	if err != nil {
		return nil, nn.Invalid("memory", "%w", err)
	}
	if budget > 0 && int64(n) > budget {
		return nil, nn.Errorf(nn.StatusResourceExhaustedPersistent, "memory", "%d bytes exceed the memory budget of %d", n, budget)
	}
	return &memory{b: b, data: make([]byte, n), bytes: int64(n)}, nil
}

// Import implements backend.Allocator.
func (b *Backend) Import(p []byte, _ bool) (backend.Memory, error) {
	if b.NoImport {
		return nil, backend.ErrNotImported
	}
	b.record("import")
	return &memory{b: b, data: p}, nil
}

func (m *memory) Bytes() int64 { return m.bytes }

func (m *memory) Write(_ context.Context, dense []byte) error {
	m.b.record("write memory")
	copy(m.data, dense)
	return nil
}

func (m *memory) Read(_ context.Context, dense []byte) error {
	m.b.record("read memory")
	copy(dense, m.data)
	return nil
}

func (m *memory) Close() error {
	m.b.record("free memory")
	return nil
}
