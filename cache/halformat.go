package cache

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A HAL model file is a head and its share of the hashes of the data part and the model part, which follows them; a data
// file is its share of the data part and nothing else, so that it can be read where it is needed. The head is,
// little-endian:
//
//	offset size
//	 0      8   halMagic
//	 8      4   halVersion
//	12      2   index of this file, from 0
//	14      2   number of model files
//	16      4   number of data files
//	20      4   bytes per chunk of data, a power of two
//	24      8   length of the share that follows the head, bytes
//	32      8n  length of each data file, bytes
const (
	halMagic   = "NNGPUmdl"
	halVersion = 2
	halHead    = 32

	defaultMaxModelBytes = 256 << 20
	// shareAlign keeps the cuts between data files at multiples of a page.
	shareAlign = 4096
)

// shares cuts total bytes into n lengths, all but the last ones equal and multiples of align.
func shares(total int64, n int, align int64) []int64 {
	each := (total + int64(n) - 1) / int64(n)
	each = (each + align - 1) / align * align
	out := make([]int64, n)
	for i := range out {
		out[i] = min(each, total)
		total -= out[i]
	}
	return out
}

// halData is what a model file says of the data.
type halData struct {
	lengths []int64 // of each data file
	chunk   int64   // bytes
}

func (d *halData) bytes() (sum int64) {
	for _, n := range d.lengths {
		sum += n
	}
	return sum
}

// encodeModelFiles gives the whole content of each of n model files. part is the hashes and the model.
func encodeModelFiles(part []byte, n int, data halData) [][]byte {
	files := make([][]byte, n)
	for i, size := range shares(int64(len(part)), n, 1) {
		b := make([]byte, 0, halHead+8*len(data.lengths)+int(size))
		b = append(b, halMagic...)
		b = binary.LittleEndian.AppendUint32(b, halVersion)
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data.lengths)))
		b = binary.LittleEndian.AppendUint32(b, uint32(data.chunk))
		b = binary.LittleEndian.AppendUint64(b, uint64(size))
		for _, d := range data.lengths {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		files[i] = append(b, part[:size]...)
		part = part[size:]
	}
	return files
}

// decodeModelFile is the inverse for one file: its share, which is part of b, and what it says of the data. It takes any
// bytes; what it accepts encodes to the same bytes again.
func decodeModelFile(b []byte, index, count, dataCount int) (share []byte, data halData, err error) {
	bad := func(what string) ([]byte, halData, error) {
		return nil, halData{}, fmt.Errorf("model file %d: %s: %w", index, what, ErrRejected)
	}
	le := binary.LittleEndian
	if len(b) < halHead || string(b[:8]) != halMagic || le.Uint32(b[8:]) != halVersion {
		return bad("not of this version")
	}
	if int(le.Uint16(b[12:])) != index || int(le.Uint16(b[14:])) != count || uint64(le.Uint32(b[16:])) != uint64(dataCount) {
		return bad("made for other files")
	}
	rest := b[halHead:]
	if len(rest)/8 < dataCount || uint64(len(rest)-8*dataCount) != le.Uint64(b[24:]) {
		return bad("length")
	}
	data = halData{lengths: make([]int64, dataCount), chunk: int64(le.Uint32(b[20:]))}
	var total uint64
	for i := range data.lengths {
		n := le.Uint64(rest[8*i:])
		if n > math.MaxInt64-total {
			return bad("length of data")
		}
		total += n
		data.lengths[i] = int64(n)
	}
	if !validChunk(data.chunk, int64(total)) {
		return bad("chunks of data")
	}
	return rest[8*dataCount:], data, nil
}
