package tflite

import (
	"fmt"
	"slices"
)

// maxRank bounds the rank of a tensor; TensorFlow Lite itself has kernels for at most 8.
const maxRank = 8

// maxNameBytes bounds the names and descriptions that are copied out of a file.
const maxNameBytes = 1 << 16

// file is the main subgraph of a .tflite file, decoded but not yet understood.
type file struct {
	buf         *buffer
	description string
	codes       []operatorCode
	constants   []extent // of each buffer; empty when it has no data
	tensors     []tensor
	inputs      []int32
	outputs     []int32
	operators   vector
	metadata    []namedBuffer
}

// extent is a range of bytes of the file.
type extent struct{ off, n int }

type operatorCode struct {
	builtin int32
	custom  string
	version int32
}

type namedBuffer struct {
	name   string
	buffer uint32
}

// tensor is a tensor of the main subgraph.
type tensor struct {
	table     table
	typ       elementType
	shape     []int32
	signature []int32 // nil when absent
	buffer    uint32
	quant     quantization
}

// quantization holds the first parameters of a tensor and the vectors with all of them.
type quantization struct {
	scales     vector // float32; none when the tensor is not quantised
	zeroPoints vector // int64; none, or one for each scale
	dimension  int32
	details    bool // a scheme that is not a list of scales
}

// Vtable slots of the schema's tables, in the order of their fields.
const (
	modelVersion, modelCodes, modelSubgraphs, modelDescription, modelBuffers, modelMetadata = 0, 1, 2, 3, 4, 6
	subgraphTensors, subgraphInputs, subgraphOutputs, subgraphOperators                     = 0, 1, 2, 3
	tensorShape, tensorType, tensorBuffer, tensorName, tensorQuantization                   = 0, 1, 2, 3, 4
	tensorIsVariable, tensorSparsity, tensorSignature                                       = 5, 6, 7
	tensorVariants, tensorExternalBuffer, tensorSlots                                       = 9, 10, 11
	quantScale, quantZeroPoint, quantDetailsType, quantDimension                            = 2, 3, 4, 6
	bufferData, bufferOffset, bufferSize                                                    = 0, 1, 2
	codeDeprecated, codeCustom, codeVersion, codeBuiltin                                    = 0, 1, 2, 3
	operatorCodeIndex, operatorInputs, operatorOutputs                                      = 0, 1, 2
	operatorOptionsType, operatorOptions, operatorCustomOptions                             = 3, 4, 5
	operatorMutating, operatorIntermediates, operatorLargeOptions, operatorOptions2Type     = 7, 8, 9, 11
)

// What decoding a tensor or operator counts as, in elements: much more than its entry in a vector, so that many entries
// for one table cannot take much memory.
const tensorWork, operatorWork = 128, 64

// schemaVersion is the only version of the schema that was ever published with the identifier TFL3.
const schemaVersion = 3

func readFile(data []byte) (*file, error) {
	if err := checkSize(int64(len(data))); err != nil {
		return nil, err
	}
	b := newBuffer(data)
	f := &file{buf: b}
	root := b.root(identifier)
	if v := root.uint32(modelVersion); b.err == nil && v != schemaVersion {
		b.fail("schema version %d, not %d", v, schemaVersion)
	}
	f.description = root.name(modelDescription)
	f.readCodes(root.vector(modelCodes, 4))
	f.readBuffers(root.vector(modelBuffers, 4))
	f.readMetadataNames(root.vector(modelMetadata, 4))
	if graphs := root.vector(modelSubgraphs, 4); graphs.n > 0 {
		// Other subgraphs serve control flow, whose operators are refused; the main one is the first.
		f.readGraph(graphs.table(0))
	} else {
		b.fail("no subgraph")
	}
	return f, b.err
}

// name decodes a string that is kept for people to read.
func (t table) name(slot int) string {
	s := t.str(slot)
	if len(s) > maxNameBytes {
		t.buf.fail("a name of %d bytes", len(s))
		return ""
	}
	return s
}

func (f *file) readCodes(v vector) {
	if v.n == 0 || !f.buf.charge(v.n) {
		return
	}
	f.codes = make([]operatorCode, v.n)
	for i := range f.codes {
		t := v.table(i)
		// The one-byte field came first; files of newer writers put 127 there and the code in the other.
		f.codes[i] = operatorCode{
			builtin: max(int32(t.int8(codeDeprecated)), t.int32(codeBuiltin, 0)),
			custom:  t.name(codeCustom),
			version: t.int32(codeVersion, 1),
		}
	}
}

func (f *file) readBuffers(v vector) {
	if v.n == 0 || !f.buf.charge(v.n) {
		return
	}
	f.constants = make([]extent, v.n)
	for i := range f.constants {
		t := v.table(i)
		if d := t.vector(bufferData, 1); d.n > 0 {
			f.constants[i] = extent{d.pos, d.n}
			continue
		}
		// Data behind the flatbuffer, for files that exceed its 2 GiB. Offsets 0 and 1 mean "none".
		off, n := t.uint64(bufferOffset), t.uint64(bufferSize)
		if off <= 1 || n == 0 {
			continue
		}
		size := uint64(len(f.buf.data))
		if off > size || n > size-off {
			f.buf.fail("buffer %d has %d bytes at %d of %d", i, n, off, size)
			return
		}
		f.constants[i] = extent{int(off), int(n)}
	}
}

func (f *file) readMetadataNames(v vector) {
	for i := range v.n {
		t := v.table(i)
		f.metadata = append(f.metadata, namedBuffer{t.name(0), t.uint32(1)})
		if f.buf.err != nil {
			return
		}
	}
}

func (f *file) readGraph(g table) {
	v := g.vector(subgraphTensors, 4)
	if v.n > 0 && f.buf.charge(v.n*tensorWork) {
		f.tensors = make([]tensor, v.n)
		for i := range f.tensors {
			f.readTensor(i, v.table(i))
			if f.buf.err != nil {
				return
			}
		}
	}
	f.inputs, f.outputs = g.int32s(subgraphInputs), g.int32s(subgraphOutputs)
	f.operators = g.vector(subgraphOperators, 4)
	for _, list := range [][]int32{f.inputs, f.outputs} {
		for _, i := range list {
			if i < 0 || int(i) >= len(f.tensors) {
				f.buf.fail("input or output is tensor %d of %d", i, len(f.tensors))
			}
		}
	}
	if len(f.inputs) == 0 || len(f.outputs) == 0 || f.operators.n == 0 {
		f.buf.fail("%d inputs, %d outputs and %d operators", len(f.inputs), len(f.outputs), f.operators.n)
	}
}

func (f *file) readTensor(i int, t table) {
	q := t.table(tensorQuantization)
	f.tensors[i] = tensor{
		table: t, typ: elementType(t.int8(tensorType)), buffer: t.uint32(tensorBuffer),
		shape: t.int32s(tensorShape), signature: t.int32s(tensorSignature),
		quant: quantization{
			scales:     q.vector(quantScale, 4),
			zeroPoints: q.vector(quantZeroPoint, 8),
			dimension:  q.int32(quantDimension, 0),
			details:    q.int8(quantDetailsType) != 0,
		},
	}
	x := &f.tensors[i]
	switch {
	case f.buf.err != nil:
	case len(x.shape) > maxRank:
		f.buf.fail("tensor %d has rank %d", i, len(x.shape))
	case len(x.signature) != 0 && len(x.signature) != len(x.shape):
		f.buf.fail("tensor %d has shape %v and signature %v", i, x.shape, x.signature)
	case int64(x.buffer) >= int64(max(len(f.constants), 1)):
		f.buf.fail("tensor %d is in buffer %d of %d", i, x.buffer, len(f.constants))
	case x.quant.zeroPoints.n > 0 && x.quant.scales.n > 0 && x.quant.zeroPoints.n != x.quant.scales.n:
		f.buf.fail("tensor %d has %d scales and %d zero points", i, x.quant.scales.n, x.quant.zeroPoints.n)
	}
}

// open reports whether dimension i of t may differ from the shape at run time.
func (t *tensor) open(i int) bool { return i < len(t.signature) && t.signature[i] < 0 }

// empty reports whether t has no elements. An empty list of axes or sizes is a constant without bytes.
func (t *tensor) empty() bool { return slices.Contains(t.shape, 0) }

// dynamic reports whether any dimension is open.
func (t *tensor) dynamic() bool {
	return slices.ContainsFunc(t.signature, func(n int32) bool { return n < 0 })
}

// constant returns where the value of t lies in the file, and whether it is a constant.
func (f *file) constant(t *tensor) (extent, bool) {
	if t.buffer == 0 || int(t.buffer) >= len(f.constants) { // buffer 0 is always empty
		return extent{}, false
	}
	e := f.constants[t.buffer]
	return e, e.n > 0
}

// zeroPoint returns the zero point of scale i, 0 when the file has none.
func (q *quantization) zeroPoint(i int) int64 {
	if i < q.zeroPoints.n {
		return q.zeroPoints.int64(i)
	}
	return 0
}

// operator is one operator, decoded.
type operator struct {
	code        operatorCode
	in, out     []int32
	optionsType int8
	options     table
	custom      []byte // options of a custom operator; nil for none
	refused     string // why it cannot be imported whatever it is, or ""
}

func (f *file) operator(i int) operator {
	f.buf.charge(operatorWork)
	t := f.operators.table(i)
	o := operator{
		in: t.int32s(operatorInputs), out: t.int32s(operatorOutputs),
		optionsType: t.int8(operatorOptionsType), options: t.table(operatorOptions), custom: t.vector(operatorCustomOptions, 1).bytes(),
	}
	code := t.uint32(operatorCodeIndex)
	if f.buf.err == nil && int64(code) >= int64(len(f.codes)) {
		f.buf.fail("operator %d has code %d of %d", i, code, len(f.codes))
	}
	if f.buf.err != nil {
		return o
	}
	o.code = f.codes[code]
	for _, x := range o.in {
		if x < -1 || int(x) >= len(f.tensors) {
			f.buf.fail("operator %d reads tensor %d of %d", i, x, len(f.tensors))
		}
	}
	for _, x := range o.out {
		if x < 0 || int(x) >= len(f.tensors) {
			f.buf.fail("operator %d writes tensor %d of %d", i, x, len(f.tensors))
		}
	}
	if t.int8(operatorOptions2Type) != 0 {
		o.refused = "options of the second union"
	}
	if t.uint64(operatorLargeOptions) > 1 { // 0 and 1 mean "none"
		o.refused = "options behind the flatbuffer"
	}
	if t.vector(operatorIntermediates, 4).n > 0 {
		o.refused = "intermediate tensors"
	}
	if slices.ContainsFunc(t.vector(operatorMutating, 1).bytes(), func(b byte) bool { return b != 0 }) {
		o.refused = "changes its inputs"
	}
	return o
}

// name is the operator's name for messages.
func (c operatorCode) name() string {
	switch {
	case c.builtin == builtinCustom:
		return fmt.Sprintf("custom %.100q", c.custom)
	case c.builtin >= 0 && int(c.builtin) < len(operatorNames):
		return operatorNames[c.builtin]
	}
	return fmt.Sprintf("BuiltinOperator(%d)", c.builtin)
}
