package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/memory/planner"
	"github.com/nngpu/nngpu/shaders"
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
		v := b.newValue(plan.Host, size, hostBytes)
		b.values[v.id].of = of
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
	placed := map[ir.ID]bool{}
	for i, id := range b.Graph.Outputs {
		of := plan.OutputRef(i)
		io, v := reserve(id, of)
		outputs = append(outputs, io)
		b.hostOut = append(b.hostOut, hostTensor{id, v, of})
		// A tensor listed twice, an input or a constant keeps its place and is copied.
		if b.Layout(id).Dense() && b.Facts.Unified && !placed[id] && b.tensors[id].id == 0 && b.Graph.T(id).Const == nil {
			b.tensors[id] = v
			placed[id] = true
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

// LoadInputs appends the steps that bring inputs from host memory to their device form. Those that nobody reads
// stay where they are: no check has seen them, and they may be larger than what the device binds.
func (b *Builder) LoadInputs() {
	b.label = "input"
	uses := b.Graph.Uses()
	for _, h := range b.host {
		if uses[h.id] > 0 && b.tensors[h.id] != h.value {
			v := b.Tensor(h.id)
			b.values[v.id].of = h.of
			b.serve(h.of, plan.WhenDense, func() { b.transfer(v, h.value, b.Layout(h.id), true) })
		}
	}
}

// StoreOutputs appends the steps that bring outputs to host memory.
//
// A tensor that is this output's alone lies in the client's memory where that has the device's form. One that
// is an input, a constant or another output as well is copied there.
func (b *Builder) StoreOutputs() {
	b.label = "output"
	for _, h := range b.hostOut {
		v, l := b.Tensor(h.id), b.Layout(h.id)
		if v == h.value {
			continue
		}
		own := &b.values[v.id]
		switch {
		case own.buffer == plan.Arena && own.of == 0:
			own.of = h.of
			b.serve(h.of, plan.WhenDense, func() { b.transfer(h.value, v, l, false) })
		case l.Dense():
			b.serve(h.of, plan.Always, func() { b.transfer(h.value, v, l, false) })
		default:
			b.serve(h.of, plan.WhenDense, func() { b.transfer(h.value, v, l, false) })
			b.serve(h.of, plan.WhenDevice, func() { b.Copy(h.value, v, l.Bytes()) })
		}
	}
}

// serve marks the steps that do appends.
func (b *Builder) serve(of plan.IORef, when plan.When, do func()) {
	b.serves, b.when = of, when
	do()
	b.serves, b.when = 0, plan.Always
}

// transfer copies a tensor of layout l from its dense to its device form, or back.
func (b *Builder) transfer(dst, src Value, l pack.Layout, pad bool) {
	if l.Dense() {
		b.Copy(dst, src, l.Bytes())
		return
	}
	b.repack(dst, src, l, pad)
}

// Finish places the values of the arena, finds the barriers and returns the steps with the packed weights.
func (b *Builder) Finish() (p *plan.Plan, weights []byte, err error) {
	if err := b.weights.Err(); err != nil {
		return nil, nil, err
	}
	items, index := b.lifetimes()
	offsets, total := planner.Plan(items, plan.Align)
	for id, k := range index {
		b.values[id].offset = offsets[k]
	}
	p = &plan.Plan{ArenaBytes: total, WeightBytes: b.weights.Size()}
	for i := range b.steps {
		s := &b.steps[i]
		for j, r := range s.refs {
			id, at := b.root(r.Value)
			v := b.values[id]
			at += r.Offset
			bd := plan.Binding{Buffer: v.buffer, Format: r.Format, Offset: v.offset + at, Size: r.Size, Write: r.Write}
			if bd.Of = v.of; v.of != 0 {
				bd.At = at
			}
			if r.Format == plan.FormatNone && bd.Size > b.Facts.MaxStorageRange && s.Kernel != shaders.Copy {
				return nil, nil, fmt.Errorf("%s binds %d bytes, the device allows %d", s.Label, bd.Size, b.Facts.MaxStorageRange)
			}
			if f := r.Format; f != plan.FormatNone && bd.Size/f.TexelBytes() > b.Facts.MaxTexelElements {
				return nil, nil, fmt.Errorf("%s binds %d texels at binding %d, the device allows %d", s.Label, bd.Size/f.TexelBytes(), j, b.Facts.MaxTexelElements)
			}
			s.Bindings = append(s.Bindings, bd)
		}
		p.Steps = append(p.Steps, s.Step)
	}
	b.steadyViews(p)
	placeBarriers(p.Steps)
	return p, b.weights.Bytes(), nil
}

// steadyViews makes texel views longer whose size in bytes has zeroes in bits 8 to 15. Mesa 22.3.6 reads
// these bits of a buffer view as the last mipmap level of a texture, and compiles a kernel anew for views
// that have "one level only": 20 to 200 ms in the middle of an execution. What is added is never read; each
// memory ends with room for it. Barriers are placed afterwards, because a view that reaches into a neighbour
// counts as an access to it. To go when that version does.
func (b *Builder) steadyViews(p *plan.Plan) {
	for i := range p.Steps {
		for k := range p.Steps[i].Bindings {
			bd := &p.Steps[i].Bindings[k]
			if bd.Format == plan.FormatNone || bd.Size>>8&0xff != 0 {
				continue
			}
			if longer := bd.Size + plan.Align; longer/bd.Format.TexelBytes() <= b.Facts.MaxTexelElements {
				bd.Size = longer
				if bd.Buffer == plan.Arena {
					p.ArenaBytes = max(p.ArenaBytes, bd.Offset+longer)
				}
			}
		}
	}
}

// lifetimes returns the live range of every arena value that a step binds, and the item index by value.
func (b *Builder) lifetimes() ([]planner.Item, map[int]int) {
	var items []planner.Item
	index := map[int]int{}
	for i := range b.steps {
		for _, r := range b.steps[i].refs {
			id, _ := b.root(r.Value)
			if b.values[id].buffer != plan.Arena {
				continue
			}
			k, ok := index[id]
			if !ok {
				k = len(items)
				index[id] = k
				items = append(items, planner.Item{Size: b.values[id].size, First: i})
			}
			items[k].Last = i
		}
	}
	return items, index
}

// maxOpen bounds the bindings since the last barrier, so that the time to find conflicts is proportional to the
// number of steps. A barrier after hundreds of steps costs nothing.
const maxOpen = 1024

// placeBarriers sets Barrier on each step that conflicts with one since the last barrier: reads or
// overwrites what was written, or overwrites what was read.
func placeBarriers(steps []plan.Step) {
	var open []access // of the steps since the last barrier
	for i := range steps {
		s := &steps[i]
		for _, bd := range s.Bindings {
			if len(open) > maxOpen || conflicts(open, s, bd) {
				s.Barrier = true
				open = open[:0]
				break
			}
		}
		for _, bd := range s.Bindings {
			if bd.Buffer != plan.Weights {
				open = append(open, access{bd, s})
			}
		}
	}
}

// access is a binding of a step.
type access struct {
	plan.Binding
	step *plan.Step
}

// conflicts reports whether bd, of step s, touches what one of open writes, or writes what one of open touches.
func conflicts(open []access, s *plan.Step, bd plan.Binding) bool {
	for _, o := range open {
		if (o.Write || bd.Write) && o.Buffer == bd.Buffer && o.Offset < bd.Offset+bd.Size && bd.Offset < o.Offset+o.Size &&
			!alternatives(o.step, s) {
			return true
		}
	}
	return false
}

// alternatives: no execution runs both.
func alternatives(a, b *plan.Step) bool {
	return a.Serves == b.Serves && a.When != b.When && a.When != plan.Always && b.When != plan.Always
}
