package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestLSHRules breaks LSH_PROJECTION by each rule that its operands, their number and their types fall under.
func TestLSHRules(t *testing.T) {
	var b layers.Builder
	hash, x := b.Input(nn.TensorFloat32, nn.Dims{4, 2}, 0, 0), b.Input(nn.TensorInt32, nn.Dims{3, 5}, 0, 0)
	weights := b.Floats(nn.Dims{3}, 1, 2, 3) // an input could be left off, and shapes are judged when a request tells
	y := b.LSHProjection(ops.LSHDense, hash, x, weights)
	b.Output(y)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	other := func(i uint32, typ nn.OperandType) change {
		return change{"V9 " + typ.String(), on(int(i), func(o *nn.Operand) { retype(o, typ) })}
	}
	refuseFrom(t, m, []change{
		{"V4 scale of a float", on(int(hash), func(o *nn.Operand) { o.Scale = 1 })},
		{"V5 zero point of integers", on(int(x), func(o *nn.Operand) { o.ZeroPoint = 1 })},
		other(hash, nn.TensorFloat16), other(hash, nn.TensorInt32), other(weights, nn.TensorFloat16), other(weights, nn.TensorInt32),
		other(x, nn.TensorQuant8AsymmSigned), other(x, nn.TensorBool8), other(x, nn.TensorQuant16Symm), other(y, nn.TensorFloat32),
		{"V11 input that is none", func(m *nn.Model) { m.Main.Operations[0].Inputs[1] = uint32(len(m.Main.Operands)) }},
		{"V15 an input less", func(m *nn.Model) { m.Main.Operations[0].Inputs = m.Main.Operations[0].Inputs[:3] }},
		{"V16 an output less", func(m *nn.Model) { m.Main.Operations[0].Outputs = nil }},
		{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }},
		{"result of another shape", on(int(y), func(o *nn.Operand) { o.Dims[0]++ })},
		{"weights of other rows", on(int(weights), func(o *nn.Operand) { o.Dims[0]++ })},
	})
}
