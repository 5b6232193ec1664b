package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Constants of shaders/box/suppress.comp.
const (
	suppressRound    = 128 // candidates that are looked at in two steps
	suppressUnrolled = 8   // boxes in a round of a loop
)

// maxCandidates bounds those of a group: two steps are appended for each round of them, whatever the data make of them.
const maxCandidates = 1 << 17

// suppression finds, in groups of boxes, those that do not overlap with a better one.
type suppression struct {
	groups, perImage int // groups, and those of an image
	candidates       int // of a group, the first of its boxes by score
	scores           int // of a group, which the candidates are the best of
	boxes            int // of an image
	room             int // most that are chosen of a group
	least            float32
}

func (s *suppression) pitch() int { return (s.scores + 3) &^ 3 }

// check reports why the device cannot do s.
func (s *suppression) check(f *plan.Facts) error {
	if s.candidates > maxCandidates {
		return fmt.Errorf("overlaps among %d boxes, at most %d", s.candidates, maxCandidates)
	}
	if err := checkSorted(f, s.groups, s.scores, s.candidates); err != nil {
		return err
	}
	return checkScratch(f, s.groups, suppressRound, 16, s.room, 16)
}

// checkSorted reports why the k largest of each of rows of n keys cannot be found.
func checkSorted(f *plan.Facts, rows, n, k int) error {
	if n > emit.MaxInvocations {
		return fmt.Errorf("%d scores to be sorted", n)
	}
	if size := topKRowBytes(n, k); size*int64(rows) > f.MaxStorageRange {
		return fmt.Errorf("%d bytes to sort scores, more than the device binds", size*int64(rows))
	}
	return checkScratch(f, rows, (n+3)&^3, 4)
}

// checkScratch reports values too large to be bound or indexed. elements has pairs of a number of elements for each of
// rows and their size in bytes.
func checkScratch(f *plan.Facts, rows int, elements ...int) error {
	for i := 0; i < len(elements); i += 2 {
		n := float64(rows) * float64(elements[i])
		if size := n * float64(elements[i+1]); n > emit.MaxInvocations || size > math.MaxInt32 || size > float64(f.MaxStorageRange) {
			return fmt.Errorf("%.0f bytes between steps, more than the device binds", size)
		}
	}
	return nil
}

// chosen is what a suppression leaves of each group, with room for the most that it may leave.
type chosen struct {
	pairs  emit.Value // keys and indices of boxes, in order
	counts emit.Value // how many there are
}

// suppress appends the steps of s: run has the pairs of sortRows for each group, boxes the boxes of the images.
func suppress(b *emit.Builder, s *suppression, run, boxes emit.Value) chosen {
	g := int64(s.groups)
	to := chosen{pairs: b.Temp(g * int64(s.room) * topKPair), counts: b.Temp(g * 4)}
	taken, masks := b.Temp(g*int64(s.room)*16), b.Temp(g*suppressRound*16)
	in := func(v emit.Value) emit.Binding { return b.Read(v, plan.FormatNone) }
	out := func(v emit.Value) emit.Binding { return b.Write(v, plan.FormatNone) }
	for from := 0; from < s.candidates; from += suppressRound {
		push := func(count int) emit.Push {
			return emit.Ints(count).Divisors(s.perImage).Ints(from, s.candidates, s.room, s.boxes).Floats(float64(s.least))
		}
		count := s.groups * suppressRound
		// Usually few are chosen, and most of the later candidates are not looked at.
		cost := emit.Cost{FLOP: 20 * float64(count) * suppressRound / 2, Bytes: 48 * float64(count)}
		if from > 0 {
			cost.FLOP /= 8
		}
		b.Quads(shaders.SuppressCompare, count, push(count), cost, in(run), in(boxes), in(taken), in(to.counts), out(masks))
		b.Quads(shaders.SuppressChoose, s.groups, push(s.groups), emit.Cost{FLOP: 8 * float64(count), Bytes: 24 * float64(count)},
			in(run), in(boxes), in(masks), out(to.counts), out(taken), out(to.pairs))
	}
	return to
}

// sortKeys sorts the first k of n keys in each row.
func sortKeys(b *emit.Builder, keys emit.Value, rows, n, k int) emit.Value {
	return sortRows(b, sorted{of: b.Read(keys, plan.FormatNone), elem: family.I32, rows: rows, c: n, k: k})
}

// floatKey is the key of x in the order of shaders/include/order.glsl. Precondition: x is not NaN.
func floatKey(x float32) int32 {
	v := int32(math.Float32bits(x) & 0x7fffffff)
	if math.Signbit(float64(x)) {
		return -v
	}
	return v
}
