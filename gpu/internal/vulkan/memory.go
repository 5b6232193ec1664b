package vulkan

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Memory is memory that executions of one device share; it implements backend.Memory. Executions bind it through
// views and descriptors of their own.
type Memory struct {
	dev      *Device
	imported bool
	readOnly bool // an input only
	block    *block
	bytes    int64 // taken for it; guarded by mu
	views    *viewTable
	host     []byte      // imported from the host: what was handed over
	base     int64       // imported: where in the block it begins
	size     int64       // imported: bytes from base on
	form     Form        // allocated
	export   *exportable // allocated, and can leave the device: block and more
	budget   int64       // of staging memory; as account.take

	// mu is held for reading while copying, for writing by Close.
	mu     sync.RWMutex
	closed atomic.Bool // set under mu
}

var _ backend.Memory = (*Memory)(nil)

var errClosedMemory error = &nn.Error{Status: nn.StatusGeneralFailure, Where: "memory", Err: nn.ErrClosed}

// Form is what Allocate must know about a tensor.
type Form struct {
	DenseBytes  int64 // as clients see it
	DeviceBytes int64 // in the device's form; at least DenseBytes
	// Pad and Unpad convert between the dense form at the start of plan.Host and the device's at the start of
	// plan.Arena; nil where the dense form is the beginning of the device's.
	Pad, Unpad *plan.Plan
}

// Allocate takes memory for a tensor and clears it. Kernels may see plan.Align bytes behind it. budget as
// ExecutableOptions.MemoryBudget.
//
// Errors: RESOURCE_EXHAUSTED_*.
func (d *Device) Allocate(f Form, budget int64) (*Memory, error) {
	if err := d.checkForm(&f); err != nil {
		return nil, err
	}
	b, err := d.newBlock(f.room(), budget, deviceBlock, "tensor memory")
	if err != nil {
		return nil, err
	}
	return d.newMemory(b, f, budget)
}

// Import lets executions use host memory in place, as backend.Backend says.
func (d *Device) Import(b []byte, readOnly bool) (*Memory, error) {
	x, err := d.importHost(b, readOnly)
	if err != nil {
		return nil, err
	}
	d.counters.imports.Add(1)
	return d.remember(&Memory{dev: d, imported: true, readOnly: readOnly, block: x, views: newViews(d), host: b, size: int64(len(b))}), nil
}

// Allocated reports whether m was allocated here, for one tensor, which is in the device's form.
func (m *Memory) Allocated() bool { return !m.imported }

// Bytes implements backend.Memory.
func (m *Memory) Bytes() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes
}

// Close implements backend.Memory.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free()
	m.bytes = 0
	return nil
}

// free closes m, but keeps the number that Bytes returns, which its owner may still want. Precondition: mu is held.
func (m *Memory) free() {
	if m.closed.Swap(true) {
		return
	}
	if m.imported {
		m.dev.quiet()
	}
	m.views.close()
	m.block.free()
	m.dev.forget(m)
}

// Write implements backend.Memory.
func (m *Memory) Write(ctx context.Context, dense []byte) error {
	return m.exchange("write", dense, true, func() error {
		switch {
		case m.external():
			return m.transfer(ctx, dense, true)
		case m.form.Pad == nil:
			return m.block.upload(ctx, bytes.NewReader(dense), m.form.DenseBytes, m.budget)
		}
		return m.convert(ctx, m.form.Pad, func(staging []byte) { clear(staging[copy(staging, dense):]) }, nil)
	})
}

// Read implements backend.Memory.
func (m *Memory) Read(ctx context.Context, dense []byte) error {
	return m.exchange("read", dense, false, func() error {
		switch err := ctx.Err(); {
		case err != nil:
			return err
		case m.external():
			return m.transfer(ctx, dense, false)
		case m.form.Unpad == nil:
			return m.block.download(dense, m.budget)
		}
		return m.convert(ctx, m.form.Unpad, nil, func(staging []byte) { copy(dense, staging) })
	})
}

// exchange does what Write and Read share.
func (m *Memory) exchange(what string, dense []byte, write bool, do func() error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.dev.failure(what, nil); err != nil {
		return err
	}
	switch n := int64(len(dense)); {
	case m.closed.Load():
		return errClosedMemory
	case m.imported && !m.external():
		return fmt.Errorf("%s: imported memory is its owner's", what)
	case m.external() && n > m.size:
		return fmt.Errorf("%d bytes of memory of %d", n, m.size)
	case m.external() && write && m.readOnly:
		return fmt.Errorf("memory that can only be read")
	case !m.imported && n != m.form.DenseBytes:
		return fmt.Errorf("%s: %d bytes of a tensor of %d", what, n, m.form.DenseBytes)
	}
	return m.dev.failure(what, do())
}

// convert runs p on staging memory and m. before fills the staging memory, after takes what is in it.
func (m *Memory) convert(ctx context.Context, p *plan.Plan, before, after func(staging []byte)) error {
	staging, err := m.dev.newBlock(p.HostBytes, m.budget, hostBlock, "staging memory")
	if err != nil {
		return err
	}
	defer staging.free()
	if before != nil {
		before(staging.host)
	}
	if err := m.dev.runPlan(ctx, p, m.block, staging); err != nil {
		return err
	}
	if after != nil {
		after(staging.host)
	}
	return nil
}

// runPlan runs a plan without weights, inputs and outputs once, on memory of others. Segments are submitted one by one,
// and those of others may come between them; ctx is checked there.
func (d *Device) runPlan(ctx context.Context, p *plan.Plan, arena, host *block) error {
	x := &Executable{dev: d, plan: p, borrowed: true}
	if err := x.takePipelines(ctx); err != nil {
		return err
	}
	s := x.emptySlot()
	defer s.destroy()
	s.arena, s.host = arena, host
	r, err := s.newRecording(nil, nil)
	if err != nil {
		return err
	}
	defer r.destroy()
	cold := d.pipelines.coldTime(p)
	for i := range r.cmds {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := d.submit(d.normal(), r.cmds[i:i+1], cold)
		if err == nil {
			err = f.settle()
		}
		if err != nil {
			return err
		}
	}
	d.pipelines.heat(p)
	return nil
}
