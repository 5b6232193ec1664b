package validate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
)

// cell is a model of one operation on float32 tensors that are all inputs of it: dimensions of a tensor, nil for one that is
// left off, or the value of a scalar.
func cell(op nn.OperationType, args []any, outs ...nn.Dims) *nn.Model {
	var b nn.Builder
	var in, out []uint32
	for _, a := range args {
		switch a := a.(type) {
		case nil:
			in = append(in, b.Omitted(nn.TensorFloat32))
		case nn.Dims:
			in = append(in, b.Input(nn.TensorFloat32, a, 0, 0))
		case int:
			in = append(in, b.Scalar(a))
		case bool:
			in = append(in, b.Scalar(a))
		case float32:
			in = append(in, b.Scalar(a))
		}
	}
	for _, d := range outs {
		out = append(out, b.Temp(nn.TensorFloat32, d, 0, 0))
		b.Output(out[len(out)-1])
	}
	b.Op(op, in, out)
	return nntest.Build(&b)
}

// lstm16 is a model of a QUANTIZED_16BIT_LSTM whose tensors are all inputs.
func lstm16() *nn.Model {
	var b nn.Builder
	var in []uint32
	add := func(n int, t nn.OperandType, scale float32, zero int32, d ...uint32) {
		for range n {
			in = append(in, b.Input(t, d, scale, zero))
		}
	}
	add(1, nn.TensorQuant8Asymm, 1.0/128, 128, 2, 3)
	add(4, nn.TensorQuant8Asymm, 0.5, 7, 4, 3)
	add(4, nn.TensorQuant8Asymm, 0.5, 7, 4, 4)
	add(4, nn.TensorInt32, 0.5/128, 0, 4)
	add(1, nn.TensorQuant16Symm, 1.0/2048, 0, 2, 4)
	add(1, nn.TensorQuant8Asymm, 1.0/128, 128, 2, 4)
	c, y := b.Temp(nn.TensorQuant16Symm, nn.Dims{2, 4}, 1.0/2048, 0), b.Temp(nn.TensorQuant8Asymm, nn.Dims{2, 4}, 1.0/128, 128)
	b.Op(nn.OpQuantized16BitLstm, in, []uint32{c, y})
	b.Output(c)
	b.Output(y)
	return nntest.Build(&b)
}

// lstmWeights are those of a cell of 4 units and input size 3, without optional parts but the input gate.
func lstmWeights() []any {
	w, r, u := nn.Dims{4, 3}, nn.Dims{4, 4}, nn.Dims{4}
	return []any{w, w, w, w, r, r, r, r, nil, nil, nil, u, u, u, u, nil, nil}
}

func cells() map[string]*nn.Model {
	x, sequence, h, y := nn.Dims{2, 3}, nn.Dims{5, 2, 3}, nn.Dims{2, 4}, nn.Dims{5, 2, 4}
	rnn := []any{nn.Dims{4, 3}, nn.Dims{4, 4}, nn.Dims{4}, h}
	clips := []any{4, float32(0), float32(0)}
	none := slices.Repeat([]any{nil}, 9)
	return map[string]*nn.Model{
		"QUANTIZED_16BIT_LSTM":        lstm16(),
		"RNN":                         cell(nn.OpRnn, slices.Concat([]any{x}, rnn, []any{4}), h, h),
		"UNIDIRECTIONAL_SEQUENCE_RNN": cell(nn.OpUnidirectionalSequenceRnn, slices.Concat([]any{sequence}, rnn, []any{4, 1}), y),
		"BIDIRECTIONAL_SEQUENCE_RNN": cell(nn.OpBidirectionalSequenceRnn,
			slices.Concat([]any{sequence}, rnn, rnn, []any{nil, nil, nil, 4, true, false}), y, y),
		"SVDF": cell(nn.OpSvdf, []any{x, nn.Dims{8, 3}, nn.Dims{8, 10}, nn.Dims{4}, nn.Dims{2, 80}, 2, 0}, nn.Dims{2, 80}, h),
		"LSTM": cell(nn.OpLstm, slices.Concat([]any{x}, lstmWeights(), []any{h, h}, clips), nn.Dims{2, 16}, h, h, h),
		"BIDIRECTIONAL_SEQUENCE_LSTM": cell(nn.OpBidirectionalSequenceLstm, slices.Concat([]any{sequence}, lstmWeights(), lstmWeights(),
			[]any{h, h, h, h}, none, clips, []any{false, true}, none[:8]), y, y),
	}
}

// TestCellRules breaks each recurrent operation by each rule that its operands, their number and their types fall under.
func TestCellRules(t *testing.T) {
	for name, m := range cells() {
		t.Run(name, func(t *testing.T) {
			if err := validate.Model(m); err != nil {
				t.Fatal(err)
			}
			op := m.Main.Operations[0]
			var changes []change
			for k, x := range op.Inputs {
				o := m.Main.Operands[x]
				if o.Lifetime == nn.NoValue {
					continue
				}
				for typ := nn.OperandType(0); typ.Valid(); typ++ {
					if typ != o.Type {
						changes = append(changes, change{fmt.Sprintf("V9 input %d of %v", k, typ), on(int(x), func(o *nn.Operand) { retype(o, typ) })})
					}
				}
				if !o.Type.IsTensor() {
					changes = append(changes, change{fmt.Sprintf("V3 input %d of rank 1", k), on(int(x), func(o *nn.Operand) { o.Dims = nn.Dims{0} })})
				}
				changes = append(changes,
					change{fmt.Sprintf("V4 scale of input %d", k), on(int(x), func(o *nn.Operand) { o.Scale = 1 })},
					change{fmt.Sprintf("V5 zero point of input %d", k), on(int(x), func(o *nn.Operand) { o.ZeroPoint = 1 })})
			}
			for k := range op.Inputs {
				changes = append(changes, change{fmt.Sprintf("V15 input %d removed", k), func(m *nn.Model) {
					op := &m.Main.Operations[0]
					op.Inputs = slices.Delete(slices.Clone(op.Inputs), k, k+1)
				}})
			}
			for k := range op.Outputs {
				changes = append(changes, change{fmt.Sprintf("V16 output %d removed", k), func(m *nn.Model) {
					op := &m.Main.Operations[0]
					op.Outputs = slices.Delete(slices.Clone(op.Outputs), k, k+1)
				}})
			}
			changes = append(changes, change{"V17 an input more", func(m *nn.Model) { appendInput(m, 0) }},
				change{"V18 an output more", func(m *nn.Model) { appendOutput(m, 0) }})
			refuseFrom(t, m, changes)
		})
	}
}

// TestUndecidedTensors: a request tells whether an optional tensor has a value, and what goes together is judged then.
func TestUndecidedTensors(t *testing.T) {
	bias := nn.Dims{4}
	svdf := cell(nn.OpSvdf, []any{nn.Dims{2, 3}, nn.Dims{4, 3}, nn.Dims{4, 10}, bias, nn.Dims{2, 40}, 1, 0}, nn.Dims{2, 40}, nn.Dims{2, 4})
	weights := lstmWeights()
	weights[9], weights[10] = bias, bias // peephole weights, but that of the input gate
	h := nn.Dims{2, 4}
	lstm := cell(nn.OpLstm, slices.Concat([]any{nn.Dims{2, 3}}, weights, []any{h, h, 4, float32(0), float32(0)}), nil, h, h, h)
	all := func(m *nn.Model, left ...int) []nn.Dims {
		var dims []nn.Dims
		for i, x := range m.Main.Inputs {
			d := m.Main.Operands[x].Dims
			if slices.Contains(left, i) {
				d = nil
			}
			dims = append(dims, d)
		}
		return dims
	}
	for _, x := range []struct {
		name    string
		m       *nn.Model
		left    []int // inputs without a value
		scratch nn.Dims
		ok      bool
	}{
		{"a bias", svdf, nil, nil, true},
		{"no bias", svdf, []int{3}, nil, true},
		{"no input", svdf, []int{0}, nil, true}, // its dimensions are known; Needed refuses the request
		{"peephole without that of the input gate", lstm, nil, nil, false},
		{"no input gate", lstm, []int{1, 5, 11}, nn.Dims{2, 12}, true},
		{"no peephole", lstm, []int{9, 10}, nn.Dims{2, 16}, true},
		{"half a peephole", lstm, []int{9}, nil, false},
	} {
		if err := validate.Model(x.m); err != nil {
			t.Fatal(err)
		}
		if !validate.Open(x.m) || validate.Example(x.m) == nil {
			t.Errorf("%s: not open, or without an example", x.name)
		}
		got, err := validate.Resolve(x.m, all(x.m, x.left...))
		if (err == nil) != x.ok {
			t.Errorf("%s: %v", x.name, err)
		}
		if x.scratch != nil && !got.Main.Operands[got.Main.Outputs[0]].Dims.Equal(x.scratch) {
			t.Errorf("%s: scratch %v", x.name, got.Main.Operands[got.Main.Outputs[0]].Dims)
		}
	}
	if needed := validate.Needed(svdf); needed[0] == "" || needed[3] != "" {
		t.Errorf("needed: %q", needed)
	}
}
