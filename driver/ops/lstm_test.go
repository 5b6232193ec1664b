package ops_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// lstmArgs are the inputs of an LSTM of 5 steps, 2 rows, input size 3, 4 units and output size 4, without its optional parts.
func lstmArgs() []any {
	none, u := omitted(nn.TensorFloat32), f32(4)
	return []any{
		f32(5, 2, 3),
		f32(4, 3), f32(4, 3), f32(4, 3), f32(4, 3),
		f32(4, 4), f32(4, 4), f32(4, 4), f32(4, 4),
		none, none, none,
		u, u, u, u,
		none, none,
		f32(2, 4), f32(2, 4),
		4, float32(0), float32(0), true,
		none, none, none, none,
	}
}

// lstm is a call with n outputs, some of whose inputs are others.
func lstm(n int, other map[int]any) *ops.Call {
	return changed(nn.OpUnidirectionalSequenceLstm, n, lstmArgs(), other)
}

// openInput is an input of the model of open dimensions.
func openInput(d ...uint32) nn.Operand {
	return nn.Operand{Type: nn.TensorFloat32, Dims: d, Lifetime: nn.SubgraphInput}
}

// TestOptionalTensors: a request decides of each optional tensor that is an input of the model, whatever its dimensions.
func TestOptionalTensors(t *testing.T) {
	row := ops.Lookup(nn.OpUnidirectionalSequenceLstm)
	c := lstm(1, map[int]any{1: openInput(0, 0), 2: openInput(0, 0), 16: openInput(4, 4)})
	for i, want := range map[int]bool{0: false, 1: true, 2: false, 3: false, 16: true, 18: false, 20: false, 27: true} {
		if got := row.Optional(c, i); got != want {
			t.Errorf("input %d: %v", i, got)
		}
	}
	if c.Undecided() != nil || c.In(1) != nil || c.In(16) == nil {
		t.Error("a call that is bound: an optional tensor has a value if it has dimensions")
	}
	c.Unbound = true
	if got := c.Undecided(); !slices.Equal(got, []int{1, 16}) {
		t.Errorf("a request decides of %v", got)
	}
	if err := row.Check(c); err != nil { // which parts go together cannot be told yet
		t.Error(err)
	}
	if _, err := row.Infer(c); !errors.Is(err, ops.ErrNotConstant) {
		t.Error(err)
	}
	if err := row.Check(lstm(1, map[int]any{1: openInput(0)})); err == nil { // recurrent weights without input weights
		t.Error("half an input gate")
	}
}

func TestSequenceLSTM(t *testing.T) {
	none, u := omitted(nn.TensorFloat32), f32(4)
	coupled := map[int]any{1: none, 5: none, 12: none}
	plain := ops.SequenceLSTM{Act: ops.CellTanh, TimeMajor: true}
	var all []int
	for i := range 28 {
		if i < 20 || i > 23 {
			all = append(all, i)
		}
	}
	runInfer(t, []inferCase{
		{name: "plain", call: lstm(1, nil), want: nn.Dims{5, 2, 4}, attrs: plain, data: all},
		{name: "batch-major", call: lstm(1, map[int]any{0: f32(2, 5, 3), 23: false}), want: nn.Dims{2, 5, 4}, attrs: ops.SequenceLSTM{Act: ops.CellTanh}},
		{name: "clips", call: lstm(1, map[int]any{21: float32(2), 22: float32(0.5)}), want: nn.Dims{5, 2, 4},
			attrs: ops.SequenceLSTM{Act: ops.CellTanh, CellClip: 2, ProjClip: 0.5, TimeMajor: true}},
		{name: "coupled gates", call: lstm(1, coupled), want: nn.Dims{5, 2, 4}, attrs: plain},
		{name: "peephole", call: lstm(1, map[int]any{9: u, 10: u, 11: u}), want: nn.Dims{5, 2, 4}, attrs: plain},
		{name: "layer norm", call: lstm(1, map[int]any{24: u, 25: u, 26: u, 27: u}), want: nn.Dims{5, 2, 4}, attrs: plain},
		{name: "projection", call: lstm(1, map[int]any{5: f32(4, 7), 6: f32(4, 7), 7: f32(4, 7), 8: f32(4, 7), 16: f32(7, 4), 17: f32(7), 18: f32(2, 7)}),
			want: nn.Dims{5, 2, 7}, attrs: plain},
		{name: "parts that are model inputs without a value", call: lstm(1, map[int]any{1: openInput(0, 0), 5: openInput(0, 0), 12: openInput(0), 16: openInput(0, 0)}),
			want: nn.Dims{5, 2, 4}, attrs: plain},
		{name: "open weights", call: lstm(1, map[int]any{2: openInput(0, 0)}), err: ops.ErrOpenShape},
		{name: "open", call: lstm(1, map[int]any{0: f32(0, 2, 3)}), err: ops.ErrOpenShape},
	})
	inf, err := ops.Lookup(nn.OpUnidirectionalSequenceLstm).Infer(lstm(3, nil))
	if err != nil || !slices.EqualFunc(inf.Shapes, []nn.Dims{{5, 2, 4}, {2, 4}, {2, 4}}, nn.Dims.Equal) {
		t.Errorf("%+v, %v", inf, err)
	}
	runBad(t, []badCase{
		{"two outputs", lstm(2, nil)},
		{"four outputs", lstm(4, nil)},
		{"8-bit weights", lstm(1, map[int]any{2: nn.Operand{Type: nn.TensorQuant8Symm, Dims: nn.Dims{4, 3}, Scale: 1}})},
		{"8-bit weights everywhere", lstm(1, map[int]any{1: s8(4, 3), 2: s8(4, 3), 3: s8(4, 3), 4: s8(4, 3)})},
		{"float16 bias", lstm(1, map[int]any{13: f16(4)})},
		{"float16 clip", lstm(1, map[int]any{21: half(0)})},
		{"rank of the input", lstm(1, map[int]any{0: f32(5, 3)})},
		{"rank of a weight", lstm(1, map[int]any{2: f32(12)})},
		{"no forget weights", lstm(1, map[int]any{2: none})},
		{"input weights alone are missing", lstm(1, map[int]any{1: none})},
		{"input bias alone is there", lstm(1, map[int]any{1: none, 5: none})},
		{"half a peephole", lstm(1, map[int]any{10: u})},
		{"peephole without the input gate's", lstm(1, map[int]any{10: u, 11: u})},
		{"peephole of no input gate", lstm(1, map[int]any{1: none, 5: none, 12: none, 9: u, 10: u, 11: u})},
		{"projection bias alone", lstm(1, map[int]any{17: u})},
		{"layer norm without a part", lstm(1, map[int]any{24: u, 25: u, 26: u})},
		{"layer norm without the input gate's", lstm(1, map[int]any{25: u, 26: u, 27: u})},
		{"layer norm of no input gate", lstm(1, map[int]any{1: none, 5: none, 12: none, 24: u, 25: u, 26: u, 27: u})},
		{"input size", lstm(1, map[int]any{3: f32(4, 5)})},
		{"units", lstm(1, map[int]any{7: f32(3, 4)})},
		{"batch", lstm(1, map[int]any{18: f32(5, 4)})},
		{"batch-major batch", lstm(1, map[int]any{23: false})},
		{"output size without projection", lstm(1, map[int]any{5: f32(4, 7), 6: f32(4, 7), 7: f32(4, 7), 8: f32(4, 7), 18: f32(2, 7)})},
		{"RELU1", lstm(1, map[int]any{20: 2})},
		{"negative clip", lstm(1, map[int]any{22: float32(-1)})},
	})
}
