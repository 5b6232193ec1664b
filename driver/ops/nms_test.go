package ops_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// nmsCall is BOX_WITH_NMS_LIMIT with results like those of the given scores and boxes; args are a score threshold, a limit, a
// kernel, an overlap threshold, a sigma and a threshold of lowered scores.
func nmsCall(scores, boxes, images nn.Operand, args ...any) *ops.Call {
	like := func(o nn.Operand) nn.Operand { o.Dims = nil; return o }
	c := call(nn.OpBoxWithNmsLimit, like(scores), append([]any{scores, boxes, images}, args...)...)
	for _, o := range []nn.Operand{like(boxes), i32(), i32()} {
		c.Graph.Operands = append(c.Graph.Operands, o)
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
	}
	return c
}

func hard(limit int) []any {
	return []any{float32(0.5), limit, 0, float32(0.4), float32(0), float32(0.25)}
}

// TestSelectedBoxes: as a model has it, how many boxes there are is open; its counted form has all that there could be.
func TestSelectedBoxes(t *testing.T) {
	hardAttrs := ops.BoxNMS{Score: 0.5, Limit: -1, Overlap: 0.4, Lowered: 0.25}
	gaussian := ops.BoxNMS{Score: 0.5, Limit: 2, Kernel: ops.NMSGaussian, Overlap: 0.5, Sigma: 1.5}
	for _, tc := range []struct {
		name  string
		call  *ops.Call
		attrs ops.BoxNMS
		most  uint32
	}{
		{"no limit", nmsCall(f32(5, 3), f32(5, 12), i32(5), hard(-7)...), hardAttrs, 10},
		{"one class", nmsCall(u8(5, 1), q16(5, 4), i32(5), hard(-1)...), hardAttrs, 5},
		{"limit, halves", nmsCall(f16(7, 9), f16(7, 36), i32(7), half(0x3800), 2, 2, half(0x3800), half(0x3e00), half(0)), gaussian, 14},
	} {
		row := ops.Lookup(nn.OpBoxWithNmsLimit)
		if err := row.Check(tc.call); err != nil {
			t.Fatal(tc.name, err)
		}
		inf, err := row.Infer(tc.call)
		if err != nil || inf.Attrs != ops.Attrs(tc.attrs) || fmt.Sprint(inf.Shapes) != "[[0] [0 4] [0] [0]]" {
			t.Errorf("%s: %+v, %v", tc.name, inf, err)
		}
		counted := *tc.call.Op
		counted.Type = ops.Counted(counted.Type)
		tc.call.Graph.Operands = append(tc.call.Graph.Operands, i32())
		counted.Outputs = append(counted.Outputs, uint32(len(tc.call.Graph.Operands)-1))
		inf, err = ops.Lookup(counted.Type).Infer(&ops.Call{Model: tc.call.Model, Graph: tc.call.Graph, Op: &counted})
		want := []nn.Dims{{tc.most}, {tc.most, 4}, {tc.most}, {tc.most}, {1}}
		if err != nil || inf.Attrs != ops.Attrs(tc.attrs) || fmt.Sprint(inf.Shapes) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v, want %v", tc.name, inf, err, want)
		}
	}
	if counted := ops.Counted(nn.OpBoxWithNmsLimit); counted.Valid() || ops.TakeRows.Valid() || ops.Plain(counted) != nn.OpBoxWithNmsLimit {
		t.Error("a model can have what only compilers make")
	}
	runBad(t, []badCase{
		{"boxes of other classes", nmsCall(f32(5, 3), f32(5, 8), i32(5), hard(-1)...)},
		{"boxes of other rows", nmsCall(f32(5, 3), f32(4, 12), i32(5), hard(-1)...)},
		{"images of other rows", nmsCall(f32(5, 3), f32(5, 12), i32(4), hard(-1)...)},
		{"boxes of 8 bits", nmsCall(u8(5, 3), u8(5, 12), i32(5), hard(-1)...)},
		{"float boxes of 8-bit scores", nmsCall(u8(5, 3), f32(5, 12), i32(5), hard(-1)...)},
		{"boxes of other scale", nmsCall(u8(5, 3), scaled(q16(5, 12), 0.25, 0), i32(5), hard(-1)...)},
		{"integers", nmsCall(i32(5, 3), f32(5, 12), i32(5), hard(-1)...)},
		{"kernel 3", nmsCall(f32(5, 3), f32(5, 12), i32(5), float32(0.5), -1, 3, float32(0), float32(1), float32(0))},
		{"kernel -1", nmsCall(f32(5, 3), f32(5, 12), i32(5), float32(0.5), -1, -1, float32(0), float32(1), float32(0))},
		{"sigma 0", nmsCall(f32(5, 3), f32(5, 12), i32(5), float32(0.5), -1, 2, float32(0), float32(0), float32(0))},
		{"single thresholds of halves", nmsCall(f16(5, 3), f16(5, 12), i32(5), hard(-1)...)},
		{"rank 1", nmsCall(f32(5), f32(5, 4), i32(5), hard(-1)...)},
		{"an output less", func() *ops.Call {
			c := nmsCall(f32(5, 3), f32(5, 12), i32(5), hard(-1)...)
			c.Op.Outputs = c.Op.Outputs[:3]
			return c
		}()},
		{"the output of the counted form", func() *ops.Call {
			c := nmsCall(f32(5, 3), f32(5, 12), i32(5), hard(-1)...)
			c.Op.Outputs = append(c.Op.Outputs, c.Op.Outputs[3])
			return c
		}()},
		{"more results than tensors can have", nmsCall(f32(1<<20, 1<<13), f32(1<<20, 1<<15), i32(1<<20), hard(-1)...)},
	})
	open := nmsCall(f32(0, 3), f32(0, 12), i32(0), hard(-1)...)
	if _, err := ops.Lookup(nn.OpBoxWithNmsLimit).Infer(open); !errors.Is(err, ops.ErrOpenShape) {
		t.Error(err)
	}
}

// TestTakeRows: any number of rows that there are, from the first on.
func TestTakeRows(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "of boxes", call: call(ops.TakeRows, q16(), q16(5, 4), []int32{3}), want: nn.Dims{3, 4}, attrs: ops.Slice{Begin: []int{0, 0}, Size: []int{3, 4}}},
		{name: "all", call: call(ops.TakeRows, i32(), i32(5), []int32{5}), want: nn.Dims{5}, attrs: ops.Slice{Begin: []int{0}, Size: []int{5}}},
		{name: "not known", call: call(ops.TakeRows, i32(), i32(5), runtimeParam(1)), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"more than there are", call(ops.TakeRows, i32(), i32(5), []int32{6})},
		{"fewer than none", call(ops.TakeRows, i32(), i32(5), []int32{-1})},
		{"two numbers", call(ops.TakeRows, i32(), i32(5), []int32{1, 2})},
	})
}
