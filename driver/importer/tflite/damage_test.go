package tflite

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// smallFile has a bit of everything: options, constants, quantisation, metadata and an archive.
func smallFile(t testing.TB) []byte {
	t.Helper()
	return metadataFile(t, testInfo(), "cat\ndog\nbird\n")
}

// quantisedFile is a small int8 network.
func quantisedFile(t testing.TB) []byte {
	t.Helper()
	n := &net{}
	x := n.input(g.Uint8, g.PerTensor(0.5, 131), 1, 5, 5, 2)
	y := n.op(g.OpQuantize, nil, shaped(g.Int8, g.PerTensor(0.5, 3), 1, 5, 5, 2), x)
	y = n.op(g.OpConv2D, g.Conv2DOptions{Activation: g.ActivationRelu}, shaped(g.Int8, g.PerTensor(0.25, -1), 1, 5, 5, 3), y,
		n.bytes(g.Int8, g.PerChannel(0, []float32{1, 2, 3}), 3, 3, 3, 2), n.ints([]int{3}, 1, 2, 3))
	y = n.op(g.OpMean, nil, shaped(g.Int8, g.PerTensor(0.125, 0), 1, 3), y, n.ints([]int{2}, 1, 2))
	y = n.op(g.OpFullyConnected, nil, shaped(g.Int8, g.PerTensor(0.25, 0), 1, 4), y, n.bytes(g.Int8, g.PerTensor(0.5, 0), 4, 3), g.OptionalTensor)
	y = n.op(g.OpSoftmax, g.SoftmaxOptions{Beta: 1}, shaped(g.Int8, g.PerTensor(1.0/256, -128), 1, 4), y)
	w := n.tensor(g.Tensor{Type: g.Float16, Shape: []int{4}, Data: make([]byte, 8)})
	h := n.op(g.OpDequantize, nil, f32(4), w)
	z := n.op(g.OpDequantize, nil, f32(1, 4), y)
	return n.file(t, n.op(g.OpAdd, g.AddOptions{}, f32(1, 4), z, h))
}

// mustNotPanic imports a file that may be damaged; a model that comes out must at least be consistent.
func mustNotPanic(t testing.TB, data []byte) {
	t.Helper()
	n, err := importFile(data)
	if err != nil {
		if nn.StatusOf(err) != nn.StatusInvalidArgument {
			t.Fatalf("status %v of %v", nn.StatusOf(err), err)
		}
		return
	}
	if len(n.Model.Values) > 4*len(data)+1<<16 {
		t.Fatalf("%d bytes of values from a file of %d", len(n.Model.Values), len(data))
	}
	m := n.Model
	if err := validate.Model(m); err != nil {
		t.Fatalf("an imported model breaks a rule: %v", err)
	}
	for i := range m.Main.Operands {
		o := &m.Main.Operands[i]
		v, err := m.Value(o)
		if size, sizeErr := o.ByteSize(); err != nil || v != nil && (sizeErr != nil || int(size) != len(v)) {
			t.Fatalf("operand %d: %v, %d bytes, %v", i, err, len(v), sizeErr)
		}
	}
	if len(m.Main.Inputs) != len(n.Inputs) || len(m.Main.Outputs) != len(n.Outputs) {
		t.Fatalf("%d inputs for %d, %d outputs for %d", len(m.Main.Inputs), len(n.Inputs), len(m.Main.Outputs), len(n.Outputs))
	}
}

func TestTruncated(t *testing.T) {
	for name, data := range map[string][]byte{"small": smallFile(t), "quantised": quantisedFile(t)} {
		mustNotPanic(t, data)
		for n := range data {
			mustNotPanic(t, data[:n:n])
		}
		for _, n := range []int{0, 1, 7, 8, 40, len(data) / 4} {
			if _, err := Import(data[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are a model", name, n, len(data))
			}
		}
	}
}

func TestFlippedBits(t *testing.T) {
	for _, data := range [][]byte{smallFile(t), quantisedFile(t)} {
		for i := range data {
			for bit := range 8 {
				b := append([]byte(nil), data...)
				b[i] ^= 1 << bit
				mustNotPanic(t, b)
			}
		}
	}
}

func TestRandomDamage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, data := range [][]byte{smallFile(t), quantisedFile(t)} {
		for range 20000 {
			b := append([]byte(nil), data...)
			for range 1 + rnd.IntN(4) {
				p := rnd.IntN(len(b) - 4)
				switch rnd.IntN(3) {
				case 0:
					b[p] = byte(rnd.Uint32())
				case 1:
					binary.LittleEndian.PutUint32(b[p:], rnd.Uint32())
				case 2:
					binary.LittleEndian.PutUint32(b[p:], uint32(rnd.IntN(64)))
				}
			}
			mustNotPanic(t, b)
		}
	}
}

func TestSharedNetworksDamaged(t *testing.T) {
	shared := sharedDir(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"hello_world_f32", "micro_speech_s8"} {
		data, err := os.ReadFile(filepath.Join(shared, "models", name, "model.tflite"))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + len(data)/4000 {
			mustNotPanic(t, data[:n:n])
		}
		for range 5000 {
			b := append([]byte(nil), data...)
			b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			mustNotPanic(t, b)
		}
	}
}

func TestContradictions(t *testing.T) {
	for _, tc := range []struct {
		name  string
		build func(n *net) []int
		want  string
	}{
		{"read before written", func(n *net) []int {
			x := n.input(g.Float32, none, 2)
			y := n.tensor(f32(2))
			z := n.op(g.OpAdd, nil, f32(2), x, y)
			n.g.Operators = append(n.g.Operators, g.Op{Code: g.OpAbs, Inputs: []int{z}, Outputs: []int{y}})
			return []int{z}
		}, "operator 0 ADD: tensor 1 is read before it is written"},
		{"written twice", func(n *net) []int {
			y := n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 2))
			n.g.Operators = append(n.g.Operators, n.g.Operators[0])
			return []int{y}
		}, "operator 1 writes tensor 1, which already has a value"},
		{"writes an input", func(n *net) []int {
			x := n.input(g.Float32, none, 2)
			n.g.Operators = append(n.g.Operators, g.Op{Code: g.OpAbs, Inputs: []int{x}, Outputs: []int{x}})
			return []int{x}
		}, "which already has a value"},
		{"writes a constant", func(n *net) []int {
			x, w := n.input(g.Float32, none, 2), n.floats(2)
			n.g.Operators = append(n.g.Operators, g.Op{Code: g.OpAbs, Inputs: []int{x}, Outputs: []int{w}})
			return []int{w}
		}, "which is a constant"},
		{"constant of the wrong size", func(n *net) []int {
			w := n.floats(3)
			n.g.Tensors[w].Shape = []int{2}
			return []int{n.op(g.OpAdd, nil, f32(2), n.input(g.Float32, none, 2), w)}
		}, "a constant of shape [2] and type FLOAT32 has 12 bytes"},
		{"tensor out of range", func(n *net) []int {
			return []int{n.op(g.OpAdd, nil, f32(2), n.input(g.Float32, none, 2), 77)}
		}, "operator 0 reads tensor 77 of 2"},
		{"output out of range", func(n *net) []int {
			n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 2))
			return []int{9}
		}, "input or output is tensor 9 of 2"},
		{"no outputs", func(n *net) []int {
			n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 2))
			return nil
		}, "1 inputs, 0 outputs and 1 operators"},
		{"missing input", func(n *net) []int {
			return []int{n.op(g.OpAdd, nil, f32(2), n.input(g.Float32, none, 2))}
		}, "operator 0 ADD: 1 inputs"},
		{"absent input", func(n *net) []int {
			return []int{n.op(g.OpAdd, nil, f32(2), n.input(g.Float32, none, 2), -1)}
		}, "operator 0 ADD: input 1 is missing"},
		{"absent filter", func(n *net) []int {
			return []int{n.op(g.OpDepthwiseConv2D, g.DepthwiseConv2DOptions{}, f32(2), n.input(g.Float32, none, 1, 2, 2, 2), -1)}
		}, "input 1 (filter) is missing"},
		{"negative dimension", func(n *net) []int {
			return []int{n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, -2))}
		}, "shape [-2]"},
		{"huge input", func(n *net) []int {
			return []int{n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 1<<30, 1<<30))}
		}, "exceed 2^32-1 elements"},
		{"huge input in bytes", func(n *net) []int {
			return []int{n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 1<<31-1))}
		}, "bytes exceed 2^32-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &net{}
			n.g.Outputs = tc.build(n)
			m := n.model()
			m.Unchecked = true
			if _, err := imported(marshal(t, m)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A small file whose vectors all lie on top of each other must not cost more than its size allows.
func TestSharedStorageIsBounded(t *testing.T) {
	b := flatbuffers.NewBuilder(1 << 20)
	const n = 100_000
	b.StartVector(4, n, 4)
	for range n {
		b.PrependInt32(0)
	}
	ints := b.EndVector(n)
	b.StartObject(3)
	b.PrependUOffsetTSlot(operatorInputs, ints, 0)
	b.PrependUOffsetTSlot(operatorOutputs, ints, 0)
	operator := b.EndObject()
	b.StartObject(8)
	tensor := b.EndObject()
	list := func(o flatbuffers.UOffsetT, n int) flatbuffers.UOffsetT {
		b.StartVector(4, n, 4)
		for range n {
			b.PrependUOffsetT(o)
		}
		return b.EndVector(n)
	}
	tensors, operators := list(tensor, 1), list(operator, n)
	b.StartVector(4, 1, 4)
	b.PrependInt32(0)
	one := b.EndVector(1)
	b.StartObject(4)
	b.PrependUOffsetTSlot(subgraphTensors, tensors, 0)
	b.PrependUOffsetTSlot(subgraphInputs, one, 0)
	b.PrependUOffsetTSlot(subgraphOutputs, one, 0)
	b.PrependUOffsetTSlot(subgraphOperators, operators, 0)
	graphs := list(b.EndObject(), 1)
	b.StartObject(4)
	code := b.EndObject()
	codes := list(code, 1)
	b.StartObject(5)
	b.PrependUint32Slot(modelVersion, 3, 0)
	b.PrependUOffsetTSlot(modelCodes, codes, 0)
	b.PrependUOffsetTSlot(modelSubgraphs, graphs, 0)
	b.FinishWithFileIdentifier(b.EndObject(), []byte("TFL3"))
	start := time.Now()
	if _, err := imported(b.FinishedBytes()); err == nil {
		t.Error("imported")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// Buffers behind the flatbuffer are found by offset and size.
func TestLargeBuffers(t *testing.T) {
	for _, tc := range []struct {
		name         string
		offset, size uint64
		want         extent
		fails        bool
	}{
		{"inside", 100, 8, extent{100, 8}, false},
		{"none", 1, 8, extent{}, false},
		{"past the end", 4090, 8, extent{}, true},
		{"overflow", 1<<64 - 4, 8, extent{}, true},
		{"huge size", 8, 1 << 63, extent{}, true},
	} {
		b := flatbuffers.NewBuilder(0)
		b.StartObject(3)
		b.PrependUint64Slot(bufferOffset, tc.offset, 0)
		b.PrependUint64Slot(bufferSize, tc.size, 0)
		o := b.EndObject()
		b.StartVector(4, 1, 4)
		b.PrependUOffsetT(o)
		v := b.EndVector(1)
		b.StartObject(5)
		b.PrependUOffsetTSlot(modelBuffers, v, 0)
		b.FinishWithFileIdentifier(b.EndObject(), []byte("TFL3"))
		data := append(b.FinishedBytes(), make([]byte, 4096)...)[:4096]
		f := &file{buf: newBuffer(data)}
		f.readBuffers(f.buf.root("TFL3").vector(modelBuffers, 4))
		if (f.buf.err != nil) != tc.fails || !tc.fails && f.constants[0] != tc.want {
			t.Errorf("%s: %v, %v", tc.name, f.constants, f.buf.err)
		}
	}
}
