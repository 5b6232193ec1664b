package modeldata

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// TestCompare: an infinity and NaN are met by themselves only.
func TestCompare(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tc := range []struct {
		name      string
		got, want []float32
		max       float64
	}{
		{"equal", []float32{1, 2}, []float32{1, 2}, 0},
		{"apart", []float32{1, 2.5}, []float32{1, 2}, 0.5},
		{"infinity met", []float32{inf, -inf}, []float32{inf, -inf}, 0},
		{"infinity missed", []float32{math.MaxFloat32}, []float32{inf}, math.Inf(1)},
		{"other sign", []float32{-inf}, []float32{inf}, math.Inf(1)},
		{"NaN met", []float32{nan}, []float32{nan}, 0},
		{"NaN missed", []float32{0}, []float32{nan}, math.Inf(1)},
		{"NaN for a number", []float32{nan}, []float32{0}, math.Inf(1)},
	} {
		d, err := Compare(nn.TensorFloat32, encode(tc.got), encode(tc.want))
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.max, d.Max, tc.name)
		f := Folder{Tolerances: []Tolerance{{Max: 1, Mean: 1}}}
		require.Equal(t, tc.max > 1, f.Within(0, d) != nil, tc.name)
	}
	_, err := Compare(nn.TensorFloat32, make([]byte, 4), make([]byte, 8))
	require.Error(t, err)
	_, err = Compare(nn.SubgraphRef, nil, nil)
	require.Error(t, err)
}

func encode(v []float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// TestReadRegularFilesOnly: a pipe is refused, and not waited for.
func TestReadRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "meta.json"), filepath.Join(dir, "input_0.bin")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("abc"), 0o600))
	_, err := Open(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Read([]string{file, pipe}, []int{3, 3})
	require.ErrorContains(t, err, "not a regular file")
	_, err = Read([]string{dir}, []int{3})
	require.Error(t, err)
	got, err := Read([]string{file}, []int{3})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("abc")}, got)
	_, err = Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, ErrNoModel)
	huge := filepath.Join(dir, "huge")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, 1<<32))
	_, err = Read([]string{huge}, []int{1 << 20})
	require.ErrorContains(t, err, "at most")
	_, err = Read([]string{file}, []int{3, 3})
	require.ErrorContains(t, err, "1 files for 2 tensors")
}
