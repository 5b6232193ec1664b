package emit

import (
	"sort"

	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// MaxRanges bounds the number of parts of a node or a conversion: tensors that can be indexed are at most 64 times as
// large as the smallest range that Vulkan lets a device bind.
const MaxRanges = 1 << 8

// Ranges divides positions 0 to size into runs that fit, each as long as possible. A run begins where start says that
// one can, which must repeat at least every plan.Align positions. A single position that does not fit is a run by
// itself. It returns nil where that is impossible.
//
// Precondition: any part of a run that fits also fits.
func Ranges(size int, fits func(from, to int) bool, start func(at int) bool) [][2]int {
	var runs [][2]int
	most := 0 // that fit the last time, and usually do again
	for from := 0; from < size; {
		if most = min(most, size-from); most == 0 || !fits(from, from+most) || most < size-from && fits(from, from+most+1) {
			most = sort.Search(size-from, func(k int) bool { return !fits(from, from+k+1) })
		}
		to := from + max(1, most)
		for least := max(from, to-plan.Align); to < size && !start(to); {
			if to--; to == least {
				return nil
			}
		}
		if len(runs) == MaxRanges {
			return nil
		}
		runs = append(runs, [2]int{from, to})
		from = to
	}
	return runs
}

// stretch is a run of elements of a tensor, in row-major order, that lies by itself in memory.
type stretch struct {
	layout pack.Layout // as many rows as there are
	at     int64       // bytes from the beginning of the tensor
}

// stretchOf returns elements from to to of a tensor of layout l. Precondition: where l is not dense, both are
// multiples of l.C.
func stretchOf(l pack.Layout, from, to int) stretch {
	n := to - from
	if l.Dense() {
		return stretch{oneRow(n, l.Elem), int64(from) * int64(l.Elem)}
	}
	rows := n / l.C
	s := pack.Layout{Dims: []int{rows, l.C}, Rows: rows, C: l.C, Quads: l.Quads, Elem: l.Elem}
	return stretch{s, int64(from/l.C) * int64(l.Quads*4*l.Elem)}
}

// reshapeRanges divides the elements of a tensor into runs whose places in layouts to and from, of as many elements,
// can both be bound. It returns nil where there are none.
func reshapeRanges(f *plan.Facts, to, from pack.Layout) [][2]int {
	total := to.Rows * to.C
	unit := 4
	for _, l := range [2]pack.Layout{to, from} {
		if !l.Dense() {
			unit = unit / gcd(unit, l.C) * l.C
		}
	}
	end := func(at int) int { return min(at*unit, total) }
	runs := Ranges((total+unit-1)/unit, func(a, b int) bool {
		return stretchOf(to, end(a), end(b)).layout.Bytes() <= f.MaxStorageRange &&
			stretchOf(from, end(a), end(b)).layout.Bytes() <= f.MaxStorageRange
	}, func(at int) bool {
		return stretchOf(to, end(at), end(at)).at%plan.Align == 0 && stretchOf(from, end(at), end(at)).at%plan.Align == 0
	})
	for i, r := range runs {
		a, b := end(r[0]), end(r[1])
		if max(stretchOf(to, a, b).layout.Bytes(), stretchOf(from, a, b).layout.Bytes()) > f.MaxStorageRange {
			return nil
		}
		runs[i] = [2]int{a, b}
	}
	return runs
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// oneRow is the layout of one row of n elements of elem bytes.
func oneRow(n, elem int) pack.Layout {
	return pack.Layout{Dims: []int{n}, Rows: 1, C: n, Quads: (n + 3) / 4, Elem: elem}
}

// denseLayout is that of the elements of a tensor of layout l without padding.
func denseLayout(l pack.Layout) pack.Layout { return oneRow(l.Rows*l.C, l.Elem) }
