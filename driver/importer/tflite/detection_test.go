package tflite

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// flexMapOf writes a flexbuffer that is a map of 32-bit integers, floats and booleans; nil is null.
func flexMapOf(m map[string]any) []byte {
	names := slices.Sorted(maps.Keys(m))
	var b []byte
	at := map[string]int{}
	for _, name := range names {
		at[name] = len(b)
		b = append(append(b, name...), 0)
	}
	word := func(v uint32) { b = binary.LittleEndian.AppendUint32(b, v) }
	word(uint32(len(names)))
	keys := len(b)
	for _, name := range names {
		word(uint32(len(b) - at[name]))
	}
	word(uint32(len(b) - keys))
	word(4) // width of a key's offset
	word(uint32(len(names)))
	values := len(b)
	var kinds []byte
	for _, name := range names {
		switch v := m[name].(type) {
		case nil:
			word(0)
			kinds = append(kinds, 0)
		case int:
			word(uint32(v))
			kinds = append(kinds, flexInt<<2|2)
		case bool:
			word(map[bool]uint32{true: 1}[v])
			kinds = append(kinds, flexBool<<2|2)
		case float64:
			word(math.Float32bits(float32(v)))
			kinds = append(kinds, flexFloat<<2|2)
		}
	}
	b = append(b, kinds...)
	word(uint32(len(b) - values))
	return append(b, flexMap<<2|2, 4)
}

// detectionMap has the options of a detector of 4 classes, and changes.
func detectionMap(changes map[string]any) map[string]any {
	m := map[string]any{
		"max_detections": 5, "max_classes_per_detection": 1, "num_classes": 4, "nms_score_threshold": 0.25, "nms_iou_threshold": 0.5,
		"y_scale": 10.0, "x_scale": 10, "h_scale": 5.0, "w_scale": 5.0, "_output_quantized": true, "use_regular_nms": nil,
	}
	maps.Copy(m, changes)
	return m
}

// detections adds a TFLite_Detection_PostProcess of 7 anchors and returns how many it finds.
func (n *net) detections(options []byte, typ g.TensorType, q g.Quant, classes int) int {
	in := []int{n.input(typ, q, 1, 7, 4), n.input(typ, q, 1, 7, classes)}
	if typ == g.Uint8 {
		in = append(in, n.bytes(typ, q, 7, 4))
	} else {
		in = append(in, n.floats(7, 4))
	}
	op := g.Op{Code: g.OpCustom, CustomCode: "TFLite_Detection_PostProcess", CustomOptions: options, Inputs: in}
	for range 4 {
		op.Outputs = append(op.Outputs, n.tensor(f32()))
	}
	n.g.Operators = append(n.g.Operators, op)
	return op.Outputs[3]
}

func TestDetectionImport(t *testing.T) {
	of := func(changes map[string]any) func(n *net) int {
		return func(n *net) int { return n.detections(flexMapOf(detectionMap(changes)), g.Float32, none, 5) }
	}
	runTranslations(t, []translation{
		{name: "floats", want: "DETECTION_POSTPROCESSING CAST CAST", build: of(nil), check: func(t *testing.T, m *nn.Model) {
			op := m.Main.Operations[0]
			for i, want := range map[int]float32{3: 10, 4: 10, 5: 5, 6: 5, 11: math.Nextafter32(0.25, 0), 12: math.Nextafter32(0.5, 1)} {
				if got := constantFloats(t, m, op.Inputs[i]); got[0] != want {
					t.Errorf("input %d is %v, want %v", i, got, want)
				}
			}
			for i, want := range map[int]int32{8: 5, 9: 1, 10: 100} {
				if got := constantInts(t, m, op.Inputs[i]); got[0] != want {
					t.Errorf("input %d is %v, want %v", i, got, want)
				}
			}
			if scores := m.Main.Operands[op.Inputs[0]].Dims; scores[2] != 5 {
				t.Errorf("scores %v", scores)
			}
		}},
		{name: "in each class", want: "DETECTION_POSTPROCESSING CAST CAST", build: of(map[string]any{"use_regular_nms": true, "detections_per_class": 3})},
		{name: "from score 0 on", want: "DETECTION_POSTPROCESSING CAST CAST", build: of(map[string]any{"nms_score_threshold": 0.0}),
			check: func(t *testing.T, m *nn.Model) {
				if v := constantFloats(t, m, m.Main.Operations[0].Inputs[11]); !(v[0] < 0) {
					t.Errorf("threshold %v", v)
				}
			}},
		{name: "bytes", want: "DEQUANTIZE DEQUANTIZE DEQUANTIZE DETECTION_POSTPROCESSING CAST CAST", build: func(n *net) int {
			return n.detections(flexMapOf(detectionMap(nil)), g.Uint8, g.PerTensor(0.5, 3), 5)
		}},
		{name: "without the background", want: "PAD DETECTION_POSTPROCESSING CAST CAST", build: func(n *net) int {
			return n.detections(flexMapOf(detectionMap(nil)), g.Float32, none, 4)
		}},
		{name: "several classes of a box", want: "DETECTION_POSTPROCESSING CAST DIV CAST", build: of(map[string]any{"max_classes_per_detection": 2})},
		{name: "several classes, each by itself", err: "2 classes per detection", build: of(map[string]any{"max_classes_per_detection": 2, "use_regular_nms": true})},
		{name: "more classes than there are", err: "5 classes per detection of 4", build: of(map[string]any{"max_classes_per_detection": 5})},
		{name: "scores of others", err: "of 7 classes", build: of(map[string]any{"num_classes": 7})},
		{name: "no detections", err: "max_detections is 0", build: of(map[string]any{"max_detections": 0})},
		{name: "too many", err: "too large", build: of(map[string]any{"max_detections": math.MaxInt32 / 8})},
		{name: "scale 0", err: "h_scale is 0", build: of(map[string]any{"h_scale": 0})},
		{name: "a scale that is no number", err: "w_scale is NaN", build: of(map[string]any{"w_scale": math.NaN()})},
		{name: "no threshold", err: "nms_score_threshold is 0", build: of(map[string]any{"nms_score_threshold": nil})},
		{name: "overlap beyond 1", err: "nms_iou_threshold is 1.5", build: of(map[string]any{"nms_iou_threshold": 1.5})},
		{name: "no options", err: "options of 0 bytes", build: func(n *net) int { return n.detections(nil, g.Float32, none, 5) }},
		{name: "other options", err: "instead of a map", build: func(n *net) int { return n.detections([]byte{1, flexInt << 2, 1}, g.Float32, none, 5) }},
		{name: "an output less", err: "3 outputs", build: func(n *net) int {
			y := n.detections(flexMapOf(detectionMap(nil)), g.Float32, none, 5)
			op := &n.g.Operators[0]
			op.Outputs = op.Outputs[1:]
			return y
		}},
		{name: "a later version", err: "only versions up to 1", build: func(n *net) int {
			y := n.detections(flexMapOf(detectionMap(nil)), g.Float32, none, 5)
			n.g.Operators[0].Version = 2
			return y
		}},
		{name: "integers", err: "TENSOR_INT32", build: func(n *net) int {
			return n.detections(flexMapOf(detectionMap(nil)), g.Int32, none, 5)
		}},
		{name: "classes as integers", err: "INT32 output", build: func(n *net) int {
			y := n.detections(flexMapOf(detectionMap(nil)), g.Float32, none, 5)
			n.g.Tensors[n.g.Operators[0].Outputs[1]].Type = g.Int32
			return y
		}},
	})
}

// TestFlexNumbers: values of all widths, in place and referred to.
func TestFlexNumbers(t *testing.T) {
	// A map as the flatbuffers library writes it: {"a": -3, "b": 2.5 as a double, "c": true, "d": 40000 indirectly, "e": "text"}.
	b := []byte{'a', 0, 'b', 0, 'c', 0, 'd', 0, 'e', 0, 4, 't', 'e', 'x', 't', 0, 0x40, 0x9c} // d at 16
	b = append(b, 5)
	keys := len(b)
	for i := range 5 {
		b = append(b, byte(len(b)-2*i))
	}
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	long := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	long(uint64(len(b) - keys))
	long(1)
	long(5)
	values := len(b)
	long(uint64(0xfffffffffffffffd)) // -3
	long(math.Float64bits(2.5))
	long(1)
	long(uint64(len(b) - 16))
	long(uint64(len(b) - 11))
	b = append(b, flexInt<<2|3, flexFloat<<2|3, flexBool<<2|3, flexIndirectUint<<2|1, 5<<2)
	b = append(b, byte(len(b)-values), flexMap<<2|3, 1)
	got, err := flexNumbers(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]float64{"a": -3, "b": 2.5, "c": 1, "d": 40000}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDamagedOptions: whatever the bytes are, reading them ends, in bounds.
func TestDamagedOptions(t *testing.T) {
	whole := flexMapOf(detectionMap(nil))
	if _, err := readDetectionOptions(whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := readDetectionOptions(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes pass", n, len(whole))
		}
	}
	for i := range whole {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			b := slices.Clone(whole)
			b[i] ^= v
			if o, err := readDetectionOptions(b); err == nil && (o.detections < 1 || !(o.overlap > 0)) {
				t.Errorf("byte %d ^ %#x: %+v", i, v, o)
			}
		}
	}
	twice := []byte(strings.ReplaceAll(string(whole), "x_scale", "y_scale"))
	if _, err := readDetectionOptions(twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("error %v", err)
	}
	if _, err := flexNumbers([]byte{1, 2, flexMap << 2, 3}); err == nil {
		t.Error("a width of 3 bytes passes")
	}
}
