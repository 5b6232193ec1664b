package vulkan

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// ioFacts is what an execution must know about an input or output to bind it; in the order of inputs, then outputs.
type ioFacts struct {
	of    plan.IORef
	bytes int64 // dense
	// importable: the steps that touch the dense form can use imported memory in its place: they read the first reach
	// bytes of it and write no more than the tensor.
	importable bool
	reach      int64
}

// index is the place of an input or output among x.ios.
func (x *Executable) index(of plan.IORef) int { return ioIndex(x.plan, of) }

// ioIndex is the place of an input or output among the inputs, then outputs, of p.
func ioIndex(p *plan.Plan, of plan.IORef) int {
	if i, ok := of.Input(); ok {
		return i
	}
	i, _ := of.Output()
	return len(p.Inputs) + i
}

// ioFactsOf returns the facts of all inputs and outputs of p.
func ioFactsOf(p *plan.Plan) []ioFacts {
	var list []ioFacts
	for i, io := range p.Inputs {
		list = append(list, ioFacts{of: plan.InputRef(i), bytes: io.Size, importable: io.Size > 0, reach: io.Size})
	}
	for i, io := range p.Outputs {
		list = append(list, ioFacts{of: plan.OutputRef(i), bytes: io.Size, importable: io.Size > 0, reach: io.Size})
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		for k := range s.Bindings {
			b := &s.Bindings[k]
			if b.Of == 0 || b.Buffer != plan.Host || s.Transfers == b.Of && s.When == plan.WhenDevice {
				continue
			}
			f, io := &list[ioIndex(p, b.Of)], p.IO(b.Of)
			size := min(b.Size, io.DeviceBytes-b.At)
			f.reach = max(f.reach, b.At+size)
			converts := s.Transfers == b.Of && s.Kernel != shaders.Copy
			switch {
			case size <= 0:
				f.importable = false
			case b.Write:
				f.importable = f.importable && b.At+size <= io.Size
			case !converts: // it needs the padding, which imported memory lacks
				f.importable = f.importable && io.DeviceBytes == io.Size
			}
		}
	}
	return list
}

// checkBindings reports what in list, the inputs or outputs, cannot be bound.
func (x *Executable) checkBindings(what string, want []plan.IO, list []backend.Binding) error {
	if len(list) != len(want) {
		return fmt.Errorf("%d %ss for a model with %d", len(list), what, len(want))
	}
	for i := range list {
		if err := x.checkBound(what == "output", &want[i], &list[i]); err != nil {
			return fmt.Errorf("%s %d (%s): %w", what, i, want[i].Name, err)
		}
	}
	return nil
}

func (x *Executable) checkBound(output bool, want *plan.IO, b *backend.Binding) error {
	if b.Host == nil && b.Memory == nil {
		return nil
	}
	if n := b.Size(); n != want.Size {
		return fmt.Errorf("%d bytes, the plan has %d", n, want.Size)
	}
	if b.Memory == nil {
		return nil
	}
	m, ok := b.Memory.(*Memory)
	switch {
	case ok && m.dev != x.dev && m.Lost():
		return m.dev.failure("memory", nil)
	case !ok || m.dev != x.dev:
		return fmt.Errorf("memory of another device")
	case b.Host != nil:
		return fmt.Errorf("both host memory and device memory")
	case m.closed.Load():
		return errClosedMemory
	case output && m.readOnly:
		return fmt.Errorf("memory that can only be read")
	case m.imported && (b.Offset < 0 || b.Offset > m.size-want.Size):
		return fmt.Errorf("%d bytes at %d of memory of %d", want.Size, b.Offset, m.size)
	case !m.imported && b.Offset != 0:
		return fmt.Errorf("offset %d in allocated memory", b.Offset)
	case !m.imported && (m.form.DenseBytes != want.Size || m.form.DeviceBytes != want.DeviceBytes):
		return fmt.Errorf("memory for a tensor of %d bytes, %d on the device; the plan has %d and %d",
			m.form.DenseBytes, m.form.DeviceBytes, want.Size, want.DeviceBytes)
	}
	return nil
}

// checkOverlaps refuses an output that shares memory with an input or another output.
func (x *Executable) checkOverlaps(inputs, outputs []backend.Binding) error {
	overlap := func(a *backend.Binding, aSize int64, b *backend.Binding, bSize int64) bool {
		if a.Memory == nil || a.Memory != b.Memory {
			return false
		}
		return !a.Memory.(*Memory).imported || a.Offset < b.Offset+bSize && b.Offset < a.Offset+aSize
	}
	for i := range outputs {
		out, size := &outputs[i], x.plan.Outputs[i].Size
		if out.Memory == nil {
			continue
		}
		for k := range inputs {
			if overlap(out, size, &inputs[k], x.plan.Inputs[k].Size) {
				return nn.Invalid(fmt.Sprintf("output %d", i), "it lies where input %d does", k)
			}
		}
		for k := range outputs[:i] {
			if overlap(out, size, &outputs[k], x.plan.Outputs[k].Size) {
				return nn.Invalid(fmt.Sprintf("output %d", i), "it lies where output %d does", k)
			}
		}
	}
	return nil
}

// resolve returns the place of input or output i, bound as b, or what to copy instead: bytes of the host, or a place
// aside. Imported memory is copied as well where its offset is not aligned or the tensor has another form there.
// Precondition: checkBindings.
func (x *Executable) resolve(i int, b *backend.Binding) (at place, host []byte, aside place) {
	if b.Memory == nil {
		return place{}, b.Host, place{}
	}
	m, f := b.Memory.(*Memory), &x.ios[i]
	if !m.imported {
		return place{m, 0}, nil, place{}
	}
	align := max(x.dev.info.Facts.StorageAlign, x.dev.info.Facts.TexelAlign, 4)
	first := m.base + b.Offset
	switch {
	case f.importable && first%align == 0 && f.reach <= m.block.bytes-first:
		return place{m, first}, nil, place{}
	case m.external():
		return place{}, nil, place{m, first}
	}
	return place{}, m.host[b.Offset : b.Offset+f.bytes], place{}
}

// load binds inputs and outputs to s and copies the inputs that lie in host memory, or aside, into it. It returns the
// bytes copied.
func (s *slot) load(inputs, outputs []backend.Binding) (copied int64, err error) {
	x := s.x
	for i := range outputs {
		n := len(inputs) + i
		s.at[n], s.out[i], s.aside[n] = x.resolve(n, &outputs[i])
	}
	if x.dev.poison { // not the inputs: their padding is zero and stays so
		for _, out := range x.plan.Outputs {
			if b, at := s.hostAt(out.Offset); b != nil {
				poison(b.host[at : at+out.Size])
			}
		}
	}
	for i := range inputs {
		var in []byte
		io := &x.plan.Inputs[i]
		to, at := s.hostAt(io.Offset)
		if s.at[i], in, s.aside[i] = x.resolve(i, &inputs[i]); s.at[i].memory != nil || to == nil {
			continue
		}
		if from := s.aside[i]; from.memory != nil {
			if err := x.dev.copyShared(from.memory.block, from.offset, to, at, io.Size); err != nil {
				return copied, err
			}
			copied += io.Size
			continue
		}
		if in == nil { // what the last execution brought must not remain
			clear(to.host[at : at+io.Size])
			continue
		}
		copied += int64(copy(to.host[at:], in))
	}
	return copied, nil
}

// store copies the outputs that lie in host memory, or aside, there. It returns the bytes copied.
func (s *slot) store() (copied int64, err error) {
	for i, out := range s.out {
		io := &s.x.plan.Outputs[i]
		from, at := s.hostAt(io.Offset)
		if to := s.aside[len(s.x.plan.Inputs)+i]; to.memory != nil && from != nil {
			if err := s.x.dev.copyShared(from, at, to.memory.block, to.offset, io.Size); err != nil {
				return copied, err
			}
			copied += io.Size
		}
		if len(out) > 0 {
			copied += int64(copy(out, from.host[at:]))
		}
	}
	return copied, nil
}

// stores reports whether store has anything to copy.
func (s *slot) stores() bool {
	for i, out := range s.out {
		if len(out) > 0 || s.aside[len(s.x.plan.Inputs)+i].memory != nil && s.host != nil {
			return true
		}
	}
	return false
}

// forget lets go of what load bound.
func (s *slot) forget() {
	clear(s.at)
	clear(s.aside)
	clear(s.out)
}

// poison sets every float to NaN.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}
