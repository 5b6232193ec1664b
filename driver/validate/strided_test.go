package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// byteLayer is a valid model of one operation of a [4, 5, 6] of bytes, with the indexes of its result and of its inputs.
func byteLayer(t *testing.T, add func(b *layers.Builder, x uint32) uint32) (m *nn.Model, y int, inputs []int) {
	t.Helper()
	var b layers.Builder
	result := add(&b, b.Input(nn.TensorQuant8Asymm, nn.Dims{4, 5, 6}, 0.5, 9))
	b.Output(result)
	m, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Model(m); err != nil {
		t.Fatal(err)
	}
	for _, x := range m.Main.Operations[0].Inputs {
		inputs = append(inputs, int(x))
	}
	return m, int(result), inputs
}

// movedRules are the rules that any operation falls under that moves elements of input 0 to its result y by a parameter list.
func movedRules(y, list int) []change {
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	return []change{
		{"V4 scale of a parameter", on(list, func(o *nn.Operand) { o.Scale = -1 })},
		{"V4 other scale of the result", on(y, func(o *nn.Operand) { o.Scale = 0.25 })},
		{"V5 other zero point of the result", on(y, func(o *nn.Operand) { o.ZeroPoint = 8 })},
		{"V9 float parameter", on(list, func(o *nn.Operand) { o.Type = nn.TensorFloat32 })},
		{"V9 signed result", on(y, func(o *nn.Operand) { o.Type = nn.TensorQuant8AsymmSigned })},
		{"V15 no last input", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:len(o.Inputs)-1] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 one more input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"result of another shape", on(y, func(o *nn.Operand) { o.Dims = nn.Dims{4, 5, 7} })},
	}
}

// setInt32 changes number k of the constant operand i.
func setInt32(i, k int, v byte) func(*nn.Model) {
	return func(m *nn.Model) { m.Values[m.Main.Operands[i].Location.Offset+uint32(4*k)] = v }
}

// TestStridedRules breaks STRIDED_SLICE, REVERSE and TILE by each rule that their operands, their number and types fall under.
func TestStridedRules(t *testing.T) {
	m, y, in := byteLayer(t, func(b *layers.Builder, x uint32) uint32 {
		return b.StridedSlice(x, []int{1, 0, 2}, []int{4, 5, 6}, []int{2, 1, 1})
	})
	refuseFrom(t, m, append(movedRules(y, in[1]), []change{
		{"V3 mask of rank 1", on(in[4], func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"V9 float mask", on(in[5], func(o *nn.Operand) { o.Type = nn.Float32 })},
		{"V9 scalar strides", on(in[3], func(o *nn.Operand) { o.Type, o.Dims, o.Location.Length = nn.Int32, nil, 4 })},
		{"V9 integers", on(in[0], func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorInt32, 0, 0 })},
		{"stride 0", setInt32(in[3], 1, 0)},
		{"nothing is left", setInt32(in[2], 0, 1)},
		{"a dropped dimension of size 2", setInt32(in[6], 0, 1)},
	}...))
	m, y, in = byteLayer(t, func(b *layers.Builder, x uint32) uint32 { return b.Reverse(x, 1) })
	refuseFrom(t, m, append(movedRules(y, in[1]), change{"an axis beyond the rank", setInt32(in[1], 0, 3)}))
	m, y, in = byteLayer(t, func(b *layers.Builder, x uint32) uint32 { return b.Tile(x, 1, 2, 1) })
	refuseFrom(t, m, append(movedRules(y, in[1]), change{"no tiles", setInt32(in[1], 1, 0)}))
}
