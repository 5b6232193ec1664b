package compile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/validate"
)

var oneNumber, row = nn.Dims{1}, nn.Dims{2, 5}

// applied adds an operation with one result.
func applied(b *nn.Builder, op nn.OperationType, t nn.OperandType, dims nn.Dims, inputs ...uint32) uint32 {
	y := b.Temp(t, dims, 0, 0)
	b.Op(op, inputs, []uint32{y})
	return y
}

// branchGraph is op of its two inputs.
func branchGraph(op nn.OperationType) nntest.Graph {
	b := &nn.Builder{}
	x, y := b.Input(nn.TensorFloat32, row, 0, 0), b.Input(nn.TensorFloat32, row, 0, 0)
	b.Output(applied(b, op, nn.TensorFloat32, row, x, y, b.Scalar(0)))
	return nntest.Graph{B: b}
}

// ifModel is an ABS, then an IF of ADD and SUB; condition makes its condition, nil for an input.
func ifModel(condition func(*nn.Builder) uint32) *nn.Model {
	b := &nn.Builder{}
	x := b.Input(nn.TensorFloat32, row, 0, 0)
	c := uint32(0)
	if condition != nil {
		c = condition(b)
	} else {
		c = b.Input(nn.TensorBool8, oneNumber, 0, 0)
	}
	y, then, otherwise := applied(b, nn.OpAbs, nn.TensorFloat32, row, x), b.Scalar(0), b.Scalar(0)
	b.Output(applied(b, nn.OpIf, nn.TensorFloat32, row, c, then, otherwise, x, y))
	return nntest.Join(nntest.Graph{B: b, Refer: map[uint32]uint32{then: 0, otherwise: 1}}, branchGraph(nn.OpAdd), branchGraph(nn.OpSub))
}

// whileModel adds a row to another, n times, n being an input.
func whileModel() *nn.Model {
	condition, body, main := &nn.Builder{}, &nn.Builder{}, &nn.Builder{}
	i32, f32 := nn.TensorInt32, nn.TensorFloat32
	_, k, n := condition.Input(f32, row, 0, 0), condition.Input(i32, oneNumber, 0, 0), condition.Input(i32, oneNumber, 0, 0)
	condition.Output(applied(condition, nn.OpLess, nn.TensorBool8, oneNumber, k, n))
	x, k, _ := body.Input(f32, row, 0, 0), body.Input(i32, oneNumber, 0, 0), body.Input(i32, oneNumber, 0, 0)
	body.Output(applied(body, nn.OpAdd, f32, row, x, body.Floats(nn.Dims{5}, 1, 2, 3, 4, 5), body.Scalar(0)))
	body.Output(applied(body, nn.OpAdd, i32, oneNumber, k, body.Ints(oneNumber, 1), body.Scalar(0)))
	x, n = main.Input(f32, row, 0, 0), main.Input(i32, oneNumber, 0, 0)
	c, b := main.Scalar(0), main.Scalar(0)
	main.Output(applied(main, nn.OpRelu, f32, row, applied(main, nn.OpWhile, f32, row, c, b, x, main.Ints(oneNumber, 0), n)))
	return nntest.Join(nntest.Graph{B: main, Refer: map[uint32]uint32{c: 0, b: 1}}, nntest.Graph{B: condition}, nntest.Graph{B: body})
}

// TestTreesAreAsRecorded compares whole trees with testdata/*.golden, as TestPlansAreAsRecorded does plans.
func TestTreesAreAsRecorded(t *testing.T) {
	for name, m := range map[string]*nn.Model{"if": ifModel(nil), "while": whileModel(), "growing": growingModel(), "sliced": slicedModel(), "open": openModel()} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, validate.Model(m))
			tree, err := TreeOf(&lavapipe, m)
			require.NoError(t, err)
			for _, s := range tree.Straights {
				if s.Open {
					continue
				}
				if s.Model != nil {
					s.Plan, _, err = Model(context.Background(), &lavapipe, s.Model, nil)
				} else {
					var list []nn.Operand
					for _, v := range s.In {
						list = append(list, tree.Values[v].Operand)
					}
					s.Plan, _, err = Copy(context.Background(), &lavapipe, list)
				}
				require.NoError(t, err)
				s.Relabel(s.Plan)
				requireSound(t, &lavapipe, s.Plan)
				require.Len(t, s.Plan.Inputs, len(s.In))
				require.Len(t, s.Plan.Outputs, len(s.Out))
			}
			path := filepath.Join("testdata", name+".tree.golden")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(tree.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), tree.String())
		})
	}
}

// TestConstantCondition: such an IF is its branch, but the other one must be supported as well.
func TestConstantCondition(t *testing.T) {
	m := ifModel(func(b *nn.Builder) uint32 { return b.Const(nn.TensorBool8, oneNumber, 0, 0, []byte{0}) })
	tree, err := TreeOf(&lavapipe, m)
	require.NoError(t, err)
	var ops []nn.OperationType
	for _, s := range tree.Straights {
		if s.Model != nil {
			ops = append(ops, s.Model.Main.Operations[0].Type)
		}
	}
	require.Equal(t, []nn.OperationType{nn.OpAbs, nn.OpSub}, ops)
	m.Referenced[0].Operations[0].Type = nn.OpOemOperation
	_, err = TreeOf(&lavapipe, m)
	require.ErrorIs(t, err, nn.ErrUnsupported)
}

// TestSupportOfControlFlow: what is refused inside is the reason for which an IF or WHILE is, and others are judged by
// themselves.
func TestSupportOfControlFlow(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *nn.Model
		do   func(m *nn.Model)
		want string
	}{
		"all":    {ifModel(nil), func(*nn.Model) {}, ""},
		"branch": {ifModel(nil), func(m *nn.Model) { m.Referenced[1].Operations[0].Type = nn.OpOemOperation }, "operation 0 (OEM_OPERATION) of referenced graph 1: OEM_OPERATION is not supported"},
		"body":   {whileModel(), func(m *nn.Model) { m.Referenced[1].Operations[1].Type = nn.OpOemOperation }, "operation 1 (OEM_OPERATION) of referenced graph 1: OEM_OPERATION is not supported"},
		"condition": {whileModel(), func(m *nn.Model) { m.Referenced[0].Operations[0].Type = nn.OpOemOperation },
			"operation 0 (OEM_OPERATION) of referenced graph 0: OEM_OPERATION is not supported"},
		"open state": {whileModel(), func(m *nn.Model) {
			for _, g := range m.Referenced {
				g.Operands[0].Dims = nil
			}
			m.Referenced[1].Operands[m.Referenced[1].Outputs[0]].Dims = nil
			m.Main.Operands[m.Main.Inputs[0]].Dims = nn.Dims{0, 5}
		}, "is a state that no region can have"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.do(tc.m)
			reasons, err := Supports(&lavapipe, tc.m)
			require.NoError(t, err)
			for i, op := range tc.m.Main.Operations {
				if !isControl(&op) || tc.want == "" {
					require.NoError(t, reasons[i])
				} else {
					require.ErrorContains(t, reasons[i], tc.want)
				}
			}
			_, err = TreeOf(&lavapipe, tc.m)
			require.Equal(t, tc.want == "", err == nil, "%v", err)
		})
	}
}

// TestCutIsBounded: graphs that refer twice to the next one, nested deeply, and many operations: refused in no time.
func TestCutIsBounded(t *testing.T) {
	nested := func(depth, wide int) *nn.Model {
		graphs := []nntest.Graph{branchGraph(nn.OpAdd)}
		for i := range depth {
			b := &nn.Builder{}
			x, y := b.Input(nn.TensorFloat32, row, 0, 0), b.Input(nn.TensorFloat32, row, 0, 0)
			refer := map[uint32]uint32{}
			for range wide {
				then, otherwise := b.Scalar(0), b.Scalar(0)
				refer[then], refer[otherwise] = uint32(i), uint32(i)
				c := applied(b, nn.OpLess, nn.TensorBool8, oneNumber, b.Ints(oneNumber, 1), b.Ints(oneNumber, 2))
				x = applied(b, nn.OpIf, nn.TensorFloat32, row, c, then, otherwise, x, y)
			}
			b.Output(x)
			graphs = append(graphs, nntest.Graph{B: b, Refer: refer})
		}
		return nntest.Join(graphs[len(graphs)-1], graphs[:len(graphs)-1]...)
	}
	for _, tc := range []struct {
		depth, wide int
		ok          bool
	}{{3, 1, true}, {6, 1, true}, {10, 1, false}, {18, 1, false}, {60, 1, false}, {40, 3, false}, {2, 400, false}} {
		t.Run(fmt.Sprint(tc.depth, tc.wide), func(t *testing.T) {
			m := nested(tc.depth, tc.wide)
			began := time.Now()
			_, err := TreeOf(&lavapipe, m)
			require.Less(t, time.Since(began), 10*time.Second)
			if tc.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, nn.ErrUnsupported)
			require.ErrorContains(t, err, "too many")
		})
	}
}
