package tflitegen

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelInfo(t *testing.T) {
	m := convModel()
	m.Info = &ModelInfo{
		Name: "digits", Description: "reads digits", Version: "1", Author: "somebody", License: "MIT",
		Inputs: []TensorInfo{{
			Name: "image", Image: &ImageInfo{Color: ColorGray},
			Normalize: &Normalization{Mean: []float32{255}, Std: []float32{127.5}},
		}},
		Outputs: []TensorInfo{{Name: "probability", Description: "per digit", LabelFile: "labels.txt"}},
	}
	file, err := m.Marshal()
	require.NoError(t, err)
	root := rootOf(t, file, "TFL3")
	metadata := root.tables(6)
	require.Len(t, metadata, 2)
	require.Len(t, m.Metadata, 1, "the caller's list is left alone")
	require.Equal(t, "TFLITE_METADATA", metadata[1].text(0))
	pos, n := root.tables(4)[metadata[1].int32(1, 0)].vector(0)

	info := rootOf(t, file[pos:int(pos)+n], "M001")
	for slot, want := range map[int]string{0: "digits", 1: "reads digits", 2: "1", 4: "somebody", 5: "MIT", 7: "1.0.0"} {
		require.Equal(t, want, info.text(slot))
	}
	subgraphs := info.tables(3)
	require.Len(t, subgraphs, 1)

	inputs := subgraphs[0].tables(2)
	require.Len(t, inputs, 1)
	require.Equal(t, "image", inputs[0].text(0))
	content := inputs[0].child(3)
	require.Equal(t, int8(2), content.int8(0))
	require.Equal(t, int8(ColorGray), content.child(1).int8(0))
	units := inputs[0].tables(4)
	require.Len(t, units, 1)
	require.Equal(t, int8(1), units[0].int8(0))
	require.Equal(t, []float32{255}, units[0].child(1).floats(0))
	require.Equal(t, []float32{127.5}, units[0].child(1).floats(1))

	outputs := subgraphs[0].tables(3)
	require.Len(t, outputs, 1)
	require.Equal(t, "per digit", outputs[0].text(1))
	require.False(t, outputs[0].has(4))
	files := outputs[0].tables(6)
	require.Len(t, files, 1)
	require.Equal(t, "labels.txt", files[0].text(0))
	require.Equal(t, int8(2), files[0].int8(2))
}

func TestFiles(t *testing.T) {
	bare, err := convModel().Marshal()
	require.NoError(t, err)
	m := convModel()
	m.Files = []Blob{{Name: "labels.txt", Data: []byte("a\nb\n")}, {Name: "empty", Data: nil}}
	file, err := m.Marshal()
	require.NoError(t, err)
	require.Equal(t, bare, file[:len(bare)])
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	labels, err := fs.ReadFile(z, "labels.txt")
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", string(labels))
	require.Len(t, z.File, 2)
	again, err := m.Marshal()
	require.NoError(t, err)
	require.Equal(t, file, again)
}
