package emit

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// PlaceIO reserves host memory for the model's inputs and outputs and, where a tensor has the same form on
// the device and the device reads host memory directly, places the tensor there. It must come before the
// nodes are lowered.
func (b *Builder) PlaceIO() (inputs, outputs []plan.IO, hostBytes int64) {
	reserve := func(id ir.ID, of plan.IORef) (plan.IO, Value) {
		l := b.Layout(id)
		// Room for the padded form, so that a tensor of one row can live here.
		size := max(l.Bytes(), l.DenseBytes())
		io := plan.IO{Offset: hostBytes, Size: l.DenseBytes(), DeviceBytes: size}
		v := b.Host(size, hostBytes, of)
		hostBytes += plan.AlignUp(size)
		return io, v
	}
	for i, id := range b.Graph.Inputs {
		if id == ir.None {
			inputs = append(inputs, plan.IO{})
			continue
		}
		of := plan.InputRef(i)
		io, v := reserve(id, of)
		inputs = append(inputs, io)
		b.host = append(b.host, hostTensor{id, v, of})
		if b.Layout(id).Dense() && b.Facts.Unified {
			b.tensors[id] = v
		}
	}
	for i, id := range b.Graph.Outputs {
		of := plan.OutputRef(i)
		io, v := reserve(id, of)
		outputs = append(outputs, io)
		b.hostOut = append(b.hostOut, hostTensor{id, v, of})
		// A tensor listed twice, an input or a constant keeps its place and is copied.
		if b.Layout(id).Dense() && b.Facts.Unified && !b.Placed(id) && b.Graph.T(id).Const == nil {
			b.tensors[id] = v
		}
	}
	return inputs, outputs, hostBytes
}

// hostTensor pairs a model input or output with its place in host memory.
type hostTensor struct {
	id    ir.ID
	value Value
	of    plan.IORef
}

// LoadInputs appends the steps that bring inputs from host memory to their device form. Unread inputs stay where they
// are: no check has seen them, and they may be larger than what the device binds.
func (b *Builder) LoadInputs() {
	b.label = "input"
	uses := b.Graph.Uses()
	for _, h := range b.host {
		if uses[h.id] > 0 && b.tensors[h.id] != h.value {
			v := b.Tensor(h.id)
			b.values[v.id].of = h.of
			b.Serve(h.of, plan.WhenDense, func() { b.transfer(v, h.value, b.Layout(h.id), true) })
		}
	}
}

// StoreOutputs appends the steps that bring outputs to host memory.
//
// A tensor that is only this output lies in the client's memory if that has the device's form. One that is also an
// input, a constant or another output, or a part of another tensor, is copied there.
func (b *Builder) StoreOutputs() {
	b.Begin("output")
	for _, h := range b.hostOut {
		v, l := b.Tensor(h.id), b.Layout(h.id)
		if v == h.value {
			continue
		}
		own := &b.values[v.id]
		switch {
		case own.buffer == plan.Arena && own.of == 0 && own.parent == 0:
			own.of = h.of
			b.Serve(h.of, plan.WhenDense, func() { b.transfer(h.value, v, l, false) })
		case l.Bytes() == l.DenseBytes():
			b.Serve(h.of, plan.Always, func() { b.transfer(h.value, v, l, false) })
		default:
			b.Serve(h.of, plan.WhenDense, func() { b.transfer(h.value, v, l, false) })
			b.Serve(h.of, plan.WhenDevice, func() { b.Copy(h.value, v, l.Bytes()) })
		}
	}
}

// Serve marks the steps that do appends.
func (b *Builder) Serve(of plan.IORef, when plan.When, do func()) {
	b.serves, b.when = of, when
	do()
	b.serves, b.when = 0, plan.Always
}

// transfer copies a tensor of layout l from its dense to its device form, or back. What is behind the end of one row is
// copied to the device alone: elsewhere it may be a client's.
func (b *Builder) transfer(dst, src Value, l pack.Layout, pad bool) {
	if !l.Dense() {
		b.repack(dst, src, l, pad)
		return
	}
	size := l.DenseBytes()
	if pad {
		size = l.Bytes()
	}
	b.Copy(dst, src, size)
}
