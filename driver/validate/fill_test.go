package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestFillRules breaks a FILL by each rule that its operands, their number and their types fall under.
func TestFillRules(t *testing.T) {
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
	y := b.Fill(nn.TensorFloat32, 2, 2, 3)
	b.Output(b.Add(x, y, nn.ActNone))
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	shape, value := m.Main.Operations[0].Inputs[0], m.Main.Operations[0].Inputs[1]
	refuseFrom(t, m, []change{
		{"V4 scale of the shape", on(int(shape), func(o *nn.Operand) { o.Scale = -1 })},
		{"V9 float shape", on(int(shape), func(o *nn.Operand) { o.Type = nn.TensorFloat32 })},
		{"V9 shape of rank 2", on(int(shape), func(o *nn.Operand) { o.Dims = nn.Dims{2, 1} })},
		{"V9 integer value", on(int(value), func(o *nn.Operand) { o.Type = nn.Int32 })},
		{"V9 integer result", on(int(y), func(o *nn.Operand) { o.Type = nn.TensorInt32 })},
		{"V15 no value", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:1] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 a third input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"of no size", func(m *nn.Model) { m.Values[m.Main.Operands[shape].Location.Offset] = 0 }},
		{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims = nn.Dims{3, 2} })},
	})
}

// TestOpenShapeOfFill: the dimensions of a shape that an input gives are needed, unless the model states the result's.
func TestOpenShapeOfFill(t *testing.T) {
	for name, tc := range map[string]struct {
		result nn.Dims
		open   bool
	}{"open": {nil, true}, "of known rank": {nn.Dims{0, 0}, true}, "stated": {nn.Dims{2, 3}, false}} {
		var b nn.Builder
		shape := b.Input(nn.TensorInt32, nn.Dims{0}, 0, 0)
		y := b.Temp(nn.TensorFloat32, tc.result, 0, 0)
		b.Op(nn.OpFill, []uint32{shape, b.Scalar(float32(1))}, []uint32{y})
		b.Output(y)
		m, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Model(m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := validate.Open(m); got != tc.open {
			t.Errorf("%s: open: %v", name, got)
		}
		_, err = validate.Resolve(m, []nn.Dims{nil})
		if (err != nil) != tc.open {
			t.Errorf("%s: %v", name, err)
		}
		got, err := validate.Resolve(m, []nn.Dims{{2}})
		if err != nil || validate.FromData(got) != tc.open {
			t.Errorf("%s: with dimensions: %v", name, err)
		}
	}
}
