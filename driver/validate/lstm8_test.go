package validate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// TestLSTM8Rules breaks QUANTIZED_LSTM by each rule that its operands, their number and their types fall under.
func TestLSTM8Rules(t *testing.T) {
	var b nn.Builder
	var in []uint32
	for i, d := range []nn.Dims{{2, 3}, {4, 3}, {4, 3}, {4, 3}, {4, 3}, {4, 5}, {4, 5}, {4, 5}, {4, 5}, {4}, {4}, {4}, {4}, {4}, {4}, {4}, {5, 4}, {5},
		{2, 5}, {2, 4}, {4}, {4}, {4}, {4}} {
		var scale float32
		if typ := ops.LSTM8Type(i); typ != nn.TensorInt32 {
			scale = 1.0 / 2048
		}
		in = append(in, b.Input(ops.LSTM8Type(i), d, scale, 0))
	}
	for range 6 {
		in = append(in, b.Scalar(float32(0.5)))
	}
	in = append(in, b.Scalar(3), b.Scalar(float32(0.5)))
	y := []uint32{b.Temp(nn.TensorQuant8AsymmSigned, nn.Dims{2, 5}, 1.0/2048, 0), b.Temp(nn.TensorQuant16Symm, nn.Dims{2, 4}, 1.0/2048, 0),
		b.Temp(nn.TensorQuant8AsymmSigned, nn.Dims{2, 5}, 1.0/2048, 0)}
	b.Op(nn.OpQuantizedLstm, in, y)
	for _, o := range y {
		b.Output(o)
	}
	m := nntest.Build(&b)
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	var changes []change
	for k, x := range slices.Concat(in, y) {
		o := m.Main.Operands[x]
		for typ := nn.OperandType(0); typ.Valid(); typ++ {
			if typ != o.Type {
				changes = append(changes, change{fmt.Sprintf("V9 operand %d of %v", k, typ), on(int(x), func(o *nn.Operand) { retype(o, typ) })})
			}
		}
		if !o.Type.IsTensor() {
			changes = append(changes, change{fmt.Sprintf("V3 operand %d of rank 1", k), on(int(x), func(o *nn.Operand) { o.Dims = nn.Dims{0} })})
			continue
		}
		changes = append(changes, change{fmt.Sprintf("V4 scale of operand %d", k), on(int(x), func(o *nn.Operand) {
			o.Scale = -1
		})}, change{fmt.Sprintf("V5 zero point of operand %d", k), on(int(x), func(o *nn.Operand) { o.ZeroPoint = 1 << 16 })})
	}
	for k := range in {
		changes = append(changes, change{fmt.Sprintf("V15 input %d removed", k), func(m *nn.Model) {
			op := &m.Main.Operations[0]
			op.Inputs = slices.Delete(slices.Clone(op.Inputs), k, k+1)
		}})
	}
	for k := range y {
		changes = append(changes, change{fmt.Sprintf("V16 output %d removed", k), func(m *nn.Model) {
			op := &m.Main.Operations[0]
			op.Outputs = slices.Delete(slices.Clone(op.Outputs), k, k+1)
		}})
	}
	refuseFrom(t, m, append(changes, change{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
		change{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }}))
}
