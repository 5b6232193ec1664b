package validate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// opened is m without the dimensions of numbers, in all graphs.
func opened(m *nn.Model) *nn.Model {
	blankNumbers := func(g *nn.Graph) {
		for i := range g.Operands {
			if o := &g.Operands[i]; o.Type == nn.TensorQuant8Asymm {
				o.Dims = nil
			}
		}
	}
	blankNumbers(&m.Main)
	for i := range m.Referenced {
		blankNumbers(&m.Referenced[i])
	}
	return m
}

// TestResolveThroughIf: what both branches give is known, in the graphs too; where they differ only the data tells.
func TestResolveThroughIf(t *testing.T) {
	m := opened(ifModel())
	require.NoError(t, validate.Model(m))
	require.True(t, validate.Open(m))
	got, err := validate.Resolve(m, []nn.Dims{nil, {5}, {1}})
	require.NoError(t, err)
	require.False(t, validate.Open(got))
	require.NoError(t, validate.Model(got))
	require.Equal(t, nn.Dims{5}, got.Main.Operands[5].Dims)
	for i := range got.Referenced {
		require.Equal(t, nn.Dims{5}, got.Referenced[i].Operands[0].Dims)
		require.Equal(t, nn.Dims{1}, got.Referenced[i].Operands[1].Dims)
		require.Equal(t, nn.Dims{5}, got.Referenced[i].Operands[3].Dims)
	}
	require.Empty(t, m.Referenced[0].Operands[0].Dims, "it only reads")

	other := opened(ifModel())
	g := &other.Referenced[1] // gives the second input as it is, which may have another size
	g.Operations[0] = nn.Operation{Type: nn.OpRelu, Inputs: []uint32{1}, Outputs: []uint32{3}}
	got, err = validate.Resolve(other, []nn.Dims{nil, {5}, {1}})
	require.NoError(t, err)
	require.Equal(t, nn.Dims{0}, got.Main.Operands[5].Dims)
	require.Equal(t, nn.Dims{1}, got.Referenced[1].Operands[3].Dims)
	got, err = validate.Resolve(other, []nn.Dims{nil, {2, 5}, {1}})
	require.NoError(t, err)
	require.Empty(t, got.Main.Operands[5].Dims)

	_, err = validate.Resolve(m, []nn.Dims{nil, {5}, {3}})
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "no branch can add them: %v", err)
	_, err = validate.Resolve(m, []nn.Dims{nil, {5}, nil})
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "an input stays open: %v", err)
	example := validate.Example(m)
	require.NotNil(t, example)
	require.False(t, validate.FromData(example))
	require.True(t, validate.FromData(m))
}

// TestResolveThroughWhile: a state that stays as large as it is has the size that goes in, one that may grow has none.
func TestResolveThroughWhile(t *testing.T) {
	m := opened(whileModel())
	m.Referenced[0].Operands[2].Dims = nn.Dims{1}
	require.NoError(t, validate.Model(m))
	got, err := validate.Resolve(m, []nn.Dims{{1}, {1}})
	require.NoError(t, err)
	require.Equal(t, nn.Dims{1}, got.Main.Operands[4].Dims)
	require.Equal(t, nn.Dims{1}, got.Referenced[1].Operands[3].Dims)

	// The state is joined to itself in each iteration, and is compared with what stays.
	grows := opened(whileModel())
	body := &grows.Referenced[1]
	body.Operations = []nn.Operation{{Type: nn.OpConcatenation, Inputs: []uint32{0, 0, 2}, Outputs: []uint32{3}}}
	require.NoError(t, validate.Model(grows))
	grows.Referenced[0].Operations[0].Inputs = []uint32{1, 1}
	got, err = validate.Resolve(grows, []nn.Dims{{2}, {1}})
	require.NoError(t, err)
	require.False(t, validate.Open(got))
	require.Empty(t, got.Main.Operands[4].Dims)
	require.Empty(t, got.Referenced[1].Operands[0].Dims)
	require.Equal(t, nn.Dims{1}, got.Referenced[1].Operands[1].Dims)
}

// TestResolveIsBounded: graphs that refer twice to others are not looked at as often as they stand.
func TestResolveIsBounded(t *testing.T) {
	m := opened(ifModel())
	for depth := uint32(2); depth < 60; depth++ {
		g := m.Main
		g.Operands = append([]nn.Operand(nil), g.Operands...)
		for _, i := range []uint32{0, 3, 4} {
			g.Operands[i].Lifetime = nn.SubgraphInput
		}
		g.Operands[1], g.Operands[2] = reference(depth), reference(depth)
		if depth == 2 {
			g.Operands[1], g.Operands[2] = reference(0), reference(1)
		}
		m.Referenced = append(m.Referenced, g)
	}
	last := uint32(len(m.Referenced)) - 1
	for i := uint32(2); i <= last; i++ {
		g := &m.Referenced[i]
		g.Operations = []nn.Operation{{Type: nn.OpIf, Inputs: []uint32{0, 1, 2, 3, 4}, Outputs: []uint32{5}}}
		if i > 2 {
			g.Operands[1], g.Operands[2] = reference(i-1), reference(i-1)
			g.Inputs = []uint32{0, 3, 4}
		}
	}
	m.Referenced[0].Inputs, m.Referenced[1].Inputs = []uint32{0, 1}, []uint32{0, 1}
	// Graphs of graphs take the condition, too.
	for i := uint32(3); i <= last; i++ {
		m.Referenced[i].Operations[0].Inputs = []uint32{0, 1, 2, 0, 3, 4}
	}
	m.Main.Operands = append([]nn.Operand(nil), m.Main.Operands...)
	m.Main.Operands[1], m.Main.Operands[2] = reference(last), reference(last)
	m.Main.Operations = []nn.Operation{{Type: nn.OpIf, Inputs: []uint32{0, 1, 2, 0, 3, 4}, Outputs: []uint32{5}}}
	begin := time.Now()
	require.NoError(t, validate.Model(m))
	got, err := validate.Resolve(m, []nn.Dims{nil, {5}, {1}})
	require.NoError(t, err)
	require.Empty(t, got.Main.Operands[5].Dims)
	require.Empty(t, got.Referenced[0].Operands[0].Dims, "nobody looked to the end")
	require.Less(t, time.Since(begin), 10*time.Second)
}

// TestWrongControlInReferencedGraph: an IF or WHILE that lacks inputs, in a graph that another refers to, is refused before
// dimensions go through it.
func TestWrongControlInReferencedGraph(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpIf, nn.OpWhile} {
		for n := 1; n <= 3; n++ {
			for _, m := range []*nn.Model{ifModel(), whileModel()} {
				for i := range m.Referenced {
					o := &m.Referenced[i].Operations[0]
					o.Type, o.Inputs = op, o.Inputs[:min(n, len(o.Inputs))]
					require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(validate.Model(m)), "%v of %d inputs in graph %d", op, n, i)
				}
			}
		}
	}
}
