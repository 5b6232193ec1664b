package ops_test

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// caller builds a call of one operation.
type caller struct {
	model nn.Model
	op    nn.Operation
}

func (c *caller) add(o nn.Operand) uint32 {
	c.model.Main.Operands = append(c.model.Main.Operands, o)
	return uint32(len(c.model.Main.Operands) - 1)
}

// in appends input operands: nn.Operand as it is, int for an INT32, bool for a BOOL, float32 for a
// FLOAT32, half for a FLOAT16, []int32 for a TENSOR_INT32 of rank 1, [][2]int32 for paddings.
func (c *caller) in(args ...any) *caller {
	for _, a := range args {
		c.op.Inputs = append(c.op.Inputs, c.add(c.operand(a)))
	}
	return c
}

type half uint16

func (c *caller) operand(a any) nn.Operand {
	o := nn.Operand{Lifetime: nn.ConstantCopy}
	var data []byte
	word := func(v int32) { data = binary.LittleEndian.AppendUint32(data, uint32(v)) }
	switch a := a.(type) {
	case nn.Operand:
		return a
	case int:
		o.Type = nn.Int32
		word(int32(a))
	case bool:
		o.Type = nn.Bool
		data = []byte{0}
		if a {
			data[0] = 1
		}
	case float32:
		o.Type = nn.Float32
		word(int32(math.Float32bits(a)))
	case half:
		o.Type = nn.Float16
		data = binary.LittleEndian.AppendUint16(nil, uint16(a))
	case []int32:
		o.Type, o.Dims = nn.TensorInt32, nn.Dims{uint32(len(a))}
		for _, v := range a {
			word(v)
		}
	case [][2]int32:
		o.Type, o.Dims = nn.TensorInt32, nn.Dims{uint32(len(a)), 2}
		for _, v := range a {
			word(v[0])
			word(v[1])
		}
	default:
		panic("argument of an unknown kind")
	}
	o.Location = nn.Location{Offset: uint32(len(c.model.Values)), Length: uint32(len(data))}
	c.model.Values = append(c.model.Values, data...)
	return o
}

func call(t nn.OperationType, out nn.Operand, args ...any) *ops.Call {
	c := &caller{op: nn.Operation{Type: t}}
	c.in(args...)
	c.op.Outputs = []uint32{c.add(out)}
	return &ops.Call{Model: &c.model, Graph: &c.model.Main, Op: &c.op}
}

// f32, f16, i32, b8, u8 and s8 are tensors of the given dimensions, written by others; the 8-bit numbers have
// scale 1/2 and zero point 3.
func f32(d ...uint32) nn.Operand { return nn.Operand{Type: nn.TensorFloat32, Dims: d} }
func f16(d ...uint32) nn.Operand { return nn.Operand{Type: nn.TensorFloat16, Dims: d} }
func i32(d ...uint32) nn.Operand { return nn.Operand{Type: nn.TensorInt32, Dims: d} }
func b8(d ...uint32) nn.Operand  { return nn.Operand{Type: nn.TensorBool8, Dims: d} }
func u8(d ...uint32) nn.Operand {
	return nn.Operand{Type: nn.TensorQuant8Asymm, Dims: d, Scale: 0.5, ZeroPoint: 3}
}
func s8(d ...uint32) nn.Operand {
	return nn.Operand{Type: nn.TensorQuant8AsymmSigned, Dims: d, Scale: 0.5, ZeroPoint: 3}
}

// scaled gives o other quantisation.
func scaled(o nn.Operand, scale float32, zero int32) nn.Operand {
	o.Scale, o.ZeroPoint = scale, zero
	return o
}

// channels is a filter with a scale for each index of dimension dim.
func channels(dim uint32, d ...uint32) nn.Operand {
	q := &nn.ChannelQuant{ChannelDim: dim, Scales: make([]float32, d[dim])}
	for i := range q.Scales {
		q.Scales[i] = 0.25
	}
	return nn.Operand{Type: nn.TensorQuant8PerChannel, Dims: d, Channel: q}
}

func omitted(t nn.OperandType) nn.Operand { return nn.Operand{Type: t, Lifetime: nn.NoValue} }

// inferCase expects Infer to give want and attrs (nil: all zero), or one of the sentinels.
type inferCase struct {
	name  string
	call  *ops.Call
	want  nn.Dims
	attrs ops.Attrs
	data  []int
	err   error
}

func runInfer(t *testing.T, cases []inferCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			row := ops.Lookup(tc.call.Op.Type)
			if err := row.Check(tc.call); err != nil {
				t.Fatalf("check: %v", err)
			}
			got, err := row.Infer(tc.call)
			if tc.err != nil {
				if !errors.Is(err, tc.err) {
					t.Fatalf("error %v instead of %v", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Shapes) != 1 || !got.Shapes[0].Equal(tc.want) {
				t.Errorf("shapes %v, want %v", got.Shapes, tc.want)
			}
			if zero := tc.attrs == nil && got.Attrs != nil && reflect.ValueOf(got.Attrs).IsZero(); !zero && !reflect.DeepEqual(got.Attrs, tc.attrs) {
				t.Errorf("attributes\n%+v, want\n%+v", got.Attrs, tc.attrs)
			}
			data := row.Tensors(tc.call)
			if got.RuntimeParam != 0 {
				data = append(data, got.RuntimeParam)
			}
			if tc.data != nil && !reflect.DeepEqual(data, tc.data) {
				t.Errorf("tensors %v, want %v", data, tc.data)
			}
		})
	}
}

// badCase expects Check to refuse, or else Infer with an error that is no sentinel.
type badCase struct {
	name string
	call *ops.Call
}

func runBad(t *testing.T, cases []badCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			row := ops.Lookup(tc.call.Op.Type)
			err := row.Check(tc.call)
			if err == nil {
				_, err = row.Infer(tc.call)
			}
			if err == nil || errors.Is(err, ops.ErrNotConstant) || errors.Is(err, ops.ErrOpenShape) {
				t.Fatalf("error %v", err)
			}
			t.Log(err)
		})
	}
}

func TestMergeDims(t *testing.T) {
	for _, tc := range []struct {
		stated, inferred, want nn.Dims
		bad                    bool
	}{
		{nn.Dims{0, 3}, nn.Dims{2, 3}, nn.Dims{2, 3}, false},
		{nil, nn.Dims{2, 3}, nn.Dims{2, 3}, false},
		{nn.Dims{2, 3}, nn.Dims{0, 3}, nn.Dims{2, 3}, false},
		{nn.Dims{2, 4}, nn.Dims{2, 3}, nil, true},
		{nn.Dims{6}, nn.Dims{2, 3}, nil, true},
	} {
		got, err := ops.MergeDims(nn.TensorFloat32, tc.stated, tc.inferred)
		if (err != nil) != tc.bad || !got.Equal(tc.want) {
			t.Errorf("%v with %v: %v, %v", tc.stated, tc.inferred, got, err)
		}
	}
}

// TestErrorsNameOperands: what is missing, too many or wrong has the name that docs/operators.md gives it.
func TestErrorsNameOperands(t *testing.T) {
	open := nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}
	x, w, b := f32(1, 8, 8, 3), f32(5, 3, 3, 3), f32(5)
	two := call(nn.OpRelu, f32(), f32(3))
	two.Op.Outputs = append(two.Op.Outputs, two.Op.Outputs[0])
	for _, tc := range []struct {
		want string
		call *ops.Call
	}{
		{"operand 6 (activation) is missing", call(nn.OpConv2D, f32(), x, w, b, 1, 1, 1)},
		{"operand 9 (activation) is missing", call(nn.OpConv2D, f32(), x, w, b, 0, 0, 0, 0, 1, 1)},
		{"operand 9 (dilation height) is missing", call(nn.OpConv2D, f32(), x, w, b, 1, 1, 1, 0, false, 2)},
		{"operand 9 (activation) is missing", call(nn.OpMaxPool2D, f32(), x, 0, 0, 0, 0, 1, 1, 2, 2)},
		{"operand 1 (axis) is missing", call(nn.OpConcatenation, f32(), f32(3))},
		{"14 inputs; the last is operand 12 (dilation height)", call(nn.OpConv2D, f32(), x, w, b, 0, 0, 0, 0, 1, 1, 0, false, 2, 2, 2)},
		{"2 outputs; the last is operand 0 (result)", two},
		{"input 1 (filter): type TENSOR_FLOAT16 instead of TENSOR_FLOAT32", call(nn.OpConv2D, f32(), x, f16(5, 3, 3, 3), b, 1, 1, 1, 0)},
		{"input 7 (stride width): type BOOL instead of INT32", call(nn.OpConv2D, f32(), x, w, b, 0, 0, 0, 0, false, 1, 0, false, 1, 1)},
		{"input 2 (height factor): type INT32 instead of FLOAT32", call(nn.OpResizeBilinear, f32(), x, float32(2), 2)},
		{"input 1 (input): type TENSOR_FLOAT16 instead of TENSOR_FLOAT32", call(nn.OpConcatenation, f32(), f32(3), f16(3), 0)},
		{"input 2 (bias): has no value", call(nn.OpConv2D, f32(), x, w, omitted(nn.TensorFloat32), 1, 1, 1, 0)},
		{"input 1 (exponent): rank 65 is outside 1..64", call(nn.OpPow, f32(), f32(3), f32(make([]uint32, 65)...))},
		{"output 0 (result): rank 3 instead of 4", call(nn.OpConv2D, f32(1, 8, 8), x, w, b, 1, 1, 1, 0)},
		{"stride width 0 is below 1", call(nn.OpConv2D, f32(), x, w, b, 1, 0, 1, 0)},
		{"height factor -2 is not positive", call(nn.OpResizeBilinear, f32(), x, float32(2), float32(-2))},
		{"input 4 (stride width): parameter is not a constant", call(nn.OpConv2D, f32(), x, w, b, 1, open, 1, 0)},
		{"input 1 (shape): parameter is not a constant", call(nn.OpReshape, f32(), f32(3), runtimeParam(1))},
		{"input 1 (paddings): parameter is not a constant", call(nn.OpPad, f32(), f32(3), runtimeParam(1, 2))},
		{"input 0 (base): input dimensions are not known", call(nn.OpPow, f32(), f32(0), f32(3))},
	} {
		row := ops.Lookup(tc.call.Op.Type)
		err := row.Check(tc.call)
		if err == nil {
			_, err = row.Infer(tc.call)
		}
		if err == nil || err.Error() != tc.want {
			t.Errorf("%v: %v, want %s", tc.call.Op.Type, err, tc.want)
		}
	}
}

func TestOptional(t *testing.T) {
	c := call(nn.OpSqueeze, f32(), f32(1, 3), omitted(nn.TensorInt32))
	row := ops.Lookup(nn.OpSqueeze)
	if row.Optional(c, 0) || !row.Optional(c, 1) || row.Optional(c, 2) {
		t.Error("only the axes of SQUEEZE are optional")
	}
}
