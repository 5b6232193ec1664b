package npy

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// file is a file with a header of its own.
func file(major byte, head string, data []byte) []byte {
	b := append([]byte(magic), major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	}
	return append(append(b, head...), data...)
}

func TestReadNPY(t *testing.T) {
	o := &nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{2, 1}}
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for name, file := range map[string][]byte{
		"as NumPy writes it":  file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }   \n", data),
		"version 2":           file(2, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n", data),
		"version 3":           file(3, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n", data),
		"another order":       file(1, "{'shape':(2,1),'fortran_order':False,'descr':'<i4'}", data),
		"byte order as usual": file(1, "{'descr': '=i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"our own":             File(o, data),
	} {
		got, err := Read(bytes.NewReader(file), int64(len(file)), o)
		require.NoError(t, err, name)
		require.Equal(t, data, got, name)
	}
	for name, file := range map[string][]byte{
		"nothing":         nil,
		"magic only":      []byte(magic),
		"version 9":       file(9, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"no dictionary":   file(1, "hello\n", data),
		"empty header":    file(1, "", data),
		"fields":          file(1, "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2, 1)}", data),
		"unsigned":        file(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"big-endian":      file(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"negative":        file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (-2, 1)}", data),
		"huge":            file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999, 1)}", data),
		"Fortran order":   file(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 1)}", data),
		"another shape":   file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}", data),
		"short":           file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", data[:7]),
		"long":            file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", append(data, 9)),
		"header too long": file(2, "{'descr'", nil)[:11],
	} {
		_, err := Read(bytes.NewReader(file), int64(len(file)), o)
		require.Error(t, err, name)
	}
}

// TestFortranVector accepts the order that NumPy gives to arrays of one dimension.
func TestFortranVector(t *testing.T) {
	o := &nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{3}}
	file := file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", []byte{1, 2, 3})
	got, err := Read(bytes.NewReader(file), int64(len(file)), o)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, got)
}

func TestNPYTypes(t *testing.T) {
	for _, typ := range []nn.OperandType{
		nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorBool8, nn.TensorQuant8Asymm,
		nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant16Asymm, nn.TensorQuant16Symm,
	} {
		o := &nn.Operand{Type: typ, Dims: nn.Dims{1, 5}}
		data := make([]byte, byteSize(o))
		file := File(o, data)
		require.Zero(t, (len(file)-len(data))%64, "NumPy aligns the data")
		require.Equal(t, int(typeOf(typ)[2]-'0'), typ.Bytes(), "%v", typ)
		got, err := Read(bytes.NewReader(file), int64(len(file)), o)
		require.NoError(t, err, "%v", typ)
		require.Equal(t, data, got)
	}
}

func FuzzReadNPY(f *testing.F) {
	o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 2}}
	f.Add(File(o, make([]byte, 8)))
	f.Add(file(2, "{'descr': '<f4', 'fortran_order': True, 'shape': ()}", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := Read(bytes.NewReader(data), int64(len(data)), o); err == nil && len(got) != 8 {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
