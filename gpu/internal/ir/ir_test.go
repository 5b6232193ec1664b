package ir

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// chain is RELU(RELU6(x)) * c with x read twice, the constant c, and tensor 2 an output beside the last.
func chain(t *testing.T) *Graph {
	t.Helper()
	g, err := Parse(`
input %0 TENSOR_FLOAT32 [2,3]
const %1 TENSOR_FLOAT32 [3] AACAPwAAAEAAAEBA
%2 TENSOR_FLOAT32 [2,3] = RELU6 %0
%3 TENSOR_FLOAT32 [2,3] = RELU %2
%4 TENSOR_FLOAT32 [2,3] = MUL %3 %1
%5 TENSOR_FLOAT32 [2,3] = ADD %4 %4
output %5
output %2
`)
	require.NoError(t, err)
	return g
}

// ids in the chain, which Parse numbers in the order of the text.
const (
	x ID = iota
	constant
	clamped
	positive
	scaled
	result
)

func TestUsesCountsInputsAndOutputs(t *testing.T) {
	g := chain(t)
	uses := g.Uses()
	require.Equal(t, []int{1, 1, 2, 1, 2, 1}, uses) // clamped: RELU and an output; scaled: twice in ADD
	g.Nodes[3].In = []ID{scaled, None}
	require.Equal(t, 1, g.Uses()[scaled])
}

func TestProducersOfInputsAndConstantsAreNone(t *testing.T) {
	require.Equal(t, []int{-1, -1, 0, 1, 2, 3}, chain(t).Producers())
}

func TestVerify(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(g *Graph)
		want string // "" for a valid graph
	}{
		{"unchanged", func(*Graph) {}, ""},
		{"an input left off", func(g *Graph) { g.Inputs = append(g.Inputs, None) }, ""},
		{"an optional operand left off", func(g *Graph) { g.Nodes[3].In[1] = None }, ""},
		{"a tensor that nobody touches", func(g *Graph) { g.Add(Tensor{Type: nn.TensorFloat32, Shape: []int{0}}) }, ""},
		{"a scalar", func(g *Graph) { g.Add(Tensor{Type: nn.Float32, Const: make([]byte, 4)}) }, ""},
		{"an output twice", func(g *Graph) { g.Outputs = append(g.Outputs, result) }, ""},
		{"an input as an output", func(g *Graph) { g.Outputs[1] = x }, ""},
		{"a constant as an output", func(g *Graph) { g.Outputs[1] = constant }, ""},
		{"negative dimension", func(g *Graph) { g.T(x).Shape[0] = -2 }, "shape"},
		{"open dimension", func(g *Graph) { g.T(positive).Shape = []int{0} }, "shape"},
		{"constant too short", func(g *Graph) { g.T(constant).Const = g.T(constant).Const[:11] }, "12"},
		{"constant of another type", func(g *Graph) { g.T(constant).Type = nn.TensorFloat16 }, "want 6"},
		{"input twice", func(g *Graph) { g.Inputs = append(g.Inputs, x) }, "input 0"},
		{"constant as an input", func(g *Graph) { g.Inputs = append(g.Inputs, constant) }, "input 1"},
		{"input out of range", func(g *Graph) { g.Inputs = append(g.Inputs, 6) }, "input 6"},
		{"nodes out of order", func(g *Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] }, "before it is written"},
		{"a node reads its own output", func(g *Graph) { g.Nodes[1].In[0] = positive }, "before it is written"},
		{"operand out of range", func(g *Graph) { g.Nodes[1].In[0] = 6 }, "reads tensor 6"},
		{"negative operand", func(g *Graph) { g.Nodes[1].In[0] = -2 }, "reads tensor -2"},
		{"no output", func(g *Graph) { g.Nodes[1].Out[0] = None }, "writes tensor -1"},
		{"result out of range", func(g *Graph) { g.Nodes[1].Out[0] = 6 }, "writes tensor 6"},
		{"two writers", func(g *Graph) { g.Nodes[2].Out[0] = positive }, "has a value"},
		{"an input is overwritten", func(g *Graph) { g.Nodes[3].Out[0] = x }, "has a value"},
		{"a constant is overwritten", func(g *Graph) { g.Nodes[3].Out[0] = constant }, "has a value"},
		{"output without a writer", func(g *Graph) { g.Nodes = g.Nodes[:3] }, "output 5"},
		{"output left off", func(g *Graph) { g.Outputs[0] = None }, "output -1"},
		{"output out of range", func(g *Graph) { g.Outputs[0] = 6 }, "output 6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := chain(t)
			tc.do(g)
			err := g.Verify(Inferred)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestVerifyHoldsAttributesToTheOperation(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(n *Node) // a MUL
		want string
	}{
		{"its own", func(n *Node) { n.Attrs = ops.Arithmetic{Act: nn.ActRelu6} }, ""},
		{"those of another", func(n *Node) { n.Attrs = ops.Softmax{} }, "attributes of type ops.Softmax"},
		{"none where there are some", func(n *Node) { n.Attrs = nil }, "attributes of type <nil>"},
		{"some where there are none", func(n *Node) { n.Op = nn.OpMaximum }, "attributes of type ops.Arithmetic"},
		{"none where there are none", func(n *Node) { n.Op, n.Attrs = nn.OpMaximum, nil }, ""},
		{"an operation that is in no table", func(n *Node) { n.Op = nn.OpOemOperation }, "not in the table"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := chain(t)
			tc.do(&g.Nodes[2])
			require.NoError(t, g.Verify(Imported))
			err := g.Verify(Inferred)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestVerifyKnowsHowFarTheGraphIs(t *testing.T) {
	g := chain(t)
	g.T(x).Shape = []int{0, 3}
	require.NoError(t, g.Verify(Imported))
	require.ErrorContains(t, g.Verify(Inferred), "input 0: has shape [0 3]")
	g.T(x).Shape = nil
	require.NoError(t, g.Verify(Imported))
	require.ErrorContains(t, g.Verify(Inferred), "input 0: has shape []")

	g, err := Parse(`
		input %0 TENSOR_FLOAT32 [1,3,5,7]
		%1 TENSOR_FLOAT32 [1,3,5,7] = MAX_POOL_2D %0 {"stride":[1,1],"window":[1,1],"nchw":true}
		output %1`)
	require.NoError(t, err)
	require.ErrorContains(t, g.Verify(Normal), "is NCHW")
	require.Equal(t, "normal", Normal.String())
	require.Equal(t, "State(9)", State(9).String())
}

func TestElementsOfAScalarIsOne(t *testing.T) {
	require.Equal(t, 1, (&Tensor{}).Elements())
	require.Equal(t, 105, (&Tensor{Shape: []int{1, 5, 7, 3}}).Elements())
}

func TestWhereNamesTheOperationOfTheModel(t *testing.T) {
	require.Equal(t, "operation 3 (CONV_2D)", (&Node{Op: nn.OpConv2D, Source: 3}).Where())
	require.Equal(t, "TRANSPOSE added by the compiler", (&Node{Op: nn.OpTranspose, Source: -1}).Where())
}

// FuzzParse: the text comes from tests and people, and a mistake in it must be an error.
func FuzzParse(f *testing.F) {
	f.Add("input %0 TENSOR_FLOAT32 [2,3]\n%2 TENSOR_FLOAT32 [2,3] = RELU6 %0 {\"act\":1}\noutput %2\n")
	f.Add("const %0 TENSOR_QUANT8_ASYMM(0.5,3) [2] AQI=\noutput %0")
	f.Add("relaxed\ninput _\n%1 X = \noutput _")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(g.String())
		if err != nil {
			t.Fatalf("%v in the text of a parsed graph:\n%s", err, g)
		}
		// The first round trip may number the tensors anew, in the order of the text.
		third, err := Parse(again.String())
		if err != nil {
			t.Fatal(err)
		}
		if third.String() != again.String() {
			t.Fatalf("%s\nbecame\n%s", again, third)
		}
	})
}
