package emit

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/memory/planner"
	"github.com/nngpu/nngpu/shaders"
)

// Finish places the values of the arena, finds the barriers and returns the steps with the weights, which are packed when
// they are read.
func (b *Builder) Finish() (p *plan.Plan, weights *pack.Weights, err error) {
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
			if f := r.Format; f.Texels() && bd.Size/f.TexelBytes() > b.Facts.MaxTexelElements {
				return nil, nil, fmt.Errorf("%s binds %d texels at binding %d, the device allows %d", s.Label, bd.Size/f.TexelBytes(), j, b.Facts.MaxTexelElements)
			}
			s.Bindings = append(s.Bindings, bd)
		}
		p.Steps = append(p.Steps, s.Step)
	}
	b.steadyViews(p)
	placeBarriers(p.Steps, func(step, binding int) int { return b.steps[step].refs[binding].Apart })
	return p, b.weights, nil
}

// steadyViews makes texel views longer whose size in bytes has zeroes in bits 8 to 15. Mesa 22.3.6 reads these bits of
// a buffer view as the last mipmap level of a texture, and compiles a kernel anew for views that have "one level only":
// 20 to 200 ms in the middle of an execution. The added bytes are never read; each memory ends with room for them.
// Barriers are placed afterwards, because a view that reaches into a neighbour counts as an access to it. To be removed
// when that version is no longer supported.
func (b *Builder) steadyViews(p *plan.Plan) {
	for i := range p.Steps {
		for k := range p.Steps[i].Bindings {
			bd := &p.Steps[i].Bindings[k]
			if !bd.Format.Texels() || bd.Size>>8&0xff != 0 {
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
