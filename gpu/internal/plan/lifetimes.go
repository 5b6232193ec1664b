package plan

import "slices"

// Lifetime is a range of the arena and the steps in which it holds one value, both included.
type Lifetime struct {
	Offset, Size int64
	First, Last  int
}

// Lifetimes lists the values in the arena, by first step and offset, as the bindings of the steps tell: a write begins
// a value, the last read before the next write of the same bytes ends it. A step that reads what it overwrites, and a
// write before anything was read, continue the value that is there.
//
// Values that a step only reads in passing, behind the end of what it binds (see emit.Builder.steadyViews), do
// not count as read.
func (p *Plan) Lifetimes() []Lifetime {
	t := &lifetimes{}
	for i := range p.Steps {
		t.step(i, p.Steps[i].Bindings)
	}
	list := t.ended
	for _, v := range t.current {
		list = append(list, v.Lifetime)
	}
	slices.SortFunc(list, func(a, b Lifetime) int {
		if a.First != b.First {
			return a.First - b.First
		}
		return int(a.Offset - b.Offset)
	})
	return list
}

// LargestLive is the largest sum, over the steps, of the sizes of live values, each rounded up to Align, and the first
// step where it is reached: no arena can be smaller.
func LargestLive(list []Lifetime) (sizeBytes int64, step int) {
	last := -1
	for _, l := range list {
		last = max(last, l.Last)
	}
	change := make([]int64, last+2)
	for _, l := range list {
		size := AlignUp(l.Size)
		change[l.First] += size
		change[l.Last+1] -= size
	}
	sum := int64(0)
	for i, c := range change {
		if sum += c; sum > sizeBytes {
			sizeBytes, step = sum, i
		}
	}
	return sizeBytes, step
}

// lifetimes collects values while the steps go by.
type lifetimes struct {
	current []arenaValue // that may still be read; no two overlap
	ended   []Lifetime
}

type arenaValue struct {
	Lifetime
	read bool // since it was written
}

func (v *arenaValue) overlaps(offset, size int64) bool {
	return v.Offset < offset+size && offset < v.Offset+v.Size
}

func (t *lifetimes) step(i int, bindings []Binding) {
	for _, b := range bindings {
		if b.Buffer == Arena && !b.Write {
			t.read(i, b.Offset, b.steadySize())
		}
	}
	for _, b := range bindings {
		if b.Buffer == Arena && b.Write {
			t.write(i, b.Offset, b.steadySize())
		}
	}
}

// steadySize is the size of a view without what emit.Builder.steadyViews may have added to it.
func (b *Binding) steadySize() int64 {
	if b.Format != FormatNone && b.Size>>8&0xff == 1 && b.Size > Align {
		return b.Size - Align
	}
	return b.Size
}

func (t *lifetimes) read(i int, offset, size int64) {
	for k := range t.current {
		if v := &t.current[k]; v.overlaps(offset, size) {
			v.Last, v.read = i, true
		}
	}
}

// write ends the values that it overwrites, or continues them.
func (t *lifetimes) write(i int, offset, size int64) {
	value := arenaValue{Lifetime: Lifetime{offset, size, i, i}}
	t.current = slices.DeleteFunc(t.current, func(v arenaValue) bool {
		if !v.overlaps(offset, size) {
			return false
		}
		if v.read && v.Last < i {
			t.ended = append(t.ended, v.Lifetime)
			return true
		}
		end := max(value.Offset+value.Size, v.Offset+v.Size)
		value.Offset = min(value.Offset, v.Offset)
		value.Size = end - value.Offset
		value.First = min(value.First, v.First)
		return true
	})
	t.current = append(t.current, value)
}
