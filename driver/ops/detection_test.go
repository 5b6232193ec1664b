package ops_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// outputs appends more outputs to c.
func outputs(c *ops.Call, more ...nn.Operand) *ops.Call {
	for _, o := range more {
		c.Graph.Operands = append(c.Graph.Operands, o)
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
	}
	return c
}

func TestDetection(t *testing.T) {
	row := ops.Lookup(nn.OpDetectionPostprocessing)
	// detection has parameters of float32; changes are by the position among the inputs.
	detection := func(changes map[int]any) *ops.Call {
		args := []any{f32(2, 7, 5), f32(2, 7, 6), f32(7, 4), float32(10), float32(9), float32(5), float32(4), false, 3, 2, 0, float32(0.25), float32(0.5), true}
		for i, a := range changes {
			args[i] = a
		}
		return outputs(call(nn.OpDetectionPostprocessing, f32(), args...), f32(), i32(), i32())
	}
	scale := [4]float32{10, 9, 5, 4}
	for _, tc := range []struct {
		name  string
		call  *ops.Call
		want  uint32
		attrs ops.Detection
	}{
		{"by the best class", detection(nil), 6, ops.Detection{Scale: scale, Detections: 3, ClassesPerBox: 2, Score: 0.25, Overlap: 0.5, Background: true}},
		{"in each class", detection(map[int]any{7: true, 9: -1, 10: 4, 13: false}), 3,
			ops.Detection{Scale: scale, Regular: true, Detections: 3, DetectionsPerClass: 4, Score: 0.25, Overlap: 0.5}},
		{"any score", detection(map[int]any{11: float32(-1)}), 6, ops.Detection{Scale: scale, Detections: 3, ClassesPerBox: 2, Score: -1, Overlap: 0.5, Background: true}},
		{"halves", outputs(call(nn.OpDetectionPostprocessing, f16(), f16(2, 7, 5), f16(2, 7, 4), f16(7, 4), half(0x4900), half(0x4880), half(0x4500), half(0x4400),
			true, 5, 1, 1, half(0), half(0x3800), false), f16(), i32(), i32()), 5,
			ops.Detection{Scale: scale, Regular: true, Detections: 5, DetectionsPerClass: 1, Overlap: 0.5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := row.Check(tc.call); err != nil {
				t.Fatal(err)
			}
			inf, err := row.Infer(tc.call)
			if err != nil {
				t.Fatal(err)
			}
			want := []nn.Dims{{2, tc.want}, {2, tc.want, 4}, {2, tc.want}, {2}}
			if !slices.EqualFunc(inf.Shapes, want, func(a, b nn.Dims) bool { return a.Equal(b) }) || inf.Attrs != tc.attrs {
				t.Errorf("%v, %+v", inf.Shapes, inf.Attrs)
			}
		})
	}
	request := nn.Operand{Type: nn.Bool, Lifetime: nn.SubgraphInput}
	runInfer(t, []inferCase{{name: "kind of the request", call: detection(map[int]any{7: request, 9: 0}), err: ops.ErrNotConstant}})
	runBad(t, []badCase{
		{"no class but the background", detection(map[int]any{0: f32(2, 7, 1)})},
		{"deltas of other images", detection(map[int]any{1: f32(1, 7, 4)})},
		{"deltas of other anchors", detection(map[int]any{1: f32(2, 6, 4)})},
		{"deltas of three numbers", detection(map[int]any{1: f32(2, 7, 3)})},
		{"anchors of others", detection(map[int]any{2: f32(6, 4)})},
		{"anchors of five numbers", detection(map[int]any{2: f32(7, 5)})},
		{"scale 0", detection(map[int]any{5: float32(0)})},
		{"no detections", detection(map[int]any{8: 0})},
		{"of no classes", detection(map[int]any{9: 0})},
		{"none of a class", detection(map[int]any{7: true})},
		{"negative overlap", detection(map[int]any{12: float32(-0.5)})},
		{"more than there can be", detection(map[int]any{8: 1 << 20, 9: 1 << 20})},
		{"bytes", detection(map[int]any{0: u8(2, 7, 5)})},
		{"deltas of other type", detection(map[int]any{1: f16(2, 7, 4)})},
		{"a threshold of other type", detection(map[int]any{11: half(0)})},
		{"float classes", outputs(call(nn.OpDetectionPostprocessing, f32(), f32(2, 7, 5), f32(2, 7, 6), f32(7, 4), float32(10), float32(9), float32(5), float32(4),
			false, 3, 2, 0, float32(0.25), float32(0.5), true), f32(), f32(), i32())},
	})
}
