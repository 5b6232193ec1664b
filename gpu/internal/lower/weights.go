package lower

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Packed weights are larger than the constants that they are made of: bytes become floats, few channels whole
// tiles, and operations that share a constant pack it each in its way. So a small file could ask for any amount
// of memory. Fits bounds it by the device, and these by the model: the most that one byte can become, and room for
// what is made of nothing.
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

// Fits reports why n bytes of packed weights are too many for a device or whoever compiles for it, nil when they
// are not.
type Fits func(n int64) error

// Bound lets ctx stop the builder between packings, and fits as soon as the weights are too large; nil for those
// that LimitWeights alone bounds.
func (b *Builder) Bound(ctx context.Context, fits Fits) { b.ctx, b.fits = ctx, fits }

// refused reports that n more bytes of weights must not be packed; err says why.
func (b *Builder) refused(n int64) bool {
	if b.err == nil && b.ctx != nil {
		b.err = b.ctx.Err()
	}
	if b.err == nil && b.fits != nil && n > 0 {
		b.err = b.fits(n)
	}
	return b.err != nil
}

// packing names weights that are made of a constant alone: the same ones are made once.
type packing struct {
	of    constantAt
	how   string // the function that packs
	shape [6]int // whatever else it goes by
}

// constantAt is the place of a constant.
type constantAt struct {
	at *byte // nil for no bytes
	n  int
}

// origin is the place of the first constant seen that has the bytes of c. Each place is hashed once.
func (b *Builder) origin(c []byte) constantAt {
	if len(c) == 0 {
		return constantAt{}
	}
	at := constantAt{&c[0], len(c)}
	if first, ok := b.origins[at]; ok {
		return first
	}
	hash := maphash.Bytes(hashSeed, c)
	first := at
	for _, other := range b.constants[hash] {
		if bytes.Equal(other, c) {
			first = constantAt{&other[0], len(other)}
			break
		}
	}
	if first == at {
		b.constants[hash] = append(b.constants[hash], c)
	}
	b.origins[at] = first
	return first
}

// placedWeights is where weights are, and their index in Builder.weights.
type placedWeights struct {
	Value
	index int
}

// packed places n bytes that pack makes of constant c, as how and shape say.
func (b *Builder) packed(c []byte, how string, shape [6]int, n int64, pack func() []byte) Value {
	if b.refused(0) {
		return b.newValue(plan.Weights, n, 0)
	}
	p := packing{b.origin(c), how, shape}
	if v, ok := b.packings[p]; ok {
		return v
	}
	if n > b.size && b.refused(n) { // by itself: it may turn out to be there already
		return b.newValue(plan.Weights, n, 0)
	}
	v := b.Weights(pack())
	b.packings[p] = v
	return v
}

// Weights places packed constants, which it retains; what has the same bytes has the same place. Kernels may read up
// to the next multiple of plan.Align behind them.
func (b *Builder) Weights(data []byte) Value {
	if b.refused(0) {
		return b.newValue(plan.Weights, int64(len(data)), 0)
	}
	hash := maphash.Bytes(hashSeed, data)
	for _, v := range b.placed[hash] {
		if bytes.Equal(b.weights[v.index], data) {
			return v.Value
		}
	}
	v := b.newValue(plan.Weights, int64(len(data)), b.size)
	padded := plan.AlignUp(int64(len(data)))
	if b.room -= padded; b.room < 0 {
		b.err = nn.Errorf(nn.StatusResourceExhaustedPersistent, b.label, "packed weights are more than %d times the model's constants", packedBytes)
	}
	if b.refused(b.size + padded) {
		return v
	}
	b.placed[hash] = append(b.placed[hash], placedWeights{v, len(b.weights)})
	b.weights = append(b.weights, data)
	b.size += padded
	return v
}

// joined returns the weights one behind the other, and plan.Align bytes more: see steadyViews.
func (b *Builder) joined() []byte {
	all := make([]byte, b.size+plan.Align)
	at := int64(0)
	for _, data := range b.weights {
		copy(all[at:], data)
		at += plan.AlignUp(int64(len(data)))
	}
	return all
}

// WeightsU32 places words.
func (b *Builder) WeightsU32(words []uint32) Value { return b.Weights(wordBytes(words)) }

// WeightsF32 places floats.
func (b *Builder) WeightsF32(v []float32) Value { return b.Weights(floatBytes(v)) }

func wordBytes(words []uint32) []byte {
	data := make([]byte, 4*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint32(data[4*i:], w)
	}
	return data
}

func floatBytes(v []float32) []byte {
	data := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(x))
	}
	return data
}
