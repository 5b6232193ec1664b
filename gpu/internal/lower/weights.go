package lower

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Packed weights are larger than the constants that they are made of: bytes become floats, few channels whole
// tiles, and operations that share a constant pack it each in its way. So a small file could ask for any amount
// of memory. These bound it: the most that one byte can become, and room for what is made of nothing.
const (
	packedBytes = 32
	packedRoom  = 64 << 20
)

// LimitWeights says that the model has constants of n bytes, where the passes have made others of them.
// NewBuilder assumes that it has those of the graph.
func (b *Builder) LimitWeights(n int64) { b.room = packedRoom + packedBytes*n }

// ConstantBytes is the size of the memory that the constants of g lie in; what several share counts once.
func ConstantBytes(g *ir.Graph) int64 {
	type span struct{ from, to uintptr }
	var spans []span
	for i := range g.Tensors {
		if c := g.Tensors[i].Const; len(c) > 0 {
			at := reflect.ValueOf(c).Pointer()
			spans = append(spans, span{at, at + uintptr(len(c))})
		}
	}
	sort.Slice(spans, func(i, k int) bool { return spans[i].from < spans[k].from })
	var sum int64
	var end uintptr
	for _, s := range spans {
		if s.to > end {
			sum += int64(s.to - max(s.from, end))
			end = s.to
		}
	}
	return sum
}

var hashSeed = maphash.MakeSeed()

// Weights places packed constants; what has the same bytes has the same place. Kernels may read up to the next
// multiple of plan.Align behind them.
func (b *Builder) Weights(data []byte) Value {
	hash := maphash.Bytes(hashSeed, data)
	for _, v := range b.packed[hash] {
		if w := b.values[v.id]; w.size == int64(len(data)) && bytes.Equal(b.weights[w.offset:][:w.size], data) {
			return v
		}
	}
	offset := int64(len(b.weights))
	v := b.newValue(plan.Weights, int64(len(data)), offset)
	padded := plan.AlignUp(int64(len(data)))
	if b.room -= padded; b.room < 0 {
		if b.err == nil {
			b.err = nn.Errorf(nn.StatusResourceExhaustedPersistent, b.label, "packed weights are more than %d times the model's constants", packedBytes)
		}
		return v
	}
	b.weights = append(b.weights, data...)
	b.weights = append(b.weights, make([]byte, padded-int64(len(data)))...)
	b.packed[hash] = append(b.packed[hash], v)
	return v
}
