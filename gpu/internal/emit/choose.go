package emit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// A family with several variants for one piece of work has one function that gives each a score: its expected speed
// there as a multiple of the least that the family has anywhere, from the device's facts and the shape; 0 where it
// cannot do the work. Ratios come from docs/measurements.md. Measured rates play no part: plans for equal facts are
// equal, however busy the machine was.

// Choose returns the variant with the highest score that the device can run in workgroups of localX, where the
// description leaves them open; among equals the first in the registry's order. It notes for profiles why, and which
// one would have been next. An answer of plan.Facts.Choices takes precedence.
func Choose[K family.Key](b *Builder, localX uint32, score func(k K) (speed float64, why string)) (key K, ok bool) {
	type candidate struct {
		key   K
		speed float64
		why   string
	}
	var list []candidate
	for _, k := range shaders.Variants[K]() {
		speed, why := score(k)
		kernel := shaders.Of(k)
		if speed <= 0 || b.Facts.Avoid.Has(kernel) || b.Facts.Lacks(kernel.Info(), b.Facts.Workgroup(kernel.Info(), localX)) != nil {
			continue
		}
		list = append(list, candidate{k, speed, why})
	}
	if len(list) == 0 {
		return key, false
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(y.speed, x.speed) })
	kernels := make([]shaders.Kernel, len(list))
	for i, c := range list {
		kernels[i] = shaders.Of(c.key)
	}
	taken, measured := b.Facts.Choices.Answer(plan.Question{Label: b.label, N: b.asked}, kernels)
	b.asked++
	best := list[taken]
	for _, why := range []string{best.why, measured} {
		if why != "" {
			b.Because(why)
		}
	}
	if next := 1 - min(taken, 1); next < len(list) { // the best that was not taken
		b.Because(fmt.Sprintf("score %.2f, next %s %.2f", best.speed, list[next].key.Name(), list[next].speed))
	}
	return best.key, true
}

// TexelsPay reports whether loads through texels of format f are faster than from storage buffers: on the software devices, of
// half floats on those whose subgroups have 8 lanes. Measured.
func TexelsPay(f *plan.Facts, format plan.Format) bool {
	return format != plan.FormatRG32U || f.Class == plan.ClassCPU && f.SubgroupSize >= 8
}

// AccessSpeed scores how a kernel reaches x and y, through texels of format f if it does; stores through these are fast on devices
// whose drivers say so (plan.Facts.TexelStores).
func (b *Builder) AccessSpeed(a family.Access, x, y Value, f plan.Format) float64 {
	const load, store, slow = 1.5, 1.1, 0.9
	switch {
	case a == family.Buffers:
		return 1
	case !b.FitsTexels(x, f):
		return 0
	case !TexelsPay(b.Facts, f):
		return slow
	case a == family.Texels:
		return load
	case f == plan.FormatRGBA32F && !b.Facts.StorageTexelRGBA32F || !b.FitsTexels(y, f):
		return 0
	case b.Facts.TexelStores:
		return load * store
	}
	return load / store
}

// MoveSpeed scores how a kernel that only moves x, or folds it, reads it: processors load texels of 16 bytes at once,
// and a storage buffer word by word. The gain on GPUs was never measured.
func (b *Builder) MoveSpeed(a family.Access, x Value, f plan.Format) float64 {
	const load = 1.4
	switch {
	case a == family.Buffers:
		return 1
	case b.Facts.Class != plan.ClassCPU || a != family.Texels || !b.FitsTexels(x, f):
		return 0
	}
	return load
}

// WideSpeed is MoveSpeed of a kernel in which an invocation loads 16 bytes, compared with one that loads 4 in each of
// more of them. count is the number of invocations of the former.
func (b *Builder) WideSpeed(count int, a family.Access, x Value) float64 {
	const wider, enough = 1.2, 256
	if b.Facts.Class != plan.ClassCPU || count < enough {
		return 0
	}
	return wider * b.MoveSpeed(a, x, plan.FormatRGBA32U)
}

// ReadBy is x as a kernel of the given access reads it, with texels of format f.
func ReadBy(a family.Access, x Binding, f plan.Format) Binding {
	if a != family.Buffers {
		x.Format = f
	}
	return x
}

// Reach binds x and y for a kernel of the given access, with texels of format f.
func (b *Builder) Reach(a family.Access, x, y Value, f plan.Format) (read, write Binding) {
	read, write = b.Read(x, plan.FormatNone), b.Write(y, plan.FormatNone)
	if a != family.Buffers {
		read.Format = f
	}
	if a == family.TexelStores {
		write.Format = f
	}
	return read, write
}
