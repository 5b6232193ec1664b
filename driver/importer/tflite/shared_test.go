package tflite

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// meta is the part of a network's meta.json that an import can be compared with.
type meta struct {
	Format    struct{ Description string }
	Operators map[string]int
	Tensors   struct{ Inputs, Outputs []metaTensor }
}

type metaTensor struct {
	Name, Type string
	Shape      []int
	Signature  []int `json:"shape_signature"`
	Scale      float32
	ZeroPoint  int32 `json:"zero_point"`
}

func loadMeta(t *testing.T, dir string) meta {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNetworks(t *testing.T) {
	shared := sharedDir(t)
	for _, tc := range []struct {
		name    string
		removed int // operators that the import resolves
	}{
		{"hello_world_f32", 0},
		{"micro_speech_s8", 0},
		{"mobilenet_v1_025_224_f32", 0},
		{"mobilenet_v2_224_u8", 0},
		{"mobilenet_v2_224_s8", 0},
		{"deeplabv3_257_f32", 0},
		{"face_landmark_f16w", 113}, // DEQUANTIZE of float16 weights
		{"style_transfer_s8", 0},
		{"lstm_mnist_f32", 0},
		{"conformer_f32", 0},
		{"ssd_mobilenet_v1_u8", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(shared, "models", tc.name)
			want := loadMeta(t, dir)
			data, err := os.ReadFile(filepath.Join(dir, "model.tflite"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := Import(data)
			if err != nil {
				t.Fatal(err)
			}
			if n.Description != want.Format.Description {
				t.Errorf("description %q, want %q", n.Description, want.Format.Description)
			}
			compareTensors(t, n.Inputs, want.Tensors.Inputs)
			compareTensors(t, n.Outputs, want.Tensors.Outputs)
			counts, removed, total := map[string]int{}, 0, 0
			for i, o := range n.Operators {
				name := o.Name
				if custom, ok := strings.CutPrefix(name, "custom "); ok {
					name = "CUSTOM:" + strings.Trim(custom, `"`)
				}
				counts[fmt.Sprintf("%s v%d", name, o.Version)]++
				if o.Index != i {
					t.Errorf("operator %d says it is %d", i, o.Index)
				}
				if len(o.NN) == 0 {
					removed++
				}
				total += len(o.NN)
			}
			for name, count := range want.Operators {
				if counts[name] != count {
					t.Errorf("%d of %s, want %d", counts[name], name, count)
				}
			}
			if removed != tc.removed || total != len(n.Model.Main.Operations) {
				t.Errorf("%d operators without operation, want %d; %d of %d operations accounted for",
					removed, tc.removed, total, len(n.Model.Main.Operations))
			}
			checkConstants(t, n.Model, len(data))
		})
	}
}

func compareTensors(t *testing.T, got []importer.Tensor, want []metaTensor) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tensors, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if len(w.Shape) == 0 { // the file leaves it to who runs the network
			w.Shape = g.Shape
		}
		if g.Name != w.Name || g.Type != elementType(slices.Index(elementTypeNames[:], strings.ToUpper(w.Type))).operandName() || !slices.Equal(g.Shape, w.Shape) ||
			!slices.Equal(g.Signature, w.Signature) || g.ZeroPoint != w.ZeroPoint ||
			math.Abs(float64(g.Scale-w.Scale)) > 1e-9 {
			t.Errorf("tensor %d is %+v, want %+v", i, g, w)
		}
	}
}

// checkConstants: every constant can be read, and large ones lie in the file.
func checkConstants(t *testing.T, m *nn.Model, fileSize int) {
	t.Helper()
	widened := 0
	for i := range m.Main.Operands {
		o := &m.Main.Operands[i]
		b, err := m.Value(o)
		if err != nil {
			t.Fatalf("operand %d: %v", i, err)
		}
		if size, err := o.ByteSize(); b != nil && (err != nil || int(size) != len(b)) {
			t.Fatalf("operand %d: %d bytes for %v %v", i, len(b), o.Type, o.Dims)
		}
		if o.Lifetime == nn.ConstantCopy && len(b) > 256 {
			widened += len(b)
		}
	}
	if len(m.Values)-widened > 4096 {
		t.Errorf("%d bytes of values besides %d of widened constants, file %d", len(m.Values), widened, fileSize)
	}
}

func TestSharedMetadata(t *testing.T) {
	shared := sharedDir(t)
	data, err := os.ReadFile(filepath.Join(shared, "models", "mobilenet_v2_224_s8", "model.tflite"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := Import(data)
	if err != nil {
		t.Fatal(err)
	}
	in, out := n.Metadata.Inputs[0], n.Metadata.Outputs[0]
	if !in.Image || !slices.Equal(in.Mean, []float32{127.5}) || !slices.Equal(in.Std, []float32{127.5}) {
		t.Errorf("input %+v", in)
	}
	if out.LabelFile != "imagenet_labels.txt" || len(out.Labels) != 1001 || out.Labels[286] != "Egyptian cat" {
		t.Errorf("%d labels from %q", len(out.Labels), out.LabelFile)
	}
}
