package tflite

import (
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nngpu/nngpu/driver/importer"
)

// buffer reads a flatbuffer that nobody has verified. The flatbuffers library trusts every offset, so here
// each is checked before it is followed. The first fault sticks in err; afterwards reads give zero values and
// empty vectors, so that callers check once per stage instead of once per field.
type buffer struct {
	data []byte
	// work is what may still be decoded, in elements. Vectors may share storage: without a bound a small
	// file could ask for more work and memory than its size squared.
	work int
	err  error
}

func newBuffer(data []byte) *buffer {
	return &buffer{data: data, work: 16*len(data) + 1<<16}
}

func (b *buffer) fail(format string, args ...any) {
	if b.err == nil {
		b.err = importer.Damaged(format, args...)
	}
}

// charge takes n elements off the work that may still be done.
func (b *buffer) charge(n int) bool {
	if b.err != nil {
		return false
	}
	if n > b.work {
		b.fail("more content than %d bytes can hold", len(b.data))
		return false
	}
	b.work -= n
	return true
}

// span reports whether n bytes lie at pos, and fails when they do not.
func (b *buffer) span(pos, n int) bool {
	if b.err != nil {
		return false
	}
	if pos < 0 || n < 0 || pos > len(b.data) || n > len(b.data)-pos {
		b.fail("the %d bytes at %d leave the file of %d bytes", n, pos, len(b.data))
		return false
	}
	return true
}

// follow reads the forward offset at pos and returns what it points at, 0 after a fault.
func (b *buffer) follow(pos int) int {
	if !b.span(pos, 4) {
		return 0
	}
	off := flatbuffers.GetUint32(b.data[pos:])
	if off == 0 || int64(off) >= int64(len(b.data)-pos) {
		b.fail("offset %d at %d leaves the file of %d bytes", off, pos, len(b.data))
		return 0
	}
	return pos + int(off)
}

// root returns the root table of a buffer that carries the given file identifier.
func (b *buffer) root(identifier string) table {
	if !b.span(0, headBytes) {
		return table{}
	}
	if b.err = checkIdentifier(b.data, identifier); b.err != nil {
		return table{}
	}
	return b.table(b.follow(0))
}

// table is a table whose vtable and extent lie inside the buffer. The zero table is an absent one: every
// field has its default.
type table struct {
	buf  *buffer
	pos  int
	size int // bytes of the table itself
	vt   int // position of the vtable
	vlen int // bytes of the vtable
}

func (b *buffer) table(pos int) table {
	if pos == 0 || !b.charge(1) || !b.span(pos, 4) {
		return table{}
	}
	vt := int64(pos) - int64(flatbuffers.GetInt32(b.data[pos:]))
	if vt < 0 || vt > int64(len(b.data)-4) {
		b.fail("table at %d has its vtable at %d", pos, vt)
		return table{}
	}
	t := table{buf: b, pos: pos, vt: int(vt)}
	t.vlen = int(flatbuffers.GetUint16(b.data[t.vt:]))
	t.size = int(flatbuffers.GetUint16(b.data[t.vt+2:]))
	if t.vlen < 4 || t.vlen%2 != 0 || t.size < 4 {
		b.fail("vtable at %d has lengths %d and %d", t.vt, t.vlen, t.size)
		return table{}
	}
	if !b.span(t.vt, t.vlen) || !b.span(pos, t.size) {
		return table{}
	}
	return t
}

// present reports whether the table is there.
func (t table) present() bool { return t.buf != nil }

// field returns the position of the n bytes of a field, 0 when it has its default.
func (t table) field(slot, n int) int {
	if t.buf == nil || t.buf.err != nil || 4+2*slot+2 > t.vlen {
		return 0
	}
	off := int(flatbuffers.GetUint16(t.buf.data[t.vt+4+2*slot:]))
	if off == 0 {
		return 0
	}
	if off < 4 || off+n > t.size {
		t.buf.fail("field %d of the table at %d lies at %d of %d bytes", slot, t.pos, off, t.size)
		return 0
	}
	return t.pos + off
}

// beyond reports whether the table has a field in a slot from n on: one that a newer schema added.
func (t table) beyond(n int) bool {
	if t.buf == nil {
		return false
	}
	for slot := n; 4+2*slot+2 <= t.vlen; slot++ {
		if flatbuffers.GetUint16(t.buf.data[t.vt+4+2*slot:]) != 0 {
			return true
		}
	}
	return false
}

func (t table) int8(slot int) int8 {
	if p := t.field(slot, 1); p != 0 {
		return flatbuffers.GetInt8(t.buf.data[p:])
	}
	return 0
}

func (t table) bool(slot int) bool { return t.int8(slot) != 0 }

func (t table) int32(slot int, def int32) int32 {
	if p := t.field(slot, 4); p != 0 {
		return flatbuffers.GetInt32(t.buf.data[p:])
	}
	return def
}

func (t table) uint32(slot int) uint32 { return uint32(t.int32(slot, 0)) }

func (t table) uint64(slot int) uint64 {
	if p := t.field(slot, 8); p != 0 {
		return flatbuffers.GetUint64(t.buf.data[p:])
	}
	return 0
}

func (t table) float32(slot int) float32 { return math.Float32frombits(t.uint32(slot)) }

// table returns the table that a field refers to.
func (t table) table(slot int) table {
	p := t.field(slot, 4)
	if p == 0 {
		return table{}
	}
	return t.buf.table(t.buf.follow(p))
}

// vector is a vector whose elements lie inside the buffer.
type vector struct {
	buf  *buffer
	pos  int // of element 0
	n    int
	size int // bytes per element
}

// vector returns the vector of elements of size bytes that a field refers to; an absent one is empty.
func (t table) vector(slot, size int) vector {
	p := t.field(slot, 4)
	if p == 0 {
		return vector{}
	}
	b := t.buf
	p = b.follow(p)
	if p == 0 || !b.span(p, 4) {
		return vector{}
	}
	n := int64(flatbuffers.GetUint32(b.data[p:]))
	if n*int64(size) > int64(len(b.data)-p-4) {
		b.fail("vector of %d elements at %d leaves the file of %d bytes", n, p, len(b.data))
		return vector{}
	}
	return vector{buf: b, pos: p + 4, n: int(n), size: size}
}

// has reports whether a field is set, even to an empty vector.
func (t table) has(slot int) bool { return t.field(slot, 1) != 0 }

func (v vector) bytes() []byte {
	if v.buf == nil {
		return nil
	}
	end := v.pos + v.n*v.size
	return v.buf.data[v.pos:end:end]
}

// table returns the table that element i refers to. Precondition: i < v.n.
func (v vector) table(i int) table {
	if v.buf.err != nil {
		return table{}
	}
	return v.buf.table(v.buf.follow(v.pos + 4*i))
}

func (v vector) int32(i int) int32 { return flatbuffers.GetInt32(v.buf.data[v.pos+4*i:]) }

func (v vector) float32(i int) float32 { return flatbuffers.GetFloat32(v.buf.data[v.pos+4*i:]) }

func (v vector) int64(i int) int64 { return flatbuffers.GetInt64(v.buf.data[v.pos+8*i:]) }

// int32s decodes a vector of 32-bit integers; nil when it is absent or empty.
func (t table) int32s(slot int) []int32 { return elements(t.vector(slot, 4), vector.int32) }

// float32s decodes a vector of floats; nil when it is absent or empty.
func (t table) float32s(slot int) []float32 { return elements(t.vector(slot, 4), vector.float32) }

func elements[T any](v vector, at func(v vector, i int) T) []T {
	if v.n == 0 || !v.buf.charge(v.n) {
		return nil
	}
	x := make([]T, v.n)
	for i := range x {
		x[i] = at(v, i)
	}
	return x
}

// str decodes a string, which is followed by a zero byte.
func (t table) str(slot int) string {
	v := t.vector(slot, 1)
	if v.buf == nil || !v.buf.charge(v.n) || !v.buf.span(v.pos, v.n+1) {
		return ""
	}
	return string(v.bytes())
}
