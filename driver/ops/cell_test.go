package ops_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// with gives c more outputs, n in all.
func with(n int, c *ops.Call) *ops.Call {
	for range n - 1 {
		c.Graph.Operands = append(c.Graph.Operands, f32())
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
	}
	return c
}

// changed is a call of op with n outputs on args, some of which are others.
func changed(op nn.OperationType, n int, args []any, other map[int]any) *ops.Call {
	args = slices.Clone(args)
	for i, a := range other {
		args[i] = a
	}
	return with(n, call(op, f32(), args...))
}

// runShapes requires the dimensions of all outputs.
func runShapes(t *testing.T, cases map[string]struct {
	call *ops.Call
	want []nn.Dims
}) {
	t.Helper()
	for name, c := range cases {
		row := ops.Lookup(c.call.Op.Type)
		if err := row.Check(c.call); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		inf, err := row.Infer(c.call)
		if err != nil || !slices.EqualFunc(inf.Shapes, c.want, nn.Dims.Equal) {
			t.Errorf("%s: %+v, %v", name, inf, err)
		}
	}
}

func TestRNNs(t *testing.T) {
	none := omitted(nn.TensorFloat32)
	one := []any{f32(2, 3), f32(4, 3), f32(4, 4), f32(4), f32(2, 4), 4}
	sequence := []any{f32(5, 2, 3), f32(4, 3), f32(4, 4), f32(4), f32(2, 4), 6, 1}
	both := []any{f32(5, 2, 3), f32(4, 3), f32(4, 4), f32(4), f32(2, 4), f32(6, 3), f32(6, 6), f32(6), f32(2, 6),
		none, none, none, 4, true, false}
	aux, linked := f32(5, 2, 7), map[int]any{9: f32(5, 2, 7), 10: f32(4, 7), 11: f32(6, 7)}
	rnn := func(n int, other map[int]any) *ops.Call { return changed(nn.OpRnn, n, one, other) }
	uni := func(n int, other map[int]any) *ops.Call {
		return changed(nn.OpUnidirectionalSequenceRnn, n, sequence, other)
	}
	bi := func(n int, other map[int]any) *ops.Call {
		return changed(nn.OpBidirectionalSequenceRnn, n, both, other)
	}
	h, g := nn.Dims{2, 4}, nn.Dims{2, 6}
	runShapes(t, map[string]struct {
		call *ops.Call
		want []nn.Dims
	}{
		"one step":        {rnn(2, nil), []nn.Dims{h, h}},
		"sequence":        {uni(1, nil), []nn.Dims{{5, 2, 4}}},
		"with a state":    {uni(2, nil), []nn.Dims{{5, 2, 4}, h}},
		"batch-major":     {uni(1, map[int]any{0: f32(2, 5, 3), 6: 0}), []nn.Dims{{2, 5, 4}}},
		"both":            {bi(2, nil), []nn.Dims{{5, 2, 4}, {5, 2, 6}}},
		"both and states": {bi(4, nil), []nn.Dims{{5, 2, 4}, {5, 2, 6}, h, g}},
		"merged":          {bi(1, map[int]any{14: true}), []nn.Dims{{5, 2, 10}}},
		"merged, states":  {bi(3, map[int]any{14: true}), []nn.Dims{{5, 2, 10}, h, g}},
		"linked":          {bi(2, linked), []nn.Dims{{5, 2, 4}, {5, 2, 6}}},
		"parallel":        {bi(2, map[int]any{9: aux, 5: f32(6, 7)}), []nn.Dims{{5, 2, 4}, {5, 2, 6}}},
	})
	runBad(t, []badCase{
		{"one output of a step", rnn(1, nil)},
		{"unknown activation", rnn(2, map[int]any{5: 5})},
		{"activation beyond the last", rnn(2, map[int]any{5: 7})},
		{"float16 bias", rnn(2, map[int]any{3: f16(4)})},
		{"8-bit weights", rnn(2, map[int]any{1: s8(4, 3)})},
		{"input size", rnn(2, map[int]any{1: f32(4, 5)})},
		{"recurrent weights that are not square", rnn(2, map[int]any{2: f32(4, 3)})},
		{"batch of the state", rnn(2, map[int]any{4: f32(3, 4)})},
		{"time major of two", uni(1, map[int]any{6: 2})},
		{"a flag", uni(1, map[int]any{6: true})},
		{"batch-major batch", uni(1, map[int]any{6: 0})},
		{"three outputs of a sequence", uni(3, nil)},
		{"one result of both", bi(1, nil)},
		{"two merged results", bi(2, map[int]any{14: true})},
		{"three outputs of both", bi(3, nil)},
		{"auxiliary weights alone", bi(2, map[int]any{10: f32(4, 7), 11: f32(6, 7)})},
		{"auxiliary weights of one", bi(2, map[int]any{9: aux, 10: f32(4, 7)})},
		{"size of the auxiliary weights", bi(2, map[int]any{9: aux, 10: f32(4, 7), 11: f32(6, 3)})},
		{"parallel input size", bi(2, map[int]any{9: aux})},
		{"backward input size", bi(2, map[int]any{5: f32(6, 7)})},
		{"auxiliary steps", bi(2, map[int]any{9: f32(4, 2, 7), 5: f32(6, 7)})},
	})
}

func TestSVDF(t *testing.T) {
	args := []any{f32(2, 3), f32(8, 3), f32(8, 10), f32(4), f32(2, 80), 2, 0}
	svdf := func(n int, other map[int]any) *ops.Call { return changed(nn.OpSvdf, n, args, other) }
	want := []nn.Dims{{2, 80}, {2, 4}}
	runShapes(t, map[string]struct {
		call *ops.Call
		want []nn.Dims
	}{
		"plain":          {svdf(2, nil), want},
		"without a bias": {svdf(2, map[int]any{3: omitted(nn.TensorFloat32)}), want},
		"rank 1":         {svdf(2, map[int]any{3: f32(8), 5: 1}), []nn.Dims{{2, 80}, {2, 8}}},
	})
	runBad(t, []badCase{
		{"one output", svdf(1, nil)},
		{"rank 0", svdf(2, map[int]any{5: 0})},
		{"rank that does not divide", svdf(2, map[int]any{5: 3})},
		{"rank beyond the filters", svdf(2, map[int]any{3: omitted(nn.TensorFloat32), 5: 16})},
		{"units", svdf(2, map[int]any{3: f32(8)})},
		{"filters", svdf(2, map[int]any{2: f32(4, 10)})},
		{"state", svdf(2, map[int]any{4: f32(2, 72)})},
		{"batch", svdf(2, map[int]any{4: f32(3, 80)})},
		{"activation", svdf(2, map[int]any{6: 5})},
		{"float16 weights", svdf(2, map[int]any{1: f16(8, 3)})},
	})
}

func TestLSTMs(t *testing.T) {
	none, u := omitted(nn.TensorFloat32), f32(4)
	step := slices.Concat([]any{f32(2, 3)}, lstmArgs()[1:23])
	weights := lstmArgs()[1:18]
	both := slices.Concat(lstmArgs()[:1], weights, weights, lstmArgs()[18:20], lstmArgs()[18:20], slices.Repeat([]any{none}, 9),
		[]any{4, float32(0), float32(0), false, true}, slices.Repeat([]any{none}, 8))
	one := func(n int, other map[int]any) *ops.Call { return changed(nn.OpLstm, n, step, other) }
	bi := func(n int, other map[int]any) *ops.Call {
		return changed(nn.OpBidirectionalSequenceLstm, n, both, other)
	}
	aux := map[int]any{39: f32(5, 2, 7)}
	linked := map[int]any{39: f32(5, 2, 7)}
	for k := 40; k < 48; k++ {
		linked[k] = f32(4, 7)
	}
	for k := 19; k < 23; k++ {
		aux[k-1] = f32(4, 7)
	}
	h, y := nn.Dims{2, 4}, nn.Dims{5, 2, 4}
	runShapes(t, map[string]struct {
		call *ops.Call
		want []nn.Dims
	}{
		"step":                {one(4, nil), []nn.Dims{{2, 16}, h, h, h}},
		"step, coupled":       {one(4, map[int]any{1: none, 5: none, 12: none}), []nn.Dims{{2, 12}, h, h, h}},
		"step, layer norm":    {with(4, call(nn.OpLstm, f32(), append(slices.Clone(step), u, u, u, u)...)), []nn.Dims{{2, 16}, h, h, h}},
		"both":                {bi(2, nil), []nn.Dims{y, y}},
		"both, states":        {bi(6, nil), []nn.Dims{y, y, h, h, h, h}},
		"merged":              {bi(1, map[int]any{51: true}), []nn.Dims{{5, 2, 8}}},
		"merged, states":      {bi(5, map[int]any{51: true}), []nn.Dims{{5, 2, 8}, h, h, h, h}},
		"linked":              {bi(2, linked), []nn.Dims{y, y}},
		"parallel":            {bi(2, aux), []nn.Dims{y, y}},
		"one of two coupled":  {bi(2, map[int]any{1: none, 5: none, 12: none}), []nn.Dims{y, y}},
		"backward layer norm": {bi(2, map[int]any{57: u, 58: u, 59: u, 60: u}), []nn.Dims{y, y}},
	})
	runBad(t, []badCase{
		{"three outputs of a step", one(3, nil)},
		{"a step of RELU1", one(4, map[int]any{20: 2})},
		{"three of four layer norm weights", with(4, call(nn.OpLstm, f32(), append(slices.Clone(step), u, u, u)...))},
		{"layer norm of no input gate", with(4, call(nn.OpLstm, f32(), append(slices.Clone(step), none, u, u, none)...))},
		{"half an input gate", one(4, map[int]any{1: none})},
		{"three outputs of both", bi(3, nil)},
		{"one output of both", bi(1, nil)},
		{"two merged outputs", bi(2, map[int]any{51: true})},
		{"half a backward input gate", bi(2, map[int]any{18: none})},
		{"half a backward peephole", bi(2, map[int]any{27: u})},
		{"backward layer norm without a part", bi(2, map[int]any{58: u, 59: u})},
		{"auxiliary weights alone", bi(2, map[int]any{41: f32(4, 7), 42: f32(4, 7), 43: f32(4, 7)})},
		{"auxiliary weights of one gate", bi(2, map[int]any{39: f32(5, 2, 7), 41: f32(4, 7)})},
		{"parallel input size", bi(2, map[int]any{39: f32(5, 2, 7)})},
		{"backward units", bi(2, map[int]any{38: f32(2, 5)})},
	})
}
