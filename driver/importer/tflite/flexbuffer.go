package tflite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
)

// Limits of the options of a custom operator, which are some ten numbers.
const (
	maxFlexEntries = 64
	maxFlexKey     = 64 // bytes
)

// Types of values of a flexbuffer, from flatbuffers/flexbuffers.h.
const (
	flexInt, flexUint, flexFloat                        = 1, 2, 3
	flexIndirectInt, flexIndirectUint, flexIndirectReal = 6, 7, 8
	flexMap, flexBool                                   = 9, 26
)

// flexNumbers reads the numbers of a flexbuffer that is a map: the options of a custom operator. Values of other types,
// and null, are left out.
//
// A flexbuffer is read from its end: the last byte is the root's own width, the one before it the root's type, as two
// bits for the width of what it refers to and six for its kind. Offsets lead to the front, from where they stand.
func flexNumbers(data []byte) (map[string]float64, error) {
	if len(data) < 3 {
		return nil, importer.Damaged("options of %d bytes", len(data))
	}
	f := &flex{data: data}
	width := int(data[len(data)-1])
	kind, at := data[len(data)-2], len(data)-2-width
	if width != 1 && width != 2 && width != 4 && width != 8 || kind>>2 != flexMap {
		return nil, fmt.Errorf("options of type %d and width %d instead of a map", kind>>2, width)
	}
	m := f.entries(f.follow(at, width), 1<<(kind&3))
	if f.err != nil {
		return nil, f.err
	}
	return m, nil
}

// flex reads a flexbuffer that nobody has verified. The first fault sticks.
type flex struct {
	data []byte
	err  error
}

func (f *flex) fail(format string, args ...any) {
	if f.err == nil {
		f.err = importer.Damaged(format, args...)
	}
}

// uint reads an integer of width bytes, 0 after a fault.
func (f *flex) uint(at, width int) uint64 {
	if f.err != nil || at < 0 || at > len(f.data)-width {
		f.fail("%d bytes at %d of options of %d", width, at, len(f.data))
		return 0
	}
	var b [8]byte
	copy(b[:], f.data[at:at+width])
	return binary.LittleEndian.Uint64(b[:])
}

// follow reads the offset at a place and returns where it leads.
func (f *flex) follow(at, width int) int {
	off := f.uint(at, width)
	if off > uint64(max(at, 0)) {
		f.fail("offset %d at %d of options of %d bytes", off, at, len(f.data))
		return 0
	}
	return at - int(off)
}

// entries reads the map at a place: before it are the place of its keys, their width and the number of values, behind
// the values their types.
func (f *flex) entries(at, width int) map[string]float64 {
	n, keyWidth := f.uint(at-width, width), f.uint(at-2*width, width)
	if n > maxFlexEntries || keyWidth != 1 && keyWidth != 2 && keyWidth != 4 && keyWidth != 8 {
		f.fail("options of %d numbers, keys of width %d", n, keyWidth)
		return nil
	}
	keys := f.follow(at-3*width, width)
	m := map[string]float64{}
	for i := range int(n) {
		kind := byte(f.uint(at+int(n)*width+i, 1))
		name := f.key(f.follow(keys+i*int(keyWidth), int(keyWidth)))
		v, ok := f.number(at+i*width, width, kind)
		if f.err != nil {
			return nil
		}
		if _, twice := m[name]; twice {
			f.fail("option %q is there twice", name)
		}
		if ok {
			m[name] = v
		}
	}
	return m
}

// key reads a name, which a zero byte ends.
func (f *flex) key(at int) string {
	if f.err != nil {
		return ""
	}
	name := f.data[at:min(at+maxFlexKey, len(f.data))]
	end := bytes.IndexByte(name, 0)
	if end < 0 {
		f.fail("the name of an option at %d has no end", at)
		return ""
	}
	return string(name[:end])
}

// number reads a value of a type with the width of what it refers to; ok is false where it is none.
func (f *flex) number(at, width int, kind byte) (v float64, ok bool) {
	switch t := kind >> 2; t {
	case flexIndirectInt, flexIndirectUint, flexIndirectReal:
		at, width, kind = f.follow(at, width), 1<<(kind&3), (t-flexIndirectInt+flexInt)<<2
	}
	switch kind >> 2 {
	case flexInt:
		shift := 64 - 8*width
		return float64(int64(f.uint(at, width)<<shift) >> shift), true
	case flexUint:
		return float64(f.uint(at, width)), true
	case flexBool:
		if f.uint(at, width) != 0 {
			return 1, true
		}
		return 0, true
	case flexFloat:
		switch bits := f.uint(at, width); width {
		case 4:
			return float64(math.Float32frombits(uint32(bits))), true
		case 8:
			return math.Float64frombits(bits), true
		}
		f.fail("a number of %d bytes", width)
	}
	return 0, false
}
