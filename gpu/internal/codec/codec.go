// Package codec has the elements of which stored forms of compiled models are made: numbers as unsigned varints of the
// shortest form (encoding/binary), strings as their length and bytes, lists as their length and elements. So that equal
// contents have equal encodings, a Reader takes nothing that the functions here would have written otherwise. It knows
// neither plans nor trees.
package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// AppendSize appends n, which is not negative.
func AppendSize(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) }

// AppendCount appends n, which is not negative.
func AppendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// AppendString appends s with its length before it.
func AppendString[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(AppendCount(b, len(s)), s...)
}

// AppendFloat appends v: 8 bytes, least significant first.
func AppendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// Reader reads an encoding, which may be anything, from front to back. After the first error every read gives zero.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader of b, which it borrows.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// Fail is how an error is found in what was read. The first one counts.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.rest = nil
	}
}

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// End is the first error, or that there is more to read than was.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		r.Fail("%d bytes behind the end", len(r.rest))
	}
	return r.err
}

// Number reads a number of at most limit.
func (r *Reader) Number(limit uint64) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	switch {
	case n <= 0:
		r.Fail("a number ends early or is too long")
		return 0
	case n > 1 && r.rest[n-1] == 0:
		r.Fail("a number has more bytes than it needs")
		return 0
	case v > limit:
		r.Fail("%d is more than %d", v, limit)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Size reads what AppendSize wrote.
func (r *Reader) Size() int64 { return int64(r.Number(math.MaxInt64)) }

// Index reads a number below n.
func (r *Reader) Index(n int) int {
	if n <= 0 {
		r.Fail("an index into nothing")
		return 0
	}
	return int(r.Number(uint64(n - 1)))
}

// Count reads the length of a list whose elements take at least each bytes. There are bytes left for all of them, so that
// room for the list can be allocated.
func (r *Reader) Count(each int) int {
	n := r.Number(math.MaxUint64)
	if n > uint64(len(r.rest)/each) {
		r.Fail("a list of %d in %d bytes", n, len(r.rest))
		return 0
	}
	return int(n)
}

// Bytes reads a string without copying it.
func (r *Reader) Bytes() []byte {
	n := r.Count(1)
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Text reads a string.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Float reads what AppendFloat wrote.
func (r *Reader) Float() float64 {
	if r.err == nil && len(r.rest) < 8 {
		r.Fail("a number ends early")
	}
	if r.err != nil {
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return v
}
