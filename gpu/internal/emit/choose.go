package emit

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// A family with several variants for one piece of work has one function that gives each a score: the speed that it is
// expected to have there, as a multiple of what the family has at least anywhere, from the device's facts and the shape;
// 0 where it cannot do it. Ratios come from docs/measurements.md. Rates that were measured are no part of it: plans for
// equal facts are equal, however busy the machine was.

// Choose returns the variant with the highest score that the device can run in workgroups of localX, where the
// description leaves them open; the first in the registry's order among equals. It notes for profiles why, and what
// would have been next.
func Choose[K family.Key](b *Builder, localX uint32, score func(k K) (speed float64, why string)) (key K, ok bool) {
	var best, second float64
	var next K
	reason := ""
	for _, k := range shaders.Variants[K]() {
		speed, why := score(k)
		kernel := shaders.Of(k)
		if speed <= second || b.Facts.Avoid.Has(kernel) || b.Facts.Lacks(kernel.Info(), localShape(kernel.Info(), localX)) != nil {
			continue
		}
		if speed > best {
			key, next, best, second, reason = k, key, speed, best, why
		} else {
			next, second = k, speed
		}
	}
	if best == 0 {
		return key, false
	}
	if reason != "" {
		b.Because(reason)
	}
	if second > 0 {
		b.Because(fmt.Sprintf("score %.2f, next %s %.2f", best, next.Name(), second))
	}
	return key, true
}

// localShape is the shape of a kernel's workgroups: localX in a row where the description leaves that open.
func localShape(k *family.Info, localX uint32) [3]uint32 {
	shape := k.Workgroup
	if shape[0] == 0 {
		shape[0] = localX
	}
	return shape
}

// AccessSpeed scores how a kernel reaches x and y: loads through texels of format f are faster on the software devices,
// and stores on those whose drivers say so (plan.Facts.TexelStores).
func (b *Builder) AccessSpeed(a family.Access, x, y Value, f plan.Format) float64 {
	const load, store = 1.5, 1.1
	switch {
	case a == family.Buffers:
		return 1
	case !b.FitsTexels(x, f):
		return 0
	case a == family.Texels:
		return load
	case f == plan.FormatRGBA32F && !b.Facts.StorageTexelRGBA32F || !b.FitsTexels(y, f):
		return 0
	case b.Facts.TexelStores:
		return load * store
	}
	return load / store
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
