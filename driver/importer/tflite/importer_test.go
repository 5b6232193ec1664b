package tflite

import (
	"archive/zip"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/importer"
	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// One error names everything in the way, and nothing that merely follows from it.
func TestUnsupportedNamesAll(t *testing.T) {
	n := &net{}
	x := n.input(g.Float32, none, 2, 3)
	s := n.input(g.String, none, 4)
	a := n.op(g.OpAdd, g.AddOptions{}, f32(2, 3), x, x)
	b := n.op(g.OpCumsum, g.CumsumOptions{}, f32(2, 3), a, n.ints(nil, 0))
	c := n.op(g.OpMul, g.MulOptions{}, f32(2, 3), b, b)
	d := n.op(g.OpCustom, nil, f32(), c)
	n.g.Operators[3].CustomCode, n.g.Operators[3].Version = "Mine", 2
	e := n.op(g.OpConv2D, g.Conv2DOptions{}, f32(), d, n.floats(1, 1, 1, 1)) // its input's shape is not known
	f := n.op(g.OpAdd, g.AddOptions{Activation: g.ActivationSignBit}, f32(2, 3), c, c)
	n.g.Operators[5].Version = 2
	h := n.op(g.OpRelu, nil, f32(2, 3), f)
	n.g.Operators[6].Version = 99
	_, err := Import(n.file(t, e, h, s))
	var u *importer.UnsupportedError
	if !errors.As(err, &u) {
		t.Fatal(err)
	}
	want := `cannot import: input 1 "x" (STRING tensor), operator 1 CUMSUM v1, operator 3 custom "Mine" v2, ` +
		`operator 5 ADD v2 (fused SIGN_BIT), operator 6 RELU v99 (only versions up to 3 are known)`
	if u.Error() != want {
		t.Errorf("error %s\nwant  %s", u, want)
	}
	if nn.StatusOf(err) != nn.StatusInvalidArgument {
		t.Errorf("status %v", nn.StatusOf(err))
	}
}

func TestRefusedTensors(t *testing.T) {
	runTranslations(t, []translation{
		{name: "variable", err: "ADD v1 (input 1: variable tensor", build: func(n *net) int {
			x := n.input(g.Float32, none, 2)
			return n.op(g.OpAdd, nil, f32(2), x, n.tensor(g.Tensor{Shape: []int{2}, IsVariable: true}))
		}},
		{name: "64-bit input", err: "operator 0 ABS v1 (input 0: INT64 tensor)", build: func(n *net) int {
			return n.op(g.OpAbs, nil, shaped(g.Int64, none, 2), n.input(g.Int64, none, 2))
		}},
		{name: "complex output", err: "operator 0 ABS v1 (output: COMPLEX64 tensor)", build: func(n *net) int {
			return n.op(g.OpAbs, nil, shaped(g.Complex64, none, 2), n.input(g.Float32, none, 2))
		}},
		{name: "empty input", err: "shape [2 0] with an empty dimension", build: func(n *net) int {
			return n.op(g.OpAbs, nil, f32(2, 0), n.input(g.Float32, none, 2, 0))
		}},
		{name: "control flow", err: "operator 0 WHILE v1", build: func(n *net) int {
			return n.op(g.OpWhile, g.WhileOptions{}, f32(2), n.input(g.Float32, none, 2))
		}},
	})
}

// Outputs that no operation writes for itself are copied: each operand has one lifetime.
func TestOutputCopies(t *testing.T) {
	n := &net{}
	x := n.input(g.Float32, none, 2, 3)
	y := n.op(g.OpAbs, nil, f32(2, 3), x)
	got, err := imported(n.file(t, y, y, x, n.floats(5)))
	if err != nil {
		t.Fatal(err)
	}
	m := got.Model
	if s := operations(m); s != "ABS RESHAPE RESHAPE RESHAPE" {
		t.Errorf("operations %s", s)
	}
	seen := map[uint32]bool{}
	for i, o := range m.Main.Outputs {
		if m.Main.Operands[o].Lifetime != nn.SubgraphOutput || seen[o] {
			t.Errorf("output %d is operand %d with lifetime %v", i, o, m.Main.Operands[o].Lifetime)
		}
		seen[o] = true
	}
	if len(got.Outputs) != 4 || !slices.Equal(m.Names.Outputs, []string{"y", "y", "x", "w"}) {
		t.Errorf("outputs %+v, names %v", got.Outputs, m.Names)
	}
}

func TestConstantsAreNotCopied(t *testing.T) {
	n := &net{}
	x := n.input(g.Float32, none, 2, 3)
	data := n.file(t, n.op(g.OpFullyConnected, nil, f32(2, 50), x, n.floats(50, 3), n.floats(50)))
	got, err := Import(data)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Model
	w := &m.Main.Operands[m.Main.Operations[0].Inputs[1]]
	v, err := m.Value(w)
	if err != nil || len(v) != 600 || &v[0] != &data[w.Location.Offset] {
		t.Errorf("weights at %+v, %v", w.Location, err)
	}
	if len(m.Values) > 64 {
		t.Errorf("%d bytes of values", len(m.Values))
	}
}

func TestOpenDimensions(t *testing.T) {
	n := &net{}
	x := n.input(g.Float32, none, 1, 3)
	n.g.Tensors[x].ShapeSignature = []int{-1, 3}
	got, err := Import(n.file(t, n.op(g.OpAbs, nil, f32(1, 3), x)))
	if err != nil {
		t.Fatal(err)
	}
	if in := got.Inputs[0]; !slices.Equal(in.Shape, []int{1, 3}) || !slices.Equal(in.Signature, []int{-1, 3}) {
		t.Errorf("input %+v", in)
	}
	if got.Outputs[0].Signature != nil {
		t.Errorf("output %+v", got.Outputs[0])
	}
}

// Subgraphs that nothing refers to do not matter.
func TestOtherSubgraphs(t *testing.T) {
	n := &net{}
	n.g.Outputs = []int{n.op(g.OpAbs, nil, f32(2), n.input(g.Float32, none, 2))}
	m := n.model()
	m.Subgraphs = append(m.Subgraphs, g.Subgraph{Operators: []g.Op{{Code: g.OpWhile}}})
	if _, err := Import(marshal(t, m)); err != nil {
		t.Error(err)
	}
}

func metadataFile(t testing.TB, info *g.ModelInfo, labels string) []byte {
	n := &net{}
	x := n.input(g.Float32, none, 1, 2, 2, 3)
	n.g.Outputs = []int{n.op(g.OpMean, nil, f32(1, 3), x, n.ints([]int{2}, 1, 2))}
	m := n.model()
	m.Info = info
	data := marshal(t, m)
	if labels == "" {
		return data
	}
	var b bytes.Buffer
	b.Write(data)
	w := zip.NewWriter(&b)
	w.SetOffset(int64(len(data)))
	f, err := w.Create("labels.txt")
	if err == nil {
		_, err = f.Write([]byte(labels))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testInfo() *g.ModelInfo {
	return &g.ModelInfo{
		Name: "net", Description: "d", Version: "1", Author: "a", License: "l",
		Inputs: []g.TensorInfo{{
			Name: "image", Image: &g.ImageInfo{Color: g.ColorRGB},
			Normalize: &g.Normalization{Mean: []float32{1, 2, 3}, Std: []float32{4}},
		}},
		Outputs: []g.TensorInfo{{Name: "class", LabelFile: "labels.txt"}},
	}
}

func TestMetadata(t *testing.T) {
	got, err := Import(metadataFile(t, testInfo(), "cat\r\ndog\n\nbird\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := got.Metadata
	if m.Name != "net" || m.Author != "a" || m.License != "l" || m.Version != "1" || m.Description != "d" {
		t.Errorf("%+v", m)
	}
	in, out := m.Inputs[0], m.Outputs[0]
	if !in.Image || in.Name != "image" || !slices.Equal(in.Mean, []float32{1, 2, 3}) || !slices.Equal(in.Std, []float32{4}) {
		t.Errorf("input %+v", in)
	}
	if out.LabelFile != "labels.txt" || !slices.Equal(out.Labels, []string{"cat", "dog", "", "bird"}) {
		t.Errorf("output %+v", out)
	}
}

func TestMetadataFaults(t *testing.T) {
	t.Run("no archive", func(t *testing.T) {
		got, err := Import(metadataFile(t, testInfo(), ""))
		if err != nil || got.Metadata.Outputs[0].Labels != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("no metadata", func(t *testing.T) {
		got, err := Import(metadataFile(t, nil, ""))
		if err != nil || got.Metadata.Inputs != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for _, tc := range []struct {
		name   string
		change func(*g.ModelInfo)
		labels string
		want   string
	}{
		{"standard deviation 0", func(i *g.ModelInfo) { i.Inputs[0].Normalize.Std = []float32{0} }, "", "standard deviation 0"},
		{"labels too large", func(*g.ModelInfo) {}, strings.Repeat("x", maxLabelBytes+1), "more than 1048576 bytes"},
		{"labels not text", func(*g.ModelInfo) {}, "\xFF", "is not UTF-8 text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			info := testInfo()
			tc.change(info)
			if _, err := Import(metadataFile(t, info, tc.labels)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
