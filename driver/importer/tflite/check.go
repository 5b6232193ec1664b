package tflite

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/nngpu/nngpu/driver/importer"
)

const (
	// identifier is in bytes 4 to 7 of a .tflite file.
	identifier = "TFL3"
	// headBytes hold the offset of the root table and the identifier.
	headBytes = importer.HeadBytes
	// maxBeside is what a file may hold beside its constants: the graph, metadata, an archive of label files.
	maxBeside = 256 << 20
	// maxChecked bounds the buffers that Check looks at; models have some thousands.
	maxChecked = 1 << 20
)

// Check judges a file of size bytes before it is read whole: by its size, by the identifier, and, where it is large, by
// whether its constants account for the size. It reads few bytes, whatever a sparse file promises. Import accepts
// nothing that Check refuses for the first two reasons.
//
// The error is an *nn.Error with status INVALID_ARGUMENT, also where r fails.
func Check(r io.ReaderAt, size int64) error {
	if err := judge(r, size); err != nil {
		return invalid(err)
	}
	return nil
}

func judge(r io.ReaderAt, size int64) error {
	if err := checkSize(size); err != nil {
		return err
	}
	c := &checker{r: r, size: size}
	head := c.bytes(0, headBytes)
	if err := cmp.Or(c.err, checkIdentifier(head, identifier)); err != nil {
		return err
	}
	if size <= maxBeside {
		return nil
	}
	held := c.constants(size - maxBeside)
	if c.err == nil && size-held > maxBeside {
		return fmt.Errorf("%d bytes, of which constants are only %d", size, held)
	}
	return c.err
}

func checkSize(size int64) error {
	switch {
	case size < headBytes:
		return importer.Damaged("the file has %d of the %d bytes that a model begins with", size, headBytes)
	case size > importer.MaxFileBytes:
		return fmt.Errorf("%d bytes; constants are addressed with 32 bits", size)
	}
	return nil
}

// checkIdentifier takes the head of a flatbuffer.
func checkIdentifier(head []byte, identifier string) error {
	if id := string(head[4:headBytes]); id != identifier {
		return importer.Damaged("file identifier is %q, not %q", id, identifier)
	}
	return nil
}

// checker reads single fields of a flatbuffer in a file. The first fault sticks in err, and what is read afterwards is 0.
type checker struct {
	r    io.ReaderAt
	size int64
	err  error
}

// bytes are the n bytes at pos, zeros after a fault.
func (c *checker) bytes(pos, n int64) []byte {
	b := make([]byte, n)
	if c.err == nil && (pos < 0 || pos > c.size-n) {
		c.err = importer.Damaged("%d bytes at %d leave the file of %d bytes", n, pos, c.size)
	}
	if c.err == nil {
		if _, err := c.r.ReadAt(b, pos); err != nil {
			c.err = err
			clear(b)
		}
	}
	return b
}

func (c *checker) uint16(pos int64) int64 { return int64(binary.LittleEndian.Uint16(c.bytes(pos, 2))) }

func (c *checker) uint32(pos int64) int64 { return int64(binary.LittleEndian.Uint32(c.bytes(pos, 4))) }

// field is the position of a field of the table at pos; 0 where it has none.
func (c *checker) field(pos int64, slot int64) int64 {
	vtable := pos - int64(int32(c.uint32(pos)))
	if length := c.uint16(vtable); c.err != nil || 4+2*slot+2 > length {
		return 0
	}
	at := c.uint16(vtable + 4 + 2*slot)
	if c.err != nil || at == 0 {
		return 0
	}
	return pos + at
}

// constants sums up the constants of the file's buffers, until they are enough.
func (c *checker) constants(enough int64) int64 {
	field := c.field(c.uint32(0), modelBuffers)
	if field == 0 {
		return 0
	}
	vector := field + c.uint32(field)
	var sum int64
	for i := range min(c.uint32(vector), maxChecked) {
		if c.err != nil || sum >= enough {
			break
		}
		entry := vector + 4 + 4*i
		table := entry + c.uint32(entry)
		if data := c.field(table, bufferData); data != 0 {
			at := data + c.uint32(data)
			n := c.uint32(at)
			c.bytes(at+4+n, 0) // within the file
			sum += n
		} else if at := c.field(table, bufferSize); at != 0 { // behind the flatbuffer; see readBuffers
			n := int64(min(binary.LittleEndian.Uint64(c.bytes(at, 8)), uint64(c.size)))
			sum += n
		}
	}
	return sum
}
