// Package pack turns a model's constants into what kernels read: tensors with their rows padded, filters in tiles,
// fixed-point multipliers. Weights collects that for a plan, each content once and bounded, and makes it when it is
// read. It knows neither kernels nor the steps that bind it.
package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"io"
	"math"
	"reflect"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Packed weights are larger than the constants that they are made from: bytes become floats, few channels whole tiles,
// and each operation that shares a constant packs it in its own way. So a small file could ask for any amount of
// memory. Fits bounds it by the device, and these by the model: the most that one byte can become, and room for weights
// that are made without any constant.
const (
	packedBytes = 32
	packedRoom  = 64 << 20
)

// roomFor is the most that weights of a model with constants of n bytes may take.
func roomFor(n int64) int64 { return packedRoom + packedBytes*n }

// ConstantBytes is the size of the memory that the constants of g lie in; shared memory counts once.
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

// Fits reports why n bytes of packed weights are too many for a device or its caller, nil when they
// are not.
type Fits func(n int64) error

// Weights are the packed constants of a plan, one behind the other, and plan.Align bytes more, which a texel view may
// bind. The first failure sticks; after it nothing is placed. Not safe for concurrent use.
type Weights struct {
	list   []piece             // in the order of their offsets
	size   int64               // of all
	placed map[uint64][]placed // by the hash of their bytes
	room   int64               // bytes by which they may still grow
	ctx    context.Context     // see Bound; nil: never ends
	fits   Fits                // nil: everything does
	err    error

	made    map[making]int64      // offsets of what Make has made
	origins map[constant]constant // see origin
	samples map[sample][]byte     // the constant with that sample, nil where there are several
	firsts  map[uint64][][]byte   // of those, the first of each content, by its hash
}

// piece is one of the weights, padded to plan.Align.
type piece struct {
	offset, size int64
	data         []byte // nil where do makes it, except while it is being read in parts
	do           Fill   // nil where data is there from the start
}

// Fill writes weights to dst, all of it. dst may be memory of a device, which is slow to read, and to write in small pieces: it
// is written front to back or in long runs.
type Fill func(dst []byte)

// placed is where weights are, and their index in Weights.list.
type placed struct {
	offset int64
	index  int
}

// NewWeights returns empty weights, whose size is bounded for a model with constants of n bytes.
func NewWeights(n int64) *Weights {
	return &Weights{
		placed: map[uint64][]placed{}, made: map[making]int64{}, origins: map[constant]constant{}, samples: map[sample][]byte{}, firsts: map[uint64][][]byte{},
		room: roomFor(n),
	}
}

// Bound lets ctx stop packing between two constants, and fits as soon as the weights are too large; with fits nil, only
// n bounds them, the bytes of the model's constants before the passes changed them.
func (w *Weights) Bound(ctx context.Context, n int64, fits Fits) {
	w.ctx, w.room, w.fits = ctx, roomFor(n), fits
}

// Err is the first failure.
//
// Errors: RESOURCE_EXHAUSTED_PERSISTENT where the weights became too large; those of Fits and of the context.
func (w *Weights) Err() error { return w.err }

// Size is the number of bytes.
func (w *Weights) Size() int64 { return w.size + plan.Align }

// Bytes returns all weights.
func (w *Weights) Bytes() ([]byte, error) {
	all := make([]byte, w.Size())
	_, err := w.ReadAt(all, 0)
	return all, err
}

// ReadAt makes the weights that dst has room for, on all processors at once; reading them again makes them again.
func (w *Weights) ReadAt(dst []byte, at int64) (n int, err error) {
	end := min(at+int64(len(dst)), w.Size())
	if n = int(max(end-at, 0)); n < len(dst) {
		err = io.EOF
	}
	first := sort.Search(len(w.list), func(i int) bool { return w.list[i].end() > at })
	last := sort.Search(len(w.list), func(i int) bool { return w.list[i].offset >= end })
	var next atomic.Int64
	next.Store(int64(first))
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), last-first) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(last); i = next.Add(1) - 1 {
				w.list[i].read(dst[:n], at)
			}
		})
	}
	clear(dst[min(max(w.size-at, 0), int64(n)):n])
	group.Wait()
	return n, err
}

// end is where the next piece begins.
func (p *piece) end() int64 { return p.offset + plan.AlignUp(p.size) }

// read writes the part of p that belongs in dst, which begins at offset at.
func (p *piece) read(dst []byte, at int64) {
	from, to := max(p.offset, at), min(p.end(), at+int64(len(dst)))
	dst = dst[from-at : to-at]
	if p.data == nil && int64(len(dst)) == p.end()-p.offset {
		p.do(dst[:p.size])
		clear(dst[p.size:])
		return
	}
	if p.data == nil {
		p.data = make([]byte, p.size)
		p.do(p.data)
	}
	done := copy(dst, p.data[min(from-p.offset, p.size):])
	clear(dst[done:])
	if p.do != nil && to == p.end() {
		p.data = nil
	}
}

// refused reports that n more bytes of weights must not be packed; err says why.
func (w *Weights) refused(n int64) bool {
	if w.err == nil && w.ctx != nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil && w.fits != nil && n > 0 {
		w.err = w.fits(n)
	}
	return w.err != nil
}

// Recipe says how a constant is packed: the name of a function and its other arguments.
type Recipe struct {
	How   string
	Shape [6]int
}

// making names weights that are made from a constant alone: equal ones are made once.
type making struct {
	of constant
	by Recipe
}

// constant is the place of a constant.
type constant struct {
	at *byte // nil for no bytes
	n  int
}

// sample tells most constants apart by little of what they hold.
type sample struct {
	bytes int
	hash  uint64 // of their first and last bytes
}

func sampleOf(c []byte) sample {
	const n = 256
	var h maphash.Hash
	h.SetSeed(hashSeed)
	_, _ = h.Write(c[:min(n, len(c))]) // never fails
	_, _ = h.Write(c[max(len(c)-n, 0):])
	return sample{len(c), h.Sum64()}
}

// origin is the place of the first constant seen that has the bytes of c. Each place is hashed once, and only if another
// constant has the same sample.
func (w *Weights) origin(c []byte) constant {
	if len(c) == 0 {
		return constant{}
	}
	at := constant{&c[0], len(c)}
	if first, ok := w.origins[at]; ok {
		return first
	}
	first, like := at, sampleOf(c)
	if other, ok := w.samples[like]; !ok {
		w.samples[like] = c
	} else {
		if other != nil {
			w.first(other)
			w.samples[like] = nil
		}
		first = w.first(c)
	}
	w.origins[at] = first
	return first
}

// first is the place of the first of those it was called for that has the bytes of c.
func (w *Weights) first(c []byte) constant {
	hash := maphash.Bytes(hashSeed, c)
	for _, other := range w.firsts[hash] {
		if bytes.Equal(other, c) {
			return constant{&other[0], len(other)}
		}
	}
	w.firsts[hash] = append(w.firsts[hash], c)
	return constant{&c[0], len(c)}
}

// soon is the size up to which weights are made at once, so that equal ones share a place, whatever they are made from.
const soon = 4 << 10

// Make reserves a place for n bytes that do fills from constant c by recipe r, once, and returns their offset. where
// names the caller.
func (w *Weights) Make(where string, c []byte, r Recipe, n int64, do Fill) int64 {
	if w.refused(0) {
		return 0
	}
	m := making{w.origin(c), r}
	offset, ok := w.made[m]
	switch {
	case ok:
		return offset
	case n <= soon:
		data := make([]byte, n)
		do(data)
		offset = w.Place(where, data)
	default:
		offset = w.reserve(where, piece{size: n, do: do})
	}
	w.made[m] = offset
	return offset
}

// Place retains data and returns its offset; equal bytes share a place. Kernels may read up to the next multiple of
// plan.Align behind it. where names the caller.
func (w *Weights) Place(where string, data []byte) int64 {
	if w.refused(0) {
		return 0
	}
	hash := maphash.Bytes(hashSeed, data)
	for _, p := range w.placed[hash] {
		if bytes.Equal(w.list[p.index].data, data) {
			return p.offset
		}
	}
	index := len(w.list)
	offset := w.reserve(where, piece{size: int64(len(data)), data: data})
	if len(w.list) > index {
		w.placed[hash] = append(w.placed[hash], placed{offset, index})
	}
	return offset
}

// reserve appends p unless that is refused, and returns its offset.
func (w *Weights) reserve(where string, p piece) int64 {
	p.offset = w.size
	padded := plan.AlignUp(p.size)
	if w.room -= padded; w.room < 0 {
		w.err = nn.Errorf(nn.StatusResourceExhaustedPersistent, where, "packed weights are more than %d times the model's constants", packedBytes)
	}
	if !w.refused(w.size + padded) {
		w.list = append(w.list, p)
		w.size += padded
	}
	return p.offset
}

// WordBytes is words as kernels read them.
func WordBytes(words []uint32) []byte {
	data := make([]byte, 4*len(words))
	putWords(data, words)
	return data
}

// FloatBytes is floats as kernels read them.
func FloatBytes(v []float32) []byte {
	data := make([]byte, 4*len(v))
	putFloats(data, v)
	return data
}

// putWords writes words to dst as kernels read them, and returns what lies behind.
func putWords(dst []byte, words []uint32) []byte {
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], w)
	}
	return dst[4*len(words):]
}

// putFloats is putWords for floats.
func putFloats(dst []byte, v []float32) []byte {
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
	return dst[4*len(v):]
}

// putHalves is putWords for the bits of halves.
func putHalves(dst []byte, v []uint16) []byte {
	for i, x := range v {
		binary.LittleEndian.PutUint16(dst[2*i:], x)
	}
	return dst[2*len(v):]
}
