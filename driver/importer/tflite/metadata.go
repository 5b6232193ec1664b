package tflite

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/nngpu/nngpu/driver/importer"
)

// Vtable slots and values of the metadata schema 1.1.0 of TensorFlow Lite Support.
const (
	metaName, metaDescription, metaVersion, metaSubgraphs, metaAuthor, metaLicense      = 0, 1, 2, 3, 4, 5
	metaInputs, metaOutputs                                                             = 2, 3
	metaContent, metaProcessUnits, metaFiles                                            = 3, 4, 6
	contentImage                                                                   int8 = 2
	processNormalization                                                           int8 = 1
	fileAxisLabels, fileValueLabels                                                int8 = 2, 3
)

// Bounds of what is taken from a file's archive.
const (
	maxLabelFiles = 4
	maxLabelBytes = 1 << 20
	maxLabels     = 1 << 16
)

// readMetadata decodes the metadata buffer, a flatbuffer within the file, when there is one. Names of labels
// are looked up in the zip archive that may follow the flatbuffer.
func (f *file) readMetadata(inputs, outputs int) (importer.Metadata, error) {
	var m importer.Metadata
	for _, b := range f.metadata {
		if b.name != "TFLITE_METADATA" {
			continue
		}
		if int64(b.buffer) >= int64(len(f.constants)) {
			return m, importer.Damaged("metadata is in buffer %d of %d", b.buffer, len(f.constants))
		}
		e := f.constants[b.buffer]
		if e.n == 0 {
			return m, nil
		}
		buf := newBuffer(f.buf.data[e.off : e.off+e.n])
		root := buf.root("M001")
		m = importer.Metadata{
			Name: root.name(metaName), Description: root.name(metaDescription), Version: root.name(metaVersion),
			Author: root.name(metaAuthor), License: root.name(metaLicense),
		}
		if g := root.vector(metaSubgraphs, 4); g.n > 0 {
			t := g.table(0)
			m.Inputs = t.tensorMetadata(metaInputs, inputs)
			m.Outputs = t.tensorMetadata(metaOutputs, outputs)
		}
		if buf.err != nil {
			return importer.Metadata{}, fmt.Errorf("metadata: %w", buf.err)
		}
		return m, f.readLabels(m.Outputs)
	}
	return m, nil
}

// tensorMetadata decodes the descriptions of n tensors; nil unless there are exactly n.
func (t table) tensorMetadata(slot, n int) []importer.TensorMetadata {
	v := t.vector(slot, 4)
	if v.n != n {
		return nil
	}
	list := make([]importer.TensorMetadata, n)
	for i := range list {
		x := v.table(i)
		list[i] = importer.TensorMetadata{
			Name: x.name(metaName), Description: x.name(metaDescription),
			Image: x.table(metaContent).int8(0) == contentImage,
		}
		x.normalization(&list[i])
		list[i].LabelFile = x.labelFile()
		if t.buf.err != nil {
			return nil
		}
	}
	return list
}

func (t table) normalization(m *importer.TensorMetadata) {
	units := t.vector(metaProcessUnits, 4)
	for i := range units.n {
		u := units.table(i)
		if u.int8(0) != processNormalization {
			continue
		}
		o := u.table(1)
		m.Mean, m.Std = o.float32s(0), o.float32s(1)
		for _, x := range m.Mean {
			if !finite(x) {
				t.buf.fail("mean %v", x)
			}
		}
		for _, x := range m.Std {
			if !finite(x) || x == 0 {
				t.buf.fail("standard deviation %v", x)
			}
		}
		return
	}
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// labelFile returns the name of the tensor's first label file.
func (t table) labelFile() string {
	files := t.vector(metaFiles, 4)
	for i := range files.n {
		x := files.table(i)
		if k := x.int8(2); k == fileAxisLabels || k == fileValueLabels {
			return x.name(0)
		}
	}
	return ""
}

// readLabels fills in the labels from the archive behind the flatbuffer. A file without archive has none.
func (f *file) readLabels(outputs []importer.TensorMetadata) error {
	wanted := map[string][]string{}
	for _, m := range outputs {
		if m.LabelFile != "" {
			wanted[m.LabelFile] = nil
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if len(wanted) > maxLabelFiles {
		return importer.Damaged("%d label files", len(wanted))
	}
	archive, err := zip.NewReader(bytes.NewReader(f.buf.data), int64(len(f.buf.data)))
	if errors.Is(err, zip.ErrFormat) {
		return nil
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are compared, never used as paths
		return importer.Damaged("label archive: %w", err)
	}
	for _, entry := range archive.File {
		if lines, ok := wanted[entry.Name]; ok && lines == nil {
			if wanted[entry.Name], err = readLines(entry); err != nil {
				return importer.Damaged("label file %.100q: %w", entry.Name, err)
			}
		}
	}
	for i := range outputs {
		outputs[i].Labels = wanted[outputs[i].LabelFile]
	}
	return nil
}

func readLines(entry *zip.File) ([]string, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxLabelBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxLabelBytes {
		return nil, fmt.Errorf("more than %d bytes", maxLabelBytes)
	}
	if !utf8.Valid(b) {
		return nil, errors.New("is not UTF-8 text")
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	if n := strings.Count(text, "\n") + 1; n > maxLabels {
		return nil, fmt.Errorf("%d lines", n)
	}
	return strings.Split(text, "\n"), nil
}
