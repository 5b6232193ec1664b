package tflitegen

import (
	"archive/zip"
	"bytes"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

const (
	fileIdentifier = "TFL3"
	schemaVersion  = 3

	// constantAlignment is the schema's force_align of Buffer.data: kernels may read constants in place.
	constantAlignment = 16

	// maxFileBytes keeps every offset far from the 2 GiB a flatbuffer can address.
	maxFileBytes = 1 << 30
)

// metadataBlob is the name under which TFLite Support looks for a ModelMetadata.
const metadataBlob = "TFLITE_METADATA"

// Marshal lays m out as a file.
//
// It fails when an index names nothing, when a constant does not have the size of its shape and type, when a
// quantization's lists differ in length, or when constants, blobs and files together exceed 1 GiB. Model.Unchecked skips all
// but the last. Nothing of m is retained.
func (m *Model) Marshal() ([]byte, error) {
	if err := m.checkSize(); err != nil {
		return nil, err
	}
	if !m.Unchecked {
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	w := writer{b: flatbuffers.NewBuilder(1 << 16), codes: map[opcode]uint32{}}
	// Buffer 0 is the empty buffer of every tensor that is not a constant.
	w.buffers = append(w.buffers, writeTable(w.b))
	return appendArchive(w.model(m), m.Files)
}

// appendArchive packs files behind model, uncompressed so that readers can map them.
func appendArchive(model []byte, files []Blob) ([]byte, error) {
	if len(files) == 0 {
		return model, nil
	}
	out := bytes.NewBuffer(model)
	z := zip.NewWriter(out)
	z.SetOffset(int64(len(model)))
	for _, f := range files {
		// Without a time of modification equal models give equal bytes.
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(f.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return out.Bytes(), nil
}

// opcode identifies an entry of the file's list of operator codes, which operators share.
type opcode struct {
	code    Operator
	custom  string
	version int
}

type writer struct {
	b       *flatbuffers.Builder
	buffers []flatbuffers.UOffsetT
	codes   map[opcode]uint32 // position in codeList
	order   []opcode
}

func (w *writer) model(m *Model) []byte {
	subgraphs := make([]flatbuffers.UOffsetT, len(m.Subgraphs))
	for i := range m.Subgraphs {
		subgraphs[i] = w.subgraph(&m.Subgraphs[i])
	}
	blobs := m.Metadata
	if m.Info != nil {
		blobs = append(blobs[:len(blobs):len(blobs)], Blob{Name: metadataBlob, Data: m.Info.marshal()})
	}
	metadata := make([]flatbuffers.UOffsetT, len(blobs))
	for i, blob := range blobs {
		name := text(w.b, blob.Name)
		metadata[i] = writeTable(w.b, offsetField(0, name), uint32Field(1, w.buffer(blob.Data)))
	}
	codes := w.operatorCodes()

	subgraphVector := offsetVector(w.b, subgraphs)
	description := text(w.b, m.Description)
	buffers := offsetVector(w.b, w.buffers)
	var metadataVector flatbuffers.UOffsetT
	if len(metadata) > 0 {
		metadataVector = offsetVector(w.b, metadata)
	}
	root := writeTable(w.b,
		uint32Field(0, schemaVersion),
		offsetField(1, codes),
		offsetField(2, subgraphVector),
		offsetField(3, description),
		offsetField(4, buffers),
		offsetField(6, metadataVector),
	)
	w.b.FinishWithFileIdentifier(root, []byte(fileIdentifier))
	return w.b.FinishedBytes()
}

func (w *writer) subgraph(g *Subgraph) flatbuffers.UOffsetT {
	tensors := make([]flatbuffers.UOffsetT, len(g.Tensors))
	for i := range g.Tensors {
		tensors[i] = w.tensor(&g.Tensors[i])
	}
	operators := make([]flatbuffers.UOffsetT, len(g.Operators))
	for i := range g.Operators {
		operators[i] = w.operator(&g.Operators[i])
	}
	tensorVector := offsetVector(w.b, tensors)
	inputs := intVector(w.b, g.Inputs)
	outputs := intVector(w.b, g.Outputs)
	operatorVector := offsetVector(w.b, operators)
	name := text(w.b, g.Name)
	return writeTable(w.b,
		offsetField(0, tensorVector),
		offsetField(1, inputs),
		offsetField(2, outputs),
		offsetField(3, operatorVector),
		offsetField(4, name),
	)
}

func (w *writer) tensor(t *Tensor) flatbuffers.UOffsetT {
	var buffer uint32
	if t.Data != nil {
		buffer = w.buffer(t.Data)
	}
	quant := w.quant(t.Quant)
	shape := intVector(w.b, t.Shape)
	var signature flatbuffers.UOffsetT
	if t.ShapeSignature != nil {
		signature = intVector(w.b, t.ShapeSignature)
	}
	name := text(w.b, t.Name)
	return writeTable(w.b,
		offsetField(0, shape),
		Int8Field(1, int8(t.Type)),
		uint32Field(2, buffer),
		offsetField(3, name),
		offsetField(4, quant),
		BoolField(5, t.IsVariable),
		offsetField(7, signature),
	)
}

func (w *writer) quant(q Quant) flatbuffers.UOffsetT {
	if len(q.Scale) == 0 {
		return 0
	}
	scale := floatVector(w.b, q.Scale)
	zeroPoint := int64Vector(w.b, q.ZeroPoint)
	return writeTable(w.b, offsetField(2, scale), offsetField(3, zeroPoint), Int32Field(6, int32(q.Dim)))
}

// buffer stores data and returns the index of its buffer.
func (w *writer) buffer(data []byte) uint32 {
	w.b.StartVector(1, len(data), constantAlignment)
	// The vector is filled in one copy: Prepend would move it byte by byte.
	w.b.Pad(len(data))
	copy(w.b.Bytes[w.b.Head():], data)
	vector := w.b.EndVector(len(data))
	w.buffers = append(w.buffers, writeTable(w.b, offsetField(0, vector)))
	return uint32(len(w.buffers) - 1)
}

func (w *writer) operator(op *Op) flatbuffers.UOffsetT {
	inputs := intVector(w.b, op.Inputs)
	outputs := intVector(w.b, op.Outputs)
	var union byte
	var options, custom, intermediates flatbuffers.UOffsetT
	if op.Options != nil {
		number, fields := tableOf(op.Options)
		union, options = number, writeTable(w.b, fields...)
	}
	if op.CustomOptions != nil {
		custom = w.b.CreateByteVector(op.CustomOptions)
	}
	if op.Intermediates != nil {
		intermediates = intVector(w.b, op.Intermediates)
	}
	return writeTable(w.b,
		uint32Field(0, w.opcode(op)),
		offsetField(1, inputs),
		offsetField(2, outputs),
		Int8Field(3, int8(union)),
		offsetField(4, options),
		offsetField(5, custom),
		offsetField(8, intermediates),
	)
}

func (w *writer) opcode(op *Op) uint32 {
	key := opcode{code: op.Code, custom: op.CustomCode, version: max(op.Version, 1)}
	index, ok := w.codes[key]
	if !ok {
		index = uint32(len(w.order))
		w.codes[key] = index
		w.order = append(w.order, key)
	}
	return index
}

func (w *writer) operatorCodes() flatbuffers.UOffsetT {
	tables := make([]flatbuffers.UOffsetT, len(w.order))
	for i, c := range w.order {
		custom := text(w.b, c.custom)
		tables[i] = writeTable(w.b,
			// Readers older than the 32-bit field know only this byte; 127 sends newer ones to slot 3.
			Int8Field(0, int8(min(c.code, 127))),
			offsetField(1, custom),
			Int32FieldOr(2, int32(c.version), 1),
			Int32Field(3, int32(c.code)),
		)
	}
	return offsetVector(w.b, tables)
}

// checkSize bounds what Marshal writes by the constants, the only part that can be large.
func (m *Model) checkSize() error {
	total := 0
	for _, blob := range m.Metadata {
		total += len(blob.Data)
	}
	for _, f := range m.Files {
		total += len(f.Data)
	}
	for i := range m.Subgraphs {
		for j := range m.Subgraphs[i].Tensors {
			total += len(m.Subgraphs[i].Tensors[j].Data)
		}
	}
	if total > maxFileBytes {
		return fmt.Errorf("contents of %d bytes exceed the file limit of %d", total, maxFileBytes)
	}
	return nil
}
