package validate_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// A graph of two numbers: operands 0 and 1 are inputs, sum their sum, act a constant.
func sumGraph(q nn.Operand) nn.Graph {
	in, out := q, q
	in.Lifetime, out.Lifetime = nn.SubgraphInput, nn.SubgraphOutput
	return nn.Graph{
		Operands:   []nn.Operand{in, in, {Type: nn.Int32, Lifetime: nn.ConstantCopy, Location: nn.Location{Length: 4}}, out},
		Operations: []nn.Operation{{Type: nn.OpAdd, Inputs: []uint32{0, 1, 2}, Outputs: []uint32{3}}},
		Inputs:     []uint32{0, 1}, Outputs: []uint32{3},
	}
}

// lessGraph is whether the first of two numbers is less.
func lessGraph(q nn.Operand) nn.Graph {
	in := q
	in.Lifetime = nn.SubgraphInput
	return nn.Graph{
		Operands:   []nn.Operand{in, in, {Type: nn.TensorBool8, Dims: nn.Dims{1}, Lifetime: nn.SubgraphOutput}},
		Operations: []nn.Operation{{Type: nn.OpLess, Inputs: []uint32{0, 1}, Outputs: []uint32{2}}},
		Inputs:     []uint32{0, 1}, Outputs: []uint32{2},
	}
}

func reference(graph uint32) nn.Operand {
	return nn.Operand{Type: nn.SubgraphRef, Lifetime: nn.Subgraph, Location: nn.Location{Offset: graph}}
}

// eight is a tensor of one 8-bit number.
var eight = nn.Operand{Type: nn.TensorQuant8Asymm, Dims: nn.Dims{1}, Scale: 0.5, ZeroPoint: 3}

// ifModel adds x and y by one of two graphs: operands 0 to 5 are condition, then, else, x, y, result.
func ifModel() *nn.Model {
	x, y := eight, eight
	x.Lifetime, y.Lifetime = nn.SubgraphInput, nn.SubgraphOutput
	return &nn.Model{
		Values:     make([]byte, 4),
		Referenced: []nn.Graph{sumGraph(eight), sumGraph(eight)},
		Main: nn.Graph{
			Operands:   []nn.Operand{{Type: nn.TensorBool8, Dims: nn.Dims{1}, Lifetime: nn.SubgraphInput}, reference(0), reference(1), x, x, y},
			Operations: []nn.Operation{{Type: nn.OpIf, Inputs: []uint32{0, 1, 2, 3, 4}, Outputs: []uint32{5}}},
			Inputs:     []uint32{0, 3, 4}, Outputs: []uint32{5},
		},
	}
}

// whileModel adds y to x while x is less: operands 0 to 4 are condition, body, x, y, result.
func whileModel() *nn.Model {
	x, y := eight, eight
	x.Lifetime, y.Lifetime = nn.SubgraphInput, nn.SubgraphOutput
	return &nn.Model{
		Values:     make([]byte, 4),
		Referenced: []nn.Graph{lessGraph(eight), sumGraph(eight)},
		Main: nn.Graph{
			Operands:   []nn.Operand{reference(0), reference(1), x, x, y},
			Operations: []nn.Operation{{Type: nn.OpWhile, Inputs: []uint32{0, 1, 2, 3}, Outputs: []uint32{4}}},
			Inputs:     []uint32{2, 3}, Outputs: []uint32{4},
		},
	}
}

// inner changes an operand of a referenced graph.
func inner(graph, operand int, f func(o *nn.Operand)) func(*nn.Model) {
	return func(m *nn.Model) { f(&m.Referenced[graph].Operands[operand]) }
}

// addInput makes x an input of a graph that nothing reads.
func addInput(g *nn.Graph, x nn.Operand) {
	x.Lifetime = nn.SubgraphInput
	g.Operands = append(g.Operands, x)
	g.Inputs = append(g.Inputs, uint32(len(g.Operands)-1))
}

// TestIfRules breaks an IF by each rule that it falls under.
func TestIfRules(t *testing.T) {
	if err := validate.Model(ifModel()); err != nil {
		t.Fatal(err)
	}
	open := ifModel()
	open.Referenced[0].Operands[3].Dims = nn.Dims{0}
	open.Referenced[1].Operands[0].Dims = nil
	if err := validate.Model(open); err != nil {
		t.Errorf("open dimensions in a graph: %v", err)
	}
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	refuseFrom(t, ifModel(), []change{
		{"condition of integers", on(0, func(o *nn.Operand) { o.Type = nn.TensorInt32 })},
		{"condition of two", on(0, func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
		{"condition of unknown size", on(0, func(o *nn.Operand) { o.Dims = nn.Dims{0} })},
		{"condition without a value", func(m *nn.Model) { m.Main.Operands[0].Lifetime, m.Main.Inputs = nn.NoValue, []uint32{3, 4} }},
		{"V9 then is a tensor", op(func(o *nn.Operation) { o.Inputs[1] = 3 })},
		{"V9 else is a tensor", op(func(o *nn.Operation) { o.Inputs[2] = 0 })},
		{"V9 an input is a graph", op(func(o *nn.Operation) { o.Inputs[3] = 1 })},
		{"V15 no else", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:2] })},
		{"V15 one input", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:4] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 a third input", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"then takes another type", inner(0, 0, func(o *nn.Operand) { o.Type, o.Scale, o.ZeroPoint = nn.TensorFloat32, 0, 0 })},
		{"else takes another scale", inner(1, 0, func(o *nn.Operand) { o.Scale = 1 })},
		{"else takes another zero point", inner(1, 1, func(o *nn.Operand) { o.ZeroPoint = 4 })},
		{"then takes another shape", inner(0, 0, func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
		{"then takes another rank", inner(0, 0, func(o *nn.Operand) { o.Dims = nn.Dims{1, 1} })},
		{"then gives another scale", inner(0, 3, func(o *nn.Operand) { o.Scale = 1 })},
		{"then takes more", func(m *nn.Model) { addInput(&m.Referenced[0], eight) }},
		{"then takes less", func(m *nn.Model) {
			g := &m.Referenced[0]
			g.Operands[1].Lifetime, g.Operands[1].Location, g.Inputs = nn.ConstantCopy, nn.Location{Length: 1}, g.Inputs[:1]
		}},
		{"a circle", func(m *nn.Model) {
			g := &m.Referenced[1]
			g.Operands = append(g.Operands, reference(1))
		}},
	})
}

// TestWhileRules breaks a WHILE by each rule that it falls under.
func TestWhileRules(t *testing.T) {
	if err := validate.Model(whileModel()); err != nil {
		t.Fatal(err)
	}
	op := func(f func(o *nn.Operation)) func(*nn.Model) {
		return func(m *nn.Model) { f(&m.Main.Operations[0]) }
	}
	refuseFrom(t, whileModel(), []change{
		{"V9 condition is a tensor", op(func(o *nn.Operation) { o.Inputs[0] = 2 })},
		{"V9 body is a tensor", op(func(o *nn.Operation) { o.Inputs[1] = 2 })},
		{"V9 an input is a graph", op(func(o *nn.Operation) { o.Inputs[2] = 1 })},
		{"V15 no values", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:2] })},
		{"V15 one value", op(func(o *nn.Operation) { o.Inputs = o.Inputs[:3] })},
		{"V16 no output", op(func(o *nn.Operation) { o.Outputs = nil })},
		{"V17 a third value", func(m *nn.Model) { appendInput(m, 0) }},
		{"V18 a second output", func(m *nn.Model) { appendOutput(m, 0) }},
		{"condition of numbers", func(m *nn.Model) { m.Referenced[0] = sumGraph(eight) }},
		{"condition of two", inner(0, 2, func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
		{"condition takes another scale", inner(0, 0, func(o *nn.Operand) { o.Scale = 1 })},
		{"condition takes another shape", inner(0, 1, func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
		{"condition takes more", func(m *nn.Model) { addInput(&m.Referenced[0], eight) }},
		{"condition gives two", func(m *nn.Model) {
			g := &m.Referenced[0]
			g.Operands = append(g.Operands, g.Operands[2])
			g.Operations = append(g.Operations, nn.Operation{Type: nn.OpLess, Inputs: []uint32{1, 0}, Outputs: []uint32{3}})
			g.Outputs = append(g.Outputs, 3)
		}},
		{"body takes another type", inner(1, 1, func(o *nn.Operand) { o.Type, o.ZeroPoint = nn.TensorQuant8AsymmSigned, 0 })},
		{"body gives another scale", inner(1, 3, func(o *nn.Operand) { o.Scale = 1 })},
		{"body gives another shape", func(m *nn.Model) {
			m.Referenced[1].Operands[1].Dims, m.Referenced[1].Operands[3].Dims = nn.Dims{0}, nn.Dims{2}
		}},
		{"output of another shape", on(4, func(o *nn.Operand) { o.Dims = nn.Dims{2} })},
		{"body takes more", func(m *nn.Model) { addInput(&m.Referenced[1], eight) }},
		{"body gives more than it takes", func(m *nn.Model) {
			g := &m.Referenced[1]
			for k := uint32(4); k < 6; k++ {
				g.Operands = append(g.Operands, g.Operands[3])
				g.Operations = append(g.Operations, nn.Operation{Type: nn.OpAdd, Inputs: []uint32{0, 1, 2}, Outputs: []uint32{k}})
				g.Outputs = append(g.Outputs, k)
			}
		}},
	})
}
