// Package planner lays out buffers with known lifetimes in one arena. Leaf: standard library only.
package planner

import (
	"cmp"
	"slices"
)

// Item is a buffer that is live from step First to step Last, both included.
type Item struct {
	Size        int64 // bytes
	First, Last int
}

// live reports whether a and b share a step.
func live(a, b Item) bool { return a.First <= b.Last && b.First <= a.Last }

// Plan returns an offset for each item, a multiple of align, such that items with overlapping lifetimes do
// not overlap, and the size of the arena.
//
// Greedy: one item after the other, each in the smallest gap that holds it between the already placed items
// that are live with it, else behind them. No single order is good for all networks, so several are tried,
// beginning with the largest item first; each of them also fills the arena from both ends in turns, which suits
// chains; and the smallest arena is taken. (Greedy by size and by breadth: Pisarchyk and Lee, "Efficient Memory
// Management for Deep Neural Net Inference", 2020.) Thousands of items are laid out by sweep instead.
func Plan(items []Item, align int64) (offsets []int64, total int64) {
	rounded := make([]Item, len(items))
	for i, it := range items {
		it.Size = (it.Size + align - 1) / align * align
		rounded[i] = it
	}
	if len(items) > manyItems {
		return sweep(rounded)
	}
	peak := Peak(items, align)
	for k, order := range orders(rounded) {
		for _, ceiling := range [2]int64{0, peak} {
			at, n := place(rounded, order, ceiling)
			if k == 0 && ceiling == 0 || n < total {
				offsets, total = at, n
			}
			if total == peak {
				return offsets, total
			}
		}
	}
	return offsets, total
}

// orders returns the orders in which Plan places items.
func orders(items []Item) [][]int {
	breadth := breadths(items)
	span := func(i int) int { return items[i].Last - items[i].First }
	larger := func(a, b int) int { return cmp.Compare(items[b].Size, items[a].Size) }
	return [][]int{
		sorted(items, larger),
		sorted(items, func(a, b int) int { return cmp.Or(cmp.Compare(breadth[b], breadth[a]), larger(a, b)) }),
		sorted(items, func(a, b int) int { return cmp.Or(cmp.Compare(span(b), span(a)), larger(a, b)) }),
		sorted(items, func(a, b int) int { return cmp.Compare(items[a].First, items[b].First) }),
		sorted(items, func(a, b int) int { return cmp.Compare(items[b].Last, items[a].Last) }),
	}
}

// sorted has the indexes of items in an order; equal ones stay as they are.
func sorted(items []Item, order func(a, b int) int) []int {
	list := make([]int, len(items))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, order)
	return list
}

// breadths returns for each item the largest sum of sizes that is live at one of its steps.
func breadths(items []Item) []int64 {
	out := make([]int64, len(items))
	for i := range items {
		// The sum only grows where an item starts.
		var near []Item
		for _, b := range items {
			if live(items[i], b) {
				b.First, b.Last = max(b.First, items[i].First), min(b.Last, items[i].Last)
				near = append(near, b)
			}
		}
		out[i] = Peak(near, 1)
	}
	return out
}

// span is a placed item.
type span struct {
	start, end int64
	item       Item
}

// place lays items, whose sizes are multiples of the alignment, out in the given order. With a ceiling every
// other item goes to the upper end of the highest gap below it, where there is one.
func place(items []Item, order []int, ceiling int64) (offsets []int64, total int64) {
	offsets = make([]int64, len(items))
	var placed []span // by start
	for n, i := range order {
		it := items[i]
		at, best, bestGap, top := int64(0), int64(-1), int64(-1), int64(-1)
		for _, p := range placed {
			if !live(p.item, it) {
				continue
			}
			if gap := p.start - at; gap >= it.Size {
				top = p.start - it.Size
				if best < 0 || gap < bestGap {
					best, bestGap = at, gap
				}
			}
			at = max(at, p.end)
		}
		if ceiling-at >= it.Size {
			top = ceiling - it.Size
		}
		switch {
		case ceiling > 0 && n%2 == 1 && top >= 0:
			best = top
		case best < 0:
			best = at
		}
		offsets[i] = best
		total = max(total, best+it.Size)
		s := span{best, best + it.Size, it}
		k, _ := slices.BinarySearchFunc(placed, s.start+1, func(p span, start int64) int { return cmp.Compare(p.start, start) })
		placed = slices.Insert(placed, k, s)
	}
	return offsets, total
}

// Peak is the largest sum of the sizes, each rounded up to align, of items live at one step: no layout can
// be smaller.
func Peak(items []Item, align int64) int64 {
	type change struct {
		step int
		size int64
	}
	changes := make([]change, 0, 2*len(items))
	for _, it := range items {
		size := (it.Size + align - 1) / align * align
		changes = append(changes, change{it.First, size}, change{it.Last + 1, -size})
	}
	// At one step what ends goes before what starts.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.size, b.size)) })
	var sum, peak int64
	for _, c := range changes {
		sum += c.size
		peak = max(peak, sum)
	}
	return peak
}
