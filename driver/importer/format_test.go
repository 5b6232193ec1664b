package importer_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	_ "github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
)

const digits = "../../examples/digits/digits_s8.tflite"

func Example() {
	net, err := importer.Open("../../examples/digits/digits_s8.tflite") // the program imports importer/tflite, or nngpu
	if err != nil {
		panic(err)
	}
	for _, t := range append(net.Inputs, net.Outputs...) {
		fmt.Println(t.Name, t.Type, t.Shape)
	}
	for _, o := range net.CountOperators()[:2] {
		fmt.Println(o.Count, o.Name, "of version", o.Version)
	}
	fmt.Println(net.Labels())
	// Output:
	// image TENSOR_QUANT8_ASYMM_SIGNED [1 28 28 1]
	// probabilities TENSOR_QUANT8_ASYMM_SIGNED [1 10]
	// 3 CONV_2D of version 3
	// 3 MAX_POOL_2D of version 2
	// [0 1 2 3 4 5 6 7 8 9]
}

// TestOpen: Open, Read and Parse give the same network, and the constants of the last lie in the caller's slice.
func TestOpen(t *testing.T) {
	data, err := os.ReadFile(digits)
	require.NoError(t, err)
	parsed, err := importer.Parse(data)
	require.NoError(t, err)
	require.Same(t, &data[0], &parsed.Model.Pools[0].(nn.HostMemory)[0])
	opened, err := importer.Open(digits)
	require.NoError(t, err)
	require.Equal(t, parsed, opened)
	file, err := os.Open(digits)
	require.NoError(t, err)
	read, err := importer.Read(file, int64(len(data)))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, parsed, read)
}

// TestOtherFiles: what is no model is refused by its first bytes, and the formats that are known are named.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	put := func(name string, data string, size int64) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		require.NoError(t, os.Truncate(path, size))
		return path
	}
	const known = "the formats known are TensorFlow Lite (.tflite, identifier \"TFL3\")"
	for _, tc := range []struct{ name, path, says string }{
		{"folder", dir, "not a regular file"},
		{"pipe", fifo, "not a regular file"},
		{"empty", put("empty", "", 0), known},
		{"3 bytes", put("short", "abc", 3), `it begins with "abc"; ` + known},
		{"program", put("elf", "\x7fELF\x02\x01\x01\x00....", 1000), `it begins with "\x7fELF\x02\x01\x01\x00"; ` + known},
		{"hole of 1 TiB", put("hole", "", 1<<40), known},
		{"identifier alone", put("id", "\x08\x00\x00\x00TFL3", 8), "tflite model"},
		{"identifier before a hole", put("promise", "\x08\x00\x00\x00TFL3", 3<<30), "constants are only"},
		{"more than 4 GiB", put("large", "\x08\x00\x00\x00TFL3", 5<<30), "addressed with 32 bits"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := importer.Open(tc.path)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, tc.path)
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		})
	}
	_, err := importer.Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = importer.Parse([]byte("no model"))
	require.ErrorContains(t, err, known)
}

// failing is a file that cannot be read behind its first bytes.
type failing struct{ data []byte }

var errDisk = errors.New("disk")

func (f failing) ReadAt(b []byte, at int64) (int, error) {
	if at >= importer.HeadBytes {
		return 0, errDisk
	}
	n := copy(b, f.data[at:])
	if n < len(b) {
		return n, errDisk
	}
	return n, nil
}

func TestReadFails(t *testing.T) {
	head := append(binary.LittleEndian.AppendUint32(nil, 8), "TFL3"...)
	_, err := importer.Read(failing{head}, 1<<10)
	require.ErrorIs(t, err, errDisk)
	_, err = importer.Read(failing{nil}, 1<<10)
	require.ErrorIs(t, err, errDisk)
	_, err = importer.Read(io.NewSectionReader(failing{head}, 0, 4), 1<<10) // shorter than it was said to be
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
}
