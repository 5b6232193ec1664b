package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSweep holds the layouts of many items to the promises of Plan, and near the peak where they are those of
// a network.
func TestSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, tc := range []struct {
		name  string
		item  func(i int) Item
		above float64 // of the peak; 0: anything
	}{
		{"a chain", func(i int) Item { return Item{256, i, i + 1} }, 1},
		{"all at once", func(int) Item { return Item{100, 0, 9} }, 1},
		{"residuals", func(i int) Item { return Item{int64(1+i%5) << 10, i, i + 1 + i%3*4} }, 1.3},
		{"random", func(int) Item {
			first := r.IntN(3000)
			return Item{r.Int64N(1 << r.IntN(20)), first, first + r.IntN(1+r.IntN(500))}
		}, 2},
		{"every other one ends", func(i int) Item { return Item{int64(1 + i%7), i / 4, i/4 + i%2*5000} }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			items := make([]Item, manyItems+500)
			for i := range items {
				items[i] = tc.item(i)
			}
			total, peak := checkPlan(t, items, 256), Peak(items, 256)
			if tc.above > 0 && float64(total) > tc.above*float64(peak) {
				t.Errorf("total %d is %.3f times the peak", total, float64(total)/float64(peak))
			}
		})
	}
}

// TestPlanTime: the time for many items does not grow with their square.
func TestPlanTime(t *testing.T) {
	for name, item := range map[string]func(i, n int) Item{
		"a chain":     func(i, n int) Item { return Item{256, i, i + 1} },
		"all at once": func(i, n int) Item { return Item{int64(i), 0, n} },
		"fragments":   func(i, n int) Item { return Item{int64(256 * (1 + i%3)), i, i + 1 + i%2*n} },
		"ends apart":  func(i, n int) Item { return Item{int64(256 * (1 + i%50)), i, i + 1 + i*7919%n} },
	} {
		const n = 100_000
		t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
			items := make([]Item, n)
			for i := range items {
				items[i] = item(i, n)
			}
			start := time.Now()
			Plan(items, 256)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}
