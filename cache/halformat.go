package cache

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A HAL model file is a head and its share of the model part; a data file is its share of the data part
// and nothing else, so that it can be read where it is needed. The head is, little-endian:
//
//	offset size
//	 0      8   halMagic
//	 8      4   halVersion
//	12      2   index of this file, from 0
//	14      2   number of model files
//	16      4   number of data files
//	20      4   0
//	24      8   length of the share that follows the head, bytes
//	32      8n  length of each data file, bytes
const (
	halMagic   = "NNGPUmdl"
	halVersion = 1
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

// encodeModelFiles gives the whole content of each of n model files.
func encodeModelFiles(model []byte, n int, data []int64) [][]byte {
	files := make([][]byte, n)
	for i, size := range shares(int64(len(model)), n, 1) {
		b := make([]byte, 0, halHead+8*len(data)+int(size))
		b = append(b, halMagic...)
		b = binary.LittleEndian.AppendUint32(b, halVersion)
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(size))
		for _, d := range data {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		files[i] = append(b, model[:size]...)
		model = model[size:]
	}
	return files
}

// decodeModelFile is the inverse for one file: its share of the model, which is part of b, and the lengths
// of the data files. It takes any bytes; what it accepts encodes to the same bytes again.
func decodeModelFile(b []byte, index, count, dataCount int) (share []byte, data []int64, err error) {
	le := binary.LittleEndian
	if len(b) < halHead || string(b[:8]) != halMagic || le.Uint32(b[8:]) != halVersion {
		return nil, nil, fmt.Errorf("model file %d: not of this version: %w", index, ErrRejected)
	}
	if int(le.Uint16(b[12:])) != index || int(le.Uint16(b[14:])) != count || uint64(le.Uint32(b[16:])) != uint64(dataCount) || le.Uint32(b[20:]) != 0 {
		return nil, nil, fmt.Errorf("model file %d: made for other files: %w", index, ErrRejected)
	}
	rest := b[halHead:]
	if len(rest)/8 < dataCount || uint64(len(rest)-8*dataCount) != le.Uint64(b[24:]) {
		return nil, nil, fmt.Errorf("model file %d: length: %w", index, ErrRejected)
	}
	data = make([]int64, dataCount)
	var total uint64
	for i := range data {
		n := le.Uint64(rest[8*i:])
		if n > math.MaxInt64-total {
			return nil, nil, fmt.Errorf("model file %d: length of data: %w", index, ErrRejected)
		}
		total += n
		data[i] = int64(n)
	}
	return rest[8*dataCount:], data, nil
}
