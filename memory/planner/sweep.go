package planner

import (
	"cmp"
	"container/heap"
	"slices"
)

// manyItems is the number of items from which Plan takes one sweep over the steps instead of trying orders,
// whose time grows with the square: networks have some hundreds, only made-up ones have more.
const manyItems = 2048

// maxHoles bounds the list of holes, so that a sweep takes time proportional to the number of items.
const maxHoles = 1024

// sweep lays items, whose sizes are multiples of the alignment, out in the order of their first steps: each in
// the smallest hole that holds it, else at the end of the arena.
func sweep(items []Item) (offsets []int64, total int64) {
	offsets = make([]int64, len(items))
	live := &byLast{items: items}
	var holes holeList
	for _, i := range sorted(items, func(a, b int) int { return cmp.Compare(items[a].First, items[b].First) }) {
		for live.Len() > 0 && items[live.list[0]].Last < items[i].First {
			k := heap.Pop(live).(int)
			holes.free(hole{offsets[k], offsets[k] + items[k].Size})
		}
		offsets[i] = holes.take(items[i].Size, &total)
		heap.Push(live, i)
	}
	return offsets, total
}

// byLast is a heap of indexes of items, the one that ends first on top.
type byLast struct {
	items []Item
	list  []int
}

func (h *byLast) Len() int           { return len(h.list) }
func (h *byLast) Less(a, b int) bool { return h.items[h.list[a]].Last < h.items[h.list[b]].Last }
func (h *byLast) Swap(a, b int)      { h.list[a], h.list[b] = h.list[b], h.list[a] }
func (h *byLast) Push(x any)         { h.list = append(h.list, x.(int)) }
func (h *byLast) Pop() any {
	x := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return x
}

// hole is a range of the arena that no live item has.
type hole struct{ start, end int64 }

// holeList has the holes by start, none touching another.
type holeList []hole

// take returns the start of size bytes that were free. total is the size of the arena, which it may extend.
func (l *holeList) take(size int64, total *int64) int64 {
	if size == 0 {
		return 0
	}
	best := -1
	for i, h := range *l {
		if n := h.end - h.start; n >= size && (best < 0 || n < (*l)[best].end-(*l)[best].start) {
			best = i
		}
	}
	if best < 0 {
		at := *total
		if n := len(*l); n > 0 && (*l)[n-1].end == at { // the last hole grows
			at = (*l)[n-1].start
			*l = (*l)[:n-1]
		}
		*total = at + size
		return at
	}
	h := &(*l)[best]
	at := h.start
	if h.start += size; h.start == h.end {
		*l = slices.Delete(*l, best, best+1)
	}
	return at
}

// free adds a hole. Where there are too many, the smallest is given up.
func (l *holeList) free(h hole) {
	if h.start == h.end {
		return
	}
	i, _ := slices.BinarySearchFunc(*l, h.start, func(x hole, start int64) int { return cmp.Compare(x.start, start) })
	if i < len(*l) && (*l)[i].start == h.end {
		h.end = (*l)[i].end
		*l = slices.Delete(*l, i, i+1)
	}
	if i > 0 && (*l)[i-1].end == h.start {
		(*l)[i-1].end = h.end
		return
	}
	*l = slices.Insert(*l, i, h)
	if len(*l) > maxHoles {
		size := func(h hole) int64 { return h.end - h.start }
		small := slices.MinFunc(*l, func(a, b hole) int { return cmp.Compare(size(a), size(b)) })
		k := slices.Index(*l, small)
		*l = slices.Delete(*l, k, k+1)
	}
}
