package ops_test

import (
	"errors"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestTopK(t *testing.T) {
	top := func(values, indices nn.Operand, args ...any) *ops.Call {
		c := call(nn.OpTopkV2, values, args...)
		c.Graph.Operands = append(c.Graph.Operands, indices)
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		return c
	}
	row := ops.Lookup(nn.OpTopkV2)
	c := top(s8(), i32(), s8(2, 3, 7), 7)
	if err := row.Check(c); err != nil {
		t.Fatal(err)
	}
	inf, err := row.Infer(c)
	if err != nil || len(inf.Shapes) != 2 || !inf.Shapes[0].Equal(nn.Dims{2, 3, 7}) || !inf.Shapes[1].Equal(nn.Dims{2, 3, 7}) || inf.Attrs != (ops.TopK{K: 7}) {
		t.Errorf("%+v, %v", inf, err)
	}
	if _, err := row.Infer(top(f32(), i32(), f32(2, 3), nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput})); !errors.Is(err, ops.ErrNotConstant) {
		t.Errorf("k of the request: %v", err)
	}
	runBad(t, []badCase{
		{"none", top(f32(), i32(), f32(2, 3), 0)},
		{"fewer than none", top(f32(), i32(), f32(2, 3), -1)},
		{"more than there are", top(f32(), i32(), f32(2, 3), 4)},
		{"booleans", top(b8(), i32(), b8(3), 1)},
		{"scale", top(scaled(u8(), 3, 3), i32(), u8(3), 1)},
		{"type of the values", top(f16(), i32(), f32(3), 1)},
		{"type of the indices", top(f32(), f32(), f32(3), 1)},
		{"float k", top(f32(), i32(), f32(3), float32(1))},
		{"no k", top(f32(), i32(), f32(3))},
		{"values only", call(nn.OpTopkV2, f32(), f32(3), 1)},
	})
}
