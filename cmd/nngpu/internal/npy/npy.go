// Package npy reads and writes arrays in files of NumPy's format.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/nn"
)

// magic begins every file of NumPy's format; two bytes of version follow.
// From numpy/lib/format.py, "Format Version 1.0".
const magic = "\x93NUMPY"

// maxHeader bounds the header, which version 1.0 limits to 65,535 bytes and later ones hardly at all.
const maxHeader = 1 << 16

// header is what a .npy file says about its array.
type header struct {
	descr   string // "<f4"
	fortran bool
	shape   []string
	size    int // bytes before the data
}

// The dictionary of the header: a Python literal. Structured types have a list for descr and do not match.
var (
	descrOf   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	fortranOf = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeOf   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\s]*)\)`)
)

// parse reads the header.
func parse(data []byte) (*header, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, errors.New("not a .npy file")
	}
	major, rest := data[len(magic)], data[len(magic)+2:]
	var n int
	switch major {
	case 1:
		n, rest = int(binary.LittleEndian.Uint16(rest)), rest[2:]
	case 2, 3:
		if len(rest) < 4 {
			return nil, errors.New("the file ends in its header")
		}
		n, rest = int(binary.LittleEndian.Uint32(rest)), rest[4:]
	default:
		return nil, fmt.Errorf("version %d of the .npy format is not read", major)
	}
	if n > maxHeader || n > len(rest) {
		return nil, errors.New("the file ends in its header")
	}
	head := rest[:n]
	descr, fortran, dims := descrOf.FindSubmatch(head), fortranOf.FindSubmatch(head), shapeOf.FindSubmatch(head)
	if descr == nil || fortran == nil || dims == nil {
		return nil, fmt.Errorf("the header %.200q describes no plain array", bytes.TrimSpace(head))
	}
	h := &header{descr: string(descr[1]), fortran: string(fortran[1]) == "True", size: len(data) - len(rest) + n}
	h.shape = strings.FieldsFunc(string(dims[1]), func(r rune) bool { return strings.ContainsRune(", \t\n", r) })
	return h, nil
}

// Read returns the data of an array whose shape and type are the operand's from a file of size bytes. Of a file that is
// not right it reads only the header.
func Read(file io.Reader, size int64, o *nn.Operand) ([]byte, error) {
	head := make([]byte, min(size, int64(len(magic)+6+maxHeader)))
	if _, err := io.ReadFull(file, head); err != nil {
		return nil, err
	}
	h, err := parse(head)
	if err != nil {
		return nil, err
	}
	want := typeOf(o.Type)
	if plainType(h.descr) != plainType(want) {
		return nil, fmt.Errorf("an array of type %q, the input takes %q; convert with astype", h.descr, want)
	}
	dims := make(nn.Dims, len(h.shape))
	for i, s := range h.shape {
		d, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("shape %v", h.shape)
		}
		dims[i] = uint32(d)
	}
	if !dims.Equal(o.Dims) {
		return nil, fmt.Errorf("an array of shape %v, the input has %v", []uint32(dims), []uint32(o.Dims))
	}
	if h.fortran && len(dims) > 1 {
		return nil, errors.New("the array is stored in Fortran order; convert with numpy.ascontiguousarray")
	}
	if have, want := int(size)-h.size, byteSize(o); have != want {
		return nil, fmt.Errorf("%s of data, %d expected", console.Count(have, "byte"), want)
	}
	data := make([]byte, byteSize(o))
	_, err = io.ReadFull(file, data[copy(data, head[h.size:]):])
	return data, err
}

// plainType is a type string without its byte order, where that is this machine's or the type has none.
func plainType(descr string) string {
	if len(descr) == 3 && descr[2] == '1' {
		return descr[1:] // one byte has no order
	}
	return strings.TrimLeft(descr, "<=")
}

// typeOf is the type string of NumPy's format.
func typeOf(t nn.OperandType) string {
	switch t {
	case nn.TensorFloat32:
		return "<f4"
	case nn.TensorFloat16:
		return "<f2"
	case nn.TensorInt32:
		return "<i4"
	case nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm:
		return "|i1"
	case nn.TensorBool8:
		return "|b1"
	case nn.TensorQuant16Asymm:
		return "<u2"
	case nn.TensorQuant16Symm:
		return "<i2"
	}
	return "|u1"
}

// File is a whole file of NumPy's format, version 1.0. The data begins at a multiple of 64 bytes.
func File(o *nn.Operand, data []byte) []byte {
	dims := make([]string, len(o.Dims))
	for i, d := range o.Dims {
		dims[i] = fmt.Sprintf("%d,", d)
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", typeOf(o.Type), strings.Join(dims, " "))
	const before = len(magic) + 4 // version and length
	head += strings.Repeat(" ", 63-(before+len(head))%64) + "\n"
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	return append(append(b, head...), data...)
}

// byteSize is the dense size of an operand, whose dimensions are known.
func byteSize(o *nn.Operand) int {
	n, _ := o.ByteSize()
	return int(n)
}
