package driver

import (
	"context"
	"fmt"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
)

// place says where each argument lies, reads the inputs from files, and gives buffers the size of what they take.
func (b *boundRequest) place(ctx context.Context) error {
	if b.inputs == nil && b.outputs == nil {
		bindings := resize(b.room.bindings[:], len(b.request.Inputs)+len(b.request.Outputs))
		b.inputs, b.outputs = bindings[:len(b.request.Inputs):len(b.request.Inputs)], bindings[len(b.request.Inputs):]
	}
	clear(b.inputs)
	clear(b.outputs)
	for i := range b.inputs {
		a := &b.request.Inputs[i]
		if a.HasNoValue {
			continue
		}
		x, l := b.poolOf(a), a.Location
		size, err := b.inputSize(i)
		if err != nil {
			return err
		}
		switch {
		case x.image != nil:
			if err := b.convertImage(ctx, &b.inputs[i], x, i); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		case x.buffer != nil:
			b.inputs[i].Memory, b.inputs[i].Length = x.buffer.memory, int64(size)
		case x.File != nil:
			data := b.buffer(i, size)
			if err := pools.Fill(x.File, data, int64(l.Offset)); err != nil {
				return nn.Errorf(nn.StatusGeneralFailure, fmt.Sprintf("input %d", i), "%w", err)
			}
			b.copied += int64(len(data))
			b.inputs[i].Host = data
		default:
			if err := b.placeMapped(&b.inputs[i], x, l.Offset, size); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		}
	}
	for i := range b.outputs {
		x, l := b.poolOf(&b.request.Outputs[i]), b.request.Outputs[i].Location
		o := nn.Operand{Type: b.output(i).Type, Dims: b.shapes[i].Dims}
		size, isKnown := l.Length, known(o.Type, o.Dims)
		if isKnown {
			size, _ = o.ByteSize() // as fit did
		}
		switch {
		case x.buffer != nil:
			if isKnown {
				if err := x.buffer.reserve(o.Dims); err != nil {
					return fmt.Errorf("output %d: %w", i, err)
				}
			}
			b.bindBuffer(i, x.buffer)
		case x.File != nil:
			data := b.buffer(len(b.inputs)+i, size)
			b.files = append(b.files, fileOutput{i, data, x.File, int64(l.Offset)})
			b.outputs[i].Host = data
		default:
			if err := b.placeMapped(&b.outputs[i], x, l.Offset, size); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// buffer returns n bytes of the driver's own for an argument in a file: inputs, then outputs.
func (b *boundRequest) buffer(argument int, n uint32) []byte {
	if b.data == nil {
		b.data = make([][]byte, len(b.inputs)+len(b.outputs))
	}
	if uint64(cap(b.data[argument])) < uint64(n) {
		b.data[argument] = make([]byte, n)
	}
	return b.data[argument][:n]
}

// inputSize is the size in bytes of input i, which is not omitted. Precondition: its dimensions are resolved.
func (b *boundRequest) inputSize(i int) (uint32, error) {
	o := nn.Operand{Type: b.input(i).Type, Dims: b.inputDims[i]}
	size, err := o.ByteSize()
	if err != nil {
		return 0, nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
	}
	return size, nil
}

// placeMapped binds bytes of a mapped pool: in place where the device can, else to be copied.
func (b *boundRequest) placeMapped(to *backend.Binding, x *pool, offset, size uint32) error {
	if err := b.model.client.device.pools.Import(&x.Pool); err != nil {
		return err
	}
	if x.Imported != nil {
		to.Memory, to.Offset, to.Length = x.Imported, int64(offset), int64(size)
		return nil
	}
	end := uint64(offset) + uint64(size)
	to.Host = x.Data[offset:end:end]
	return nil
}
