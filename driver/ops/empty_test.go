package ops_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestRowsTakeTensorsWithoutElements: where the HAL does, which is since 1.2.
func TestRowsTakeTensorsWithoutElements(t *testing.T) {
	raw, err := os.ReadFile(nntest.Shared(t, "nnapi", "operations.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Operations []struct {
			Name string
			OK   bool `json:"zero_sized_input_ok"`
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, f := range all.Operations {
		op, err := nn.ParseOperationType(f.Name)
		if row := ops.Lookup(op); err == nil && row != nil && f.OK {
			checked++
			if row.Empty == ops.NoneEmpty {
				t.Errorf("%s takes none", f.Name)
			}
		}
	}
	if checked < 28 {
		t.Errorf("%d operations", checked)
	}
}

// TestEmpty: what follows from tensors without elements, which have a size of 0 where calls have sizes, and are open otherwise.
func TestEmpty(t *testing.T) {
	conv := func(x, w, b nn.Operand) *ops.Call { return call(nn.OpConv2D, f32(), x, w, b, 1, 1, 1, 0, false) }
	for _, tc := range []struct {
		name string
		call *ops.Call
		want string // "": refused
	}{
		{"ADD", call(nn.OpAdd, f32(), f32(0, 2, 3), f32(1, 3), 0), "[0 2 3]"},
		{"ADD to one element", call(nn.OpAdd, f32(), f32(1, 3), f32(0, 1), 0), "[0 3]"},
		{"ADD to two", call(nn.OpAdd, f32(), f32(2, 3), f32(0, 3), 0), ""},
		{"RELU", call(nn.OpRelu, f32(), f32(3, 0)), "[3 0]"},
		{"CONCATENATION", call(nn.OpConcatenation, f32(), f32(0, 3), f32(2, 3), f32(0, 3), 0), "[2 3]"},
		{"CONCATENATION of nothing", call(nn.OpConcatenation, f32(), f32(0, 3), f32(0, 3), 0), "[0 3]"},
		{"CONCATENATION of other rows", call(nn.OpConcatenation, f32(), f32(0, 3), f32(2, 3), 1), ""},
		{"CONV_2D", conv(f32(0, 4, 4, 3), f32(5, 1, 1, 3), f32(5)), "[0 4 4 5]"},
		{"CONV_2D of images without pixels", conv(f32(2, 0, 4, 3), f32(5, 1, 1, 3), f32(5)), ""},
		{"CONV_2D by no filters", conv(f32(2, 4, 4, 3), f32(0, 1, 1, 3), f32(0)), ""},
		{"CONV_2D without channels", conv(f32(0, 4, 4, 0), f32(5, 1, 1, 0), f32(5)), ""},
		{"DEPTHWISE_CONV_2D without channels", call(nn.OpDepthwiseConv2D, f32(), f32(0, 4, 4, 0), f32(1, 1, 1, 0), f32(0), 1, 1, 1, 1, 0, false), ""},
		{"FULLY_CONNECTED", call(nn.OpFullyConnected, f32(), f32(0, 4), f32(5, 4), f32(5), 0), "[0 5]"},
		{"FULLY_CONNECTED with weights of nothing", call(nn.OpFullyConnected, f32(), f32(0, 0), f32(5, 0), f32(5), 0), ""},
		{"SLICE", call(nn.OpSlice, f32(), f32(0, 5), []int32{0, 1}, []int32{-1, 2}), "[0 2]"},
		{"SLICE of more than nothing", call(nn.OpSlice, f32(), f32(0, 5), []int32{0, 1}, []int32{1, 2}), ""},
		{"SLICE of nothing from behind it", call(nn.OpSlice, f32(), f32(0, 5), []int32{1, 1}, []int32{-1, 2}), ""},
		{"SLICE of what is left of something", call(nn.OpSlice, f32(), f32(3, 5), []int32{3, 1}, []int32{-1, 2}), ""},
		{"the first rows of nothing", call(ops.TakeRows, i32(), i32(0), []int32{0}), "[0]"},
		{"no rows", call(ops.TakeRows, i32(), i32(5, 2), []int32{0}), "[0 2]"},
		{"RESHAPE", call(nn.OpReshape, f32(), f32(0, 2, 3), []int32{-1, 6}), "[0 6]"},
		{"RESHAPE to something", call(nn.OpReshape, f32(), f32(0, 2, 3), []int32{2, 3}), ""},
		{"ROI_ALIGN", call(nn.OpRoiAlign, f32(), f32(2, 7, 9, 5), f32(0, 4), i32(0), 2, 3, float32(1), float32(1), 0, 0, false), "[0 2 3 5]"},
		{"BOX_WITH_NMS_LIMIT", call(nn.OpBoxWithNmsLimit, f32(), f32(0, 3), f32(0, 12), i32(0), float32(0.5), -1, 0, float32(0.4), float32(0), float32(0)), ""},
		{"MEAN", call(nn.OpMean, f32(), f32(0, 3), []int32{0}, 0), ""},
	} {
		row := ops.Lookup(tc.call.Op.Type)
		infer := func(sized bool) (string, error) {
			c := *tc.call
			c.Sized = sized
			if err := row.Check(&c); err != nil {
				return "", err
			}
			inf, err := row.Infer(&c)
			if err != nil {
				return "", err
			}
			return fmt.Sprint([]uint32(inf.Shapes[0])), nil
		}
		if got, err := infer(true); got != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.name, got, err, tc.want)
		}
		if got, err := infer(false); err == nil || tc.want != "" && tc.name != "no rows" && !errors.Is(err, ops.ErrOpenShape) {
			t.Errorf("%s, open: %s, %v", tc.name, got, err)
		}
	}
	c := nmsCall(f32(0, 3), f32(0, 12), i32(0), hard(-1)...)
	c.Op.Type, c.Sized = ops.Counted(c.Op.Type), true
	c.Graph.Operands = append(c.Graph.Operands, i32())
	c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
	if inf, err := ops.Lookup(c.Op.Type).Infer(c); err != nil || fmt.Sprint(inf.Shapes) != "[[0] [0 4] [0] [0] [1]]" {
		t.Errorf("%+v, %v", inf, err)
	}
}
