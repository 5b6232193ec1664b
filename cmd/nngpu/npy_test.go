package main

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// npy is a file with a header of its own.
func npy(major byte, head string, data []byte) []byte {
	b := append([]byte(npyMagic), major, 0)
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
		"as NumPy writes it":  npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }   \n", data),
		"version 2":           npy(2, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n", data),
		"version 3":           npy(3, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }\n", data),
		"another order":       npy(1, "{'shape':(2,1),'fortran_order':False,'descr':'<i4'}", data),
		"byte order as usual": npy(1, "{'descr': '=i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"our own":             npyFile(o, data),
	} {
		got, err := readNPY(bytes.NewReader(file), int64(len(file)), o)
		require.NoError(t, err, name)
		require.Equal(t, data, got, name)
	}
	for name, file := range map[string][]byte{
		"nothing":         nil,
		"magic only":      []byte(npyMagic),
		"version 9":       npy(9, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"no dictionary":   npy(1, "hello\n", data),
		"empty header":    npy(1, "", data),
		"fields":          npy(1, "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2, 1)}", data),
		"unsigned":        npy(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"big-endian":      npy(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2, 1)}", data),
		"negative":        npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (-2, 1)}", data),
		"huge":            npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999, 1)}", data),
		"Fortran order":   npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 1)}", data),
		"another shape":   npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}", data),
		"short":           npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", data[:7]),
		"long":            npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1)}", append(data, 9)),
		"header too long": npy(2, "{'descr'", nil)[:11],
	} {
		_, err := readNPY(bytes.NewReader(file), int64(len(file)), o)
		require.Error(t, err, name)
	}
}

// TestFortranVector accepts the order that NumPy gives to arrays of one dimension.
func TestFortranVector(t *testing.T) {
	o := &nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{3}}
	file := npy(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", []byte{1, 2, 3})
	got, err := readNPY(bytes.NewReader(file), int64(len(file)), o)
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
		file := npyFile(o, data)
		require.Zero(t, (len(file)-len(data))%64, "NumPy aligns the data")
		require.Equal(t, int(npyType(typ)[2]-'0'), typ.Bytes(), "%v", typ)
		got, err := readNPY(bytes.NewReader(file), int64(len(file)), o)
		require.NoError(t, err, "%v", typ)
		require.Equal(t, data, got)
	}
}

func FuzzReadNPY(f *testing.F) {
	o := &nn.Operand{Type: nn.TensorFloat32, Dims: nn.Dims{1, 2}}
	f.Add(npyFile(o, make([]byte, 8)))
	f.Add(npy(2, "{'descr': '<f4', 'fortran_order': True, 'shape': ()}", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := readNPY(bytes.NewReader(data), int64(len(data)), o); err == nil && len(got) != 8 {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
