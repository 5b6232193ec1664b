package ops_test

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestProposals: as a model has it, how many boxes there are is open; the counted form has all that there could be.
func TestProposals(t *testing.T) {
	about := scaled(nn.Operand{Type: nn.TensorQuant16Symm, Dims: nn.Dims{4, 4}}, ops.BoxScale, 0)
	// proposals is of 2 images of 3 by 5 positions with 4 anchors; changes are by the position among the inputs.
	proposals := func(changes map[int]any) *ops.Call {
		args := []any{f32(2, 3, 5, 4), f32(2, 3, 5, 16), f32(4, 4), f32(2, 2), float32(8), float32(4), 0, -1, float32(0.5), float32(2), false}
		for i, a := range changes {
			args[i] = a
		}
		box := f32()
		x, _ := args[0].(nn.Operand)
		if x.Type.IsQuant8() {
			box = q16()
		}
		x.Dims = nil
		return outputs(call(nn.OpGenerateProposals, x, args...), box, i32())
	}
	row := ops.Lookup(nn.OpGenerateProposals)
	base := ops.Proposals{Ratio: [2]float32{8, 4}, Overlap: 0.5, Smallest: 2}
	few, nchw := base, base
	few.Before, few.Most, nchw.NCHW = 30, 7, true
	for _, tc := range []struct {
		name  string
		call  *ops.Call
		attrs ops.Proposals
		most  uint32
	}{
		{"no limits", proposals(nil), base, 120},
		{"limits", proposals(map[int]any{6: 30, 7: 7}), few, 14},
		{"NCHW, quantised", proposals(map[int]any{0: u8(2, 4, 3, 5), 1: scaled(u8(2, 16, 3, 5), 3, 9), 2: about, 3: q16(2, 2), 10: true}), nchw, 120},
	} {
		if err := row.Check(tc.call); err != nil {
			t.Fatal(tc.name, err)
		}
		inf, err := row.Infer(tc.call)
		if err != nil || inf.Attrs != ops.Attrs(tc.attrs) || fmt.Sprint(inf.Shapes) != "[[0] [0 4] [0]]" {
			t.Errorf("%s: %+v, %v", tc.name, inf, err)
		}
		counted := *outputs(tc.call, i32()).Op
		counted.Type = ops.Counted(counted.Type)
		inf, err = ops.Lookup(counted.Type).Infer(&ops.Call{Model: tc.call.Model, Graph: tc.call.Graph, Op: &counted})
		if want := []nn.Dims{{tc.most}, {tc.most, 4}, {tc.most}, {1}}; err != nil || fmt.Sprint(inf.Shapes) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v, want %v", tc.name, inf, err, want)
		}
	}
	runBad(t, []badCase{
		{"deltas of other positions", proposals(map[int]any{1: f32(2, 3, 4, 16)})},
		{"deltas of other anchors", proposals(map[int]any{1: f32(2, 3, 5, 12)})},
		{"deltas of other images", proposals(map[int]any{1: f32(1, 3, 5, 16)})},
		{"anchors of others", proposals(map[int]any{2: f32(5, 4)})},
		{"anchors of three numbers", proposals(map[int]any{2: f32(4, 3)})},
		{"sizes of other images", proposals(map[int]any{3: f32(3, 2)})},
		{"another layout", proposals(map[int]any{10: true})},
		{"ratio 0", proposals(map[int]any{5: float32(0)})},
		{"negative overlap", proposals(map[int]any{8: float32(-1)})},
		{"unsigned anchors", proposals(map[int]any{0: u8(2, 3, 5, 4), 1: u8(2, 3, 5, 16), 2: q16(4, 4), 3: q16(2, 2)})},
		{"anchors of other scale", proposals(map[int]any{0: u8(2, 3, 5, 4), 1: u8(2, 3, 5, 16), 2: scaled(about, 1, 0), 3: q16(2, 2)})},
		{"integers", proposals(map[int]any{0: i32(2, 3, 5, 4)})},
		{"an output less", func() *ops.Call {
			c := proposals(nil)
			c.Op.Outputs = c.Op.Outputs[:2]
			return c
		}()},
		{"scores of other scale", func() *ops.Call {
			c := proposals(map[int]any{0: u8(2, 3, 5, 4), 1: u8(2, 3, 5, 16), 2: about, 3: q16(2, 2)})
			c.Graph.Operands[c.Op.Outputs[0]].Scale = 3
			return c
		}()},
	})
}
