package tflite

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// sparse is a file that holds data at its beginning and zeros behind, and counts what is read of it.
type sparse struct {
	data []byte
	size int64
	read int64
}

func (s *sparse) ReadAt(b []byte, at int64) (int, error) {
	s.read += int64(len(b))
	if at+int64(len(b)) > s.size {
		return 0, errors.New("beyond the end")
	}
	clear(b)
	if at < int64(len(s.data)) {
		copy(b, s.data[at:])
	}
	return len(b), nil
}

// small is a network with one constant of n bytes; large says that it has that many instead.
func small(t *testing.T, n int) []byte {
	t.Helper()
	m := tflitegen.Model{Subgraphs: []tflitegen.Subgraph{{
		Tensors: []tflitegen.Tensor{{Name: "x", Shape: []int{1, 4}}, {Name: "c", Shape: []int{n / 4}, Data: make([]byte, n)}, {Name: "y", Shape: []int{1, 4}}},
		Inputs:  []int{0}, Outputs: []int{2},
		Operators: []tflitegen.Op{{Code: tflitegen.OpAdd, Inputs: []int{0, 1}, Outputs: []int{2}, Options: tflitegen.AddOptions{}}},
	}}}
	data, err := m.Marshal()
	require.NoError(t, err)
	return data
}

func TestCheck(t *testing.T) {
	model := small(t, 16)
	// The constant is of a length that no other number in the file has.
	const odd = 4 * 0x1357
	marked := small(t, odd)
	at := -1
	for i := 0; i+4 <= len(marked); i++ {
		if binary.LittleEndian.Uint32(marked[i:]) == odd {
			at = i
		}
	}
	require.Positive(t, at)
	grown := append([]byte{}, marked...)
	binary.LittleEndian.PutUint32(grown[at:], 3<<30)
	for _, tc := range []struct {
		name  string
		data  []byte
		size  int64
		fault string // empty: none
	}{
		{"model", model, int64(len(model)), ""},
		{"with an archive behind it", model, 100 << 20, ""},
		{"3 GiB of constants", grown, 3<<30 + 1<<20, ""},
		{"empty", nil, 0, "that a model begins with"},
		{"7 bytes", model, 7, "that a model begins with"},
		{"another file", []byte("\x7fELF\x02\x01\x01\x00"), 1000, "file identifier"},
		{"2 GiB of nothing", nil, 2 << 30, "file identifier"},
		{"4 GiB of nothing", nil, 4<<30 - 1, "file identifier"},
		{"too large", model, 4 << 30, "addressed with 32 bits"},
		{"far too large", model, 1 << 62, "addressed with 32 bits"},
		{"model in a hole", model, 2 << 30, "constants are only"},
		{"identifier in a hole", []byte("\x08\x00\x00\x00TFL3"), 4<<30 - 1, "constants are only"},
		{"root beyond the end", []byte("\xff\xff\xff\xffTFL3"), 2 << 30, "leave the file"},
		{"constant beyond the end", grown, 2 << 30, "leave the file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &sparse{data: tc.data, size: tc.size}
			err := Check(f, tc.size)
			require.Less(t, f.read, int64(1<<10), "bytes read")
			if tc.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.fault)
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		})
	}
	t.Run("a million buffers", func(t *testing.T) {
		// A buffer vector of 2^28 entries, all of them the root table itself.
		b := make([]byte, 4<<20)
		copy(b, "\x10\x00\x00\x00TFL3\x00\x00\x00\x00\x00\x00\x00\x00")
		binary.LittleEndian.PutUint32(b[16:], 0x100000000-16) // the vtable is behind
		f := &sparse{data: b, size: 2 << 30}
		require.Error(t, Check(f, f.size))
		require.Less(t, f.read, int64(64<<20))
	})
}

// TestCheckAgreesWithImport: what Check refuses of a file of ordinary size, Import refuses too, and in the same words.
func TestCheckAgreesWithImport(t *testing.T) {
	model := small(t, 16)
	for n := range len(model) {
		err := Check(&sparse{data: model, size: int64(n)}, int64(n))
		if err == nil {
			continue
		}
		_, imported := Import(model[:n])
		require.EqualError(t, imported, err.Error())
	}
	model[4] = 'X'
	_, imported := Import(model)
	require.EqualError(t, imported, Check(&sparse{data: model, size: int64(len(model))}, int64(len(model))).Error())
}
