package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestRank(t *testing.T) {
	scalar := nn.Operand{Type: nn.Int32}
	runInfer(t, []inferCase{
		{name: "floats", call: call(nn.OpRank, scalar, f32(4, 5, 6)), attrs: ops.Rank{Rank: 3}, data: []int{0}},
		{name: "booleans", call: call(nn.OpRank, scalar, b8(7)), attrs: ops.Rank{Rank: 1}},
		{name: "open dimensions", call: call(nn.OpRank, scalar, f32(0, 5)), err: ops.ErrOpenShape},
		{name: "unknown rank", call: call(nn.OpRank, scalar, f32()), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"of a scalar", call(nn.OpRank, scalar, scalar)},
		{"a tensor", call(nn.OpRank, i32(1), f32(4))},
		{"two inputs", call(nn.OpRank, scalar, f32(4), f32(4))},
	})
}
