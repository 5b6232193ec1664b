// Package codec has the elements of the stored forms of compiled models: numbers as unsigned varints of the shortest
// form (encoding/binary), strings as their length and bytes, lists as their length and elements. A type that is stored
// names its parts to a Coder once, in order, which says both how it is written and how it is read. Equal contents have
// equal encodings: a Coder refuses any other encoding of what it reads. It knows neither plans nor trees.
package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Coder writes an encoding, or reads one, which may be anything, from front to back. Its functions take pointers: they
// write what is there, or store there what they read. After the first error every read gives zero.
type Coder struct {
	reading bool
	b       []byte // what was written, or is left to read
	err     error
}

// Writer returns a Coder that writes behind b.
func Writer(b []byte) Coder { return Coder{b: b} }

// Reader returns a Coder that reads b, which it borrows. b begins with magic, whose last byte is a version. what names
// the content in errors.
func Reader(b []byte, magic, what string) (Coder, error) {
	last := len(magic) - 1
	if len(b) <= last || string(b[:last]) != magic[:last] {
		return Coder{}, fmt.Errorf("not an encoded %s", what)
	}
	if b[last] != magic[last] {
		return Coder{}, fmt.Errorf("encoded %s of version %d, this is %d", what, b[last], magic[last])
	}
	return Coder{reading: true, b: b[last+1:]}, nil
}

// Reading reports whether c reads.
func (c *Coder) Reading() bool { return c.reading }

// Written is all that c wrote.
func (c *Coder) Written() []byte { return c.b }

// Fail reports an error in what was read. The first one counts.
func (c *Coder) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.b = nil
	}
}

// Err is the first error.
func (c *Coder) Err() error { return c.err }

// End is the first error, or one that says that not all was read.
func (c *Coder) End() error {
	if len(c.b) > 0 {
		c.Fail("%d bytes behind the end", len(c.b))
	}
	return c.err
}

// Number is a number from 0 to limit.
func Number[T ~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64](c *Coder, v *T, limit uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, uint64(*v))
		return
	}
	*v = T(c.number(limit))
}

// number reads a number of at most limit.
func (c *Coder) number(limit uint64) uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.b)
	switch {
	case n <= 0:
		c.Fail("a number ends early or is too long")
		return 0
	case n > 1 && c.b[n-1] == 0:
		c.Fail("a number has more bytes than it needs")
		return 0
	case v > limit:
		c.Fail("%d is more than %d", v, limit)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// Size is a number that is not negative.
func (c *Coder) Size(v *int64) { Number(c, v, math.MaxInt64) }

// Index is a number below n.
func (c *Coder) Index(v *int, n int) {
	if c.reading && n <= 0 {
		c.Fail("an index into nothing")
		return
	}
	Number(c, v, uint64(n-1))
}

// count is the length of a list, or n if c writes. For a length that is read, at least each bytes an element are left,
// so that room for the list can be allocated.
func (c *Coder) count(n, each int) int {
	Number(c, &n, math.MaxInt)
	if c.reading && n > len(c.b)/each {
		c.Fail("a list of %d in %d bytes", n, len(c.b))
		return 0
	}
	return n
}

// List is a list whose elements take at least each bytes, element by element. Where c writes, f is given copies. An
// empty list is read as nil.
func List[T any](c *Coder, list *[]T, each int, f func(*T)) {
	n := c.count(len(*list), each)
	if !c.reading {
		for _, x := range *list {
			f(&x)
		}
		return
	}
	if *list = nil; n > 0 {
		*list = make([]T, n)
	}
	for i := range *list {
		if f(&(*list)[i]); c.err != nil {
			return
		}
	}
}

// Text is a string, or bytes, with its length before it. Bytes that are read are not copied.
func Text[T ~string | ~[]byte](c *Coder, v *T) {
	n := c.count(len(*v), 1)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	*v = T(c.b[:n:n])
	c.b = c.b[n:]
}

// Float takes 8 bytes, least significant first.
func (c *Coder) Float(v *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
		return
	}
	*v = 0
	if len(c.b) < 8 {
		c.Fail("a number ends early")
		return
	}
	*v = math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
}
