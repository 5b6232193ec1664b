package planner

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// checkPlan plans items and fails when the layout breaks a promise of Plan. It returns the arena's size.
func checkPlan(t *testing.T, items []Item, align int64) int64 {
	t.Helper()
	offsets, total := Plan(items, align)
	if len(offsets) != len(items) {
		t.Fatalf("%d offsets for %d items", len(offsets), len(items))
	}
	for i, at := range offsets {
		if at < 0 || at%align != 0 {
			t.Fatalf("item %d at %d, not a multiple of %d", i, at, align)
		}
		if at+items[i].Size > total {
			t.Fatalf("item %d ends at %d of %d", i, at+items[i].Size, total)
		}
		for k := range i {
			a, b := items[i], items[k]
			live := a.First <= b.Last && b.First <= a.Last
			if live && at < offsets[k]+b.Size && offsets[k] < at+a.Size {
				t.Fatalf("items %d %+v at %d and %d %+v at %d overlap", i, a, at, k, b, offsets[k])
			}
		}
	}
	if peak := Peak(items, align); total < peak {
		t.Fatalf("total %d is below the peak %d", total, peak)
	}
	return total
}

func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		name        string
		items       []Item
		total, peak int64
	}{
		{name: "nothing"},
		{"one byte takes one unit", []Item{{1, 0, 0}}, 256, 256},
		{"one unit exactly", []Item{{256, 3, 9}}, 256, 256},
		{"one byte over", []Item{{257, 0, 5}}, 512, 512},
		{"neighbours in time share nothing at the step they meet", []Item{{256, 0, 1}, {256, 1, 2}}, 512, 512},
		{"apart in time, same place", []Item{{256, 0, 1}, {256, 2, 3}}, 256, 256},
		{"a chain needs its two largest neighbours", []Item{{100, 0, 1}, {700, 1, 2}, {300, 2, 3}, {900, 3, 4}}, 1536, 1536},
		{"size 0", []Item{{0, 0, 9}, {256, 0, 9}}, 256, 256},
		{"a residual stays while the branch runs", []Item{{512, 0, 4}, {512, 1, 2}, {512, 2, 3}, {512, 3, 4}}, 1536, 1536},
		{"all at once", []Item{{1, 0, 9}, {1, 0, 9}, {1, 0, 9}}, 768, 768},
		{"a hole is filled", []Item{{1024, 0, 1}, {512, 2, 3}, {512, 2, 3}, {256, 1, 2}}, 1280, 1280},
		{"steps need not be dense or positive", []Item{{256, -1000, 5}, {256, 1 << 40, 1 << 41}}, 256, 256},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if total := checkPlan(t, tc.items, 256); total != tc.total {
				t.Errorf("total %d, want %d", total, tc.total)
			}
			if peak := Peak(tc.items, 256); peak != tc.peak {
				t.Errorf("peak %d, want %d", peak, tc.peak)
			}
		})
	}
}

func TestPlanOfRandomLifetimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		steps := 1 + r.IntN(60)
		items := make([]Item, r.IntN(90))
		for i := range items {
			first := r.IntN(steps)
			items[i] = Item{Size: r.Int64N(1 << r.IntN(22)), First: first, Last: first + r.IntN(1+r.IntN(steps))}
		}
		checkPlan(t, items, 1<<r.IntN(13))
	}
}

// network returns the lifetimes of a network of n layers: each layer's result is read by the next, and
// every skip-th, when skip is not 0, again skip layers later. Sizes shrink as those of a classifier do.
func network(r *rand.Rand, n, skip int) []Item {
	items := make([]Item, n)
	size := int64(2 << 20)
	for i := range items {
		if i%(4+r.IntN(3)) == 0 && size > 4096 {
			size /= 2
		}
		factor := 1 + r.Int64N(6) // expansions inside a block
		items[i] = Item{Size: size * factor / 2, First: i, Last: i + 1}
		if skip > 0 && i%skip == 0 {
			items[i].Last = i + skip
		}
	}
	return items
}

func TestPlanOfNetworksIsNearThePeak(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, skip := range []int{0, 2, 3, 5, 9} {
		t.Run(fmt.Sprintf("skip %d", skip), func(t *testing.T) {
			var totals, peaks int64
			for range 100 {
				items := network(r, 20+r.IntN(120), skip)
				total, peak := checkPlan(t, items, 256), Peak(items, 256)
				if total*100 > peak*115 {
					t.Errorf("total %d is %.3f times the peak", total, float64(total)/float64(peak))
				}
				totals, peaks = totals+total, peaks+peak
			}
			t.Logf("mean total / peak: %.4f", float64(totals)/float64(peaks))
		})
	}
}

// TestPlanIsDeterministic: equal plans for equal models are what a cache compares.
func TestPlanIsDeterministic(t *testing.T) {
	items := network(rand.New(rand.NewPCG(5, 6)), 200, 3)
	want, _ := Plan(items, 256)
	for range 5 {
		got, _ := Plan(items, 256)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("item %d at %d, then at %d", i, want[i], got[i])
			}
		}
	}
}

func TestPlanLeavesItsArgumentAlone(t *testing.T) {
	items := network(rand.New(rand.NewPCG(7, 8)), 50, 2)
	before := append([]Item(nil), items...)
	Plan(items, 256)
	Peak(items, 256)
	for i := range items {
		if items[i] != before[i] {
			t.Fatalf("item %d changed to %+v", i, items[i])
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add([]byte{0, 1, 0, 3, 1, 0, 1, 5}, uint8(8))
	f.Add([]byte{255, 255, 0, 0, 255, 255, 9, 9, 1, 0, 0, 99}, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, shift uint8) {
		var items []Item
		for ; len(data) >= 4 && len(items) < 200; data = data[4:] {
			items = append(items, Item{
				Size:  int64(binary.LittleEndian.Uint16(data)),
				First: int(data[2]), Last: int(data[2]) + int(data[3]),
			})
		}
		checkPlan(t, items, 1<<(shift%13))
	})
}

func BenchmarkPlan(b *testing.B) {
	items := network(rand.New(rand.NewPCG(9, 10)), 300, 3)
	for b.Loop() {
		Plan(items, 256)
	}
}
