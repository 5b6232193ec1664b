package nn

import (
	"encoding/binary"
	"fmt"
)

// Element is a Go type with the size and encoding of an operand's elements.
type Element interface {
	float32 | Half | int32 | uint32 | int16 | uint16 | int8 | uint8 | bool
}

// Bytes is the dense, little-endian form of v, as constants, inputs and outputs have it.
func Bytes[E Element](v []E) []byte {
	b, err := binary.Append(make([]byte, 0, binary.Size(v)), binary.LittleEndian, v)
	if err != nil {
		panic(err) // every Element has a fixed size
	}
	return b
}

// Values reads what Bytes wrote; b needs no alignment. It fails for a length that is no whole number of elements.
func Values[E Element](b []byte) ([]E, error) {
	var e E
	n := binary.Size(e)
	if len(b)%n != 0 {
		return nil, fmt.Errorf("%d bytes are no whole number of %T", len(b), e)
	}
	v := make([]E, len(b)/n)
	_, err := binary.Decode(b, binary.LittleEndian, v)
	return v, err
}
