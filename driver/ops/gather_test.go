package ops_test

import (
	"reflect"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestGather(t *testing.T) {
	x := f32(4, 5, 6)
	runInfer(t, []inferCase{
		{name: "a matrix of indices", call: call(nn.OpGather, f32(), x, 1, i32(2, 3)), want: nn.Dims{4, 2, 3, 6}, attrs: ops.Gather{Axis: 1}, data: []int{0, 2}},
		{name: "negative axis", call: call(nn.OpGather, u8(), u8(4, 5), -1, i32(7)), want: nn.Dims{4, 7}, attrs: ops.Gather{Axis: 1}},
		{name: "indices at run time", call: call(nn.OpGather, f32(), x, 0, runtimeParam(7)), want: nn.Dims{7, 5, 6}, attrs: ops.Gather{}},
		{name: "open indices", call: call(nn.OpGather, f32(), x, 0, runtimeParam(0)), err: ops.ErrOpenShape},
		{name: "embedding", call: call(nn.OpEmbeddingLookup, f32(), i32(7), x), want: nn.Dims{7, 5, 6}, data: []int{0, 1}},
		{name: "embedding of bytes", call: call(nn.OpEmbeddingLookup, u8(), i32(7), u8(3, 2)), want: nn.Dims{7, 2}},
		{name: "pack", call: call(nn.OpPack, f32(), 1, f32(3, 4), f32(3, 4), f32(3, 4)), want: nn.Dims{3, 3, 4}, attrs: ops.Pack{Axis: 1}, data: []int{1, 2, 3}},
		{name: "pack one, last", call: call(nn.OpPack, u8(), 1, u8(3)), want: nn.Dims{3, 1}, attrs: ops.Pack{Axis: 1}, data: []int{1}},
		{name: "select", call: call(nn.OpSelect, f32(), b8(3, 4), f32(3, 4), f32(3, 4)), want: nn.Dims{3, 4}, data: []int{0, 1, 2}},
		{name: "select of other scales", call: call(nn.OpSelect, u8(), b8(3), scaled(u8(3), 3, 3), u8(3)), want: nn.Dims{3}},
	})
	runBad(t, []badCase{
		{"axis", call(nn.OpGather, f32(), x, 3, i32(2))},
		{"negative axis", call(nn.OpGather, f32(), x, -4, i32(2))},
		{"float indices", call(nn.OpGather, f32(), x, 0, f32(2))},
		{"booleans", call(nn.OpGather, b8(), b8(3), 0, i32(2))},
		{"scale", call(nn.OpGather, scaled(u8(), 3, 3), u8(3), 0, i32(2))},
		{"too large", call(nn.OpGather, f32(), f32(1<<16, 1<<10), 0, i32(1<<20))},
		{"values of rank 1", call(nn.OpEmbeddingLookup, f32(), i32(7), f32(3))},
		{"lookups of rank 2", call(nn.OpEmbeddingLookup, f32(), i32(7, 1), x)},
		{"embedding of another type", call(nn.OpEmbeddingLookup, f32(), i32(7), u8(3, 2))},
		{"embedding of another scale", call(nn.OpEmbeddingLookup, scaled(u8(), 3, 3), i32(7), u8(3, 2))},
		{"pack of nothing", call(nn.OpPack, f32(), 0)},
		{"pack beyond the rank", call(nn.OpPack, f32(), 3, f32(3, 4))},
		{"pack at a negative axis", call(nn.OpPack, f32(), -1, f32(3, 4))},
		{"pack of two shapes", call(nn.OpPack, f32(), 0, f32(3, 4), f32(3, 5))},
		{"pack of two types", call(nn.OpPack, f32(), 0, f32(3, 4), i32(3, 4))},
		{"pack of two scales", call(nn.OpPack, u8(), 0, u8(3), scaled(u8(3), 3, 3))},
		{"pack to another scale", call(nn.OpPack, scaled(u8(), 3, 3), 0, u8(3), u8(3))},
		{"mask of bytes", call(nn.OpSelect, f32(), u8(3, 4), f32(3, 4), f32(3, 4))},
		{"mask of another shape", call(nn.OpSelect, f32(), b8(4), f32(3, 4), f32(3, 4))},
		{"select of two shapes", call(nn.OpSelect, f32(), b8(3, 4), f32(3, 4), f32(3, 1))},
		{"select of two types", call(nn.OpSelect, f32(), b8(3), f32(3), i32(3))},
	})
}

func TestHashtableLookup(t *testing.T) {
	lookup := func(args ...any) *ops.Call {
		c := call(nn.OpHashtableLookup, f32(), args...)
		c.Graph.Operands = append(c.Graph.Operands, nn.Operand{Type: nn.TensorQuant8Asymm, Scale: 1, Lifetime: nn.SubgraphOutput})
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		return c
	}
	c := lookup(i32(7), i32(3), f32(3, 2, 4))
	row := ops.Lookup(nn.OpHashtableLookup)
	if err := row.Check(c); err != nil {
		t.Fatal(err)
	}
	inf, err := row.Infer(c)
	if want := []nn.Dims{{7, 2, 4}, {7}}; err != nil || !reflect.DeepEqual(inf.Shapes, want) {
		t.Errorf("%+v, %v", inf, err)
	}
	runBad(t, []badCase{
		{"fewer keys", lookup(i32(7), i32(2), f32(3, 2))},
		{"values of rank 1", lookup(i32(7), i32(3), f32(3))},
		{"float keys", lookup(i32(7), f32(3), f32(3, 2))},
		{"no hits", call(nn.OpHashtableLookup, f32(), i32(7), i32(3), f32(3, 2))},
		{"another type", lookup(i32(7), i32(3), i32(3, 2))},
	})
}
