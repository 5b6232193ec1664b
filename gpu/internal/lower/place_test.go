package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// lowerAll lowers g for a software device.
func lowerAll(t *testing.T, g *ir.Graph) *plan.Plan {
	t.Helper()
	p, _ := lowerFor(t, softwareFacts, g)
	return p
}

func floatTensor(shape ...int) ir.Tensor { return ir.Tensor{Type: nn.TensorFloat32, Shape: shape} }

// unary appends out = op(in) and returns out.
func unary(g *ir.Graph, op nn.OperationType, in ir.ID) ir.ID {
	out := g.Add(*g.T(in))
	g.Nodes = append(g.Nodes, ir.Node{Op: op, In: []ir.ID{in}, Out: []ir.ID{out}})
	return out
}

func TestConcatWithoutCopies(t *testing.T) {
	for _, tc := range []struct {
		name        string
		a, b        []int
		axis        int
		twice, leak bool
		want        int // steps
	}{
		{"rows", []int{1, 4, 8, 16}, []int{1, 9, 8, 16}, 1, false, false, 2},
		{"behind dimensions of one", []int{1, 1, 4, 64}, []int{1, 1, 7, 64}, 2, false, false, 2},
		{"batches", []int{2, 64}, []int{3, 64}, 0, false, false, 2},
		{"the second not aligned", []int{1, 3, 1, 5}, []int{1, 4, 1, 5}, 1, false, false, 3},
		{"channels", []int{1, 4, 4, 64}, []int{1, 4, 4, 64}, 3, false, false, 4},
		{"columns of several rows", []int{1, 2, 4, 64}, []int{1, 2, 4, 64}, 2, false, false, 4},
		{"one tensor twice", []int{1, 4, 8, 16}, []int{1, 4, 8, 16}, 1, true, false, 2},
		{"an input that is an output, too", []int{1, 4, 8, 16}, []int{1, 9, 8, 16}, 1, false, true, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &ir.Graph{}
			x, y := g.Add(floatTensor(tc.a...)), g.Add(floatTensor(tc.b...))
			g.Inputs = []ir.ID{x, y}
			in := []ir.ID{unary(g, nn.OpTanh, x)}
			if tc.twice {
				in = append(in, in[0])
			} else {
				in = append(in, unary(g, nn.OpTanh, y))
			}
			shape := append([]int(nil), tc.a...)
			shape[tc.axis] += tc.b[tc.axis]
			z := g.Add(floatTensor(shape...))
			g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpConcatenation, In: in, Out: []ir.ID{z}, Attrs: ops.Concatenation{Axis: tc.axis}})
			g.Outputs = []ir.ID{z}
			if tc.leak {
				g.Outputs = append(g.Outputs, in[1])
			}
			p := lowerAll(t, g)
			steps := 0
			for i := range p.Steps {
				if l := p.Steps[i].Label; l != "input" && l != "output" {
					steps++
				}
			}
			require.Equal(t, tc.want, steps, "%v", p)
		})
	}
}

// TestNestedConcat: a part of a part.
func TestNestedConcat(t *testing.T) {
	g := &ir.Graph{}
	x := g.Add(floatTensor(1, 4, 8, 16))
	g.Inputs = []ir.ID{x}
	concat := func(in ...ir.ID) ir.ID {
		rows := 0
		for _, id := range in {
			rows += g.T(id).Shape[1]
		}
		out := g.Add(floatTensor(1, rows, 8, 16))
		g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpConcatenation, In: in, Out: []ir.ID{out}, Attrs: ops.Concatenation{Axis: 1}})
		return out
	}
	a, b, c := unary(g, nn.OpTanh, x), unary(g, nn.OpAbs, x), unary(g, nn.OpNeg, x)
	g.Outputs = []ir.ID{unary(g, nn.OpExp, concat(a, concat(b, c)))}
	p := lowerAll(t, g)
	require.Len(t, p.Steps, 4, "%v", p)
	at := func(i int) plan.Binding { return p.Steps[i].Bindings[1] }
	require.Equal(t, at(0).Offset+2048, at(1).Offset)
	require.Equal(t, at(1).Offset+2048, at(2).Offset)
	require.True(t, p.Steps[3].Barrier)
}

func TestInPlace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		build func(g *ir.Graph, x ir.ID) ir.ID
		want  int64 // arena, in tensors
	}{
		{"a chain", func(g *ir.Graph, x ir.ID) ir.ID {
			return unary(g, nn.OpAbs, unary(g, nn.OpExp, unary(g, nn.OpTanh, unary(g, nn.OpNeg, x))))
		}, 1},
		{"read again later", func(g *ir.Graph, x ir.ID) ir.ID {
			a := unary(g, nn.OpTanh, x)
			b := unary(g, nn.OpExp, a)
			z := g.Add(*g.T(x))
			g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpAdd, In: []ir.ID{a, b}, Out: []ir.ID{z}, Attrs: ops.Arithmetic{}})
			return unary(g, nn.OpNeg, z)
		}, 2 + 1}, // a is read by two, b becomes the sum only as first operand
		{"a sum into its first operand", func(g *ir.Graph, x ir.ID) ir.ID {
			a, b := unary(g, nn.OpTanh, x), unary(g, nn.OpExp, x)
			z := g.Add(*g.T(x))
			g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpAdd, In: []ir.ID{a, b}, Out: []ir.ID{z}, Attrs: ops.Arithmetic{}})
			return unary(g, nn.OpNeg, z)
		}, 2},
		{"never into a model input", func(g *ir.Graph, x ir.ID) ir.ID { return unary(g, nn.OpAbs, unary(g, nn.OpExp, x)) }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &ir.Graph{}
			x := g.Add(floatTensor(1, 16, 16, 64))
			g.Inputs = []ir.ID{x}
			g.Outputs = []ir.ID{tc.build(g, x)}
			p := lowerAll(t, g)
			require.Equal(t, tc.want, p.ArenaBytes/65536, "%v", p)
			require.LessOrEqual(t, p.ArenaBytes%65536, int64(plan.Align), "room behind the last view")
			for i := range p.Steps {
				for _, b := range p.Steps[i].Bindings {
					require.False(t, b.Write && b.Buffer == plan.Host && b.Offset == 0, "step %d writes the model's input", i)
				}
			}
		})
	}
}
