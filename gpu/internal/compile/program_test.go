package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// onGPU are the facts of a GPU, on which programs always pay.
func onGPU() *plan.Facts {
	f := lavapipe
	f.Class = plan.ClassGPU
	return &f
}

func fuseElementwiseOn(f *plan.Facts) func(*ir.Graph) error {
	return func(g *ir.Graph) error { return (&unit{facts: f, graph: g}).fuseElementwise() }
}

func TestFuseElementwise(t *testing.T) {
	testPass(t, fuseElementwiseOn(onGPU()), []passCase{
		{"a cell's state", `
			input %0 TENSOR_FLOAT32 [2,7]
			input %1 TENSOR_FLOAT32 [2,7]
			input %2 TENSOR_FLOAT32 [2,7]
			%3 TENSOR_FLOAT32 [2,7] = LOGISTIC %0
			%4 TENSOR_FLOAT32 [2,7] = TANH %1
			%5 TENSOR_FLOAT32 [2,7] = MUL %3 %4
			%6 TENSOR_FLOAT32 [2,7] = ADD %2 %5
			output %6`, `
			input %0 TENSOR_FLOAT32 [2,7]
			input %1 TENSOR_FLOAT32 [2,7]
			input %2 TENSOR_FLOAT32 [2,7]
			%6 TENSOR_FLOAT32 [2,7] = ELEMENTWISE %0 %1 %2 {"steps":[{"op":14,"a":0},{"op":28,"a":1},{"op":18,"a":3,"b":4},{"op":0,"a":2,"b":5}],"results":[6]}
			output %6`},
		{"numbers, an activation, two results, a channel's and a row's operand", `
			input %0 TENSOR_FLOAT32 [3,5]
			input %1 TENSOR_FLOAT32 [3,1]
			const %2 TENSOR_FLOAT32 [1] AAAAPw==
			const %3 TENSOR_FLOAT32 [5] zeroes
			%4 TENSOR_FLOAT32 [3,5] = SUB %0 %1 {"act":3}
			%5 TENSOR_FLOAT32 [3,5] = MUL %4 %2
			%6 TENSOR_FLOAT32 [3,5] = ADD %5 %3
			output %4
			output %6`, `
			input %0 TENSOR_FLOAT32 [3,5]
			input %1 TENSOR_FLOAT32 [3,1]
			const %2 TENSOR_FLOAT32 [1] AAAAPw==
			const %3 TENSOR_FLOAT32 [5] zeroes
			%4 TENSOR_FLOAT32 [3,5], %6 TENSOR_FLOAT32 [3,5] = ELEMENTWISE %0 %1 %3 {"numbers":[0.5],"steps":[{"op":36,"a":0,"b":1},{"op":21,"a":4},{"op":18,"a":5,"b":3},{"op":0,"a":6,"b":2}],"results":[5,7]}
			output %4
			output %6`},
		{"in the place of the last, behind what others compute for it", `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ABS %0
			%2 TENSOR_FLOAT32 [1,4] = FLOOR %0
			%3 TENSOR_FLOAT32 [1,4] = ADD %1 %2
			output %3`, `
			input %0 TENSOR_FLOAT32 [1,4]
			%2 TENSOR_FLOAT32 [1,4] = FLOOR %0
			%3 TENSOR_FLOAT32 [1,4] = ELEMENTWISE %0 %2 {"steps":[{"op":38,"a":0},{"op":0,"a":2,"b":1}],"results":[3]}
			output %3`},
	})
}

func TestFuseElementwiseLeavesOthersAlone(t *testing.T) {
	testPass(t, fuseElementwiseOn(onGPU()), []passCase{
		{name: "what another reads in between", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ABS %0
			%2 TENSOR_FLOAT32 [1,4] = FLOOR %1
			%3 TENSOR_FLOAT32 [1,4] = ADD %1 %2
			output %3`},
		{name: "integers", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_INT32 [1,4] = CAST %0
			%2 TENSOR_INT32 [1,4] = ABS %1
			%3 TENSOR_INT32 [1,4] = NEG %2
			output %3`},
		{name: "of other shapes", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			input %1 TENSOR_FLOAT32 [3,4]
			%2 TENSOR_FLOAT32 [1,4] = ABS %0
			%3 TENSOR_FLOAT32 [3,4] = ADD %1 %2
			output %3`},
		{name: "bytes", before: `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4]
			%1 TENSOR_QUANT8_ASYMM(0.5,9) [1,4] = ADD %0 %0
			%2 TENSOR_QUANT8_ASYMM(0.5,9) [1,4] = MUL %1 %1
			output %2`},
		{name: "an operand that repeats in two dimensions", before: `
			input %0 TENSOR_FLOAT32 [2,3,2,4]
			input %1 TENSOR_FLOAT32 [2,1,2,4]
			%2 TENSOR_FLOAT32 [2,3,2,4] = ADD %0 %1
			%3 TENSOR_FLOAT32 [2,3,2,4] = ABS %2
			output %3`},
	})
	var chain strings.Builder
	chain.WriteString("input %0 TENSOR_FLOAT32 [1,4]\n")
	for i := range 17 {
		chain.WriteString(strings.NewReplacer("IN", string(rune('a'+i-1)), "OUT", string(rune('a'+i))).Replace("%OUT TENSOR_FLOAT32 [1,4] = NEG %IN\n"))
	}
	g, err := ir.Parse(strings.Replace(chain.String(), "%`", "%0", 1) + "output %q")
	require.NoError(t, err)
	require.NoError(t, fuseElementwiseOn(onGPU())(g))
	require.Len(t, g.Nodes, 2, "17 steps are more than one program has")
}

// TestProgramsOnSoftwareDevices: there recurrent cells use them, and small networks do not.
func TestProgramsOnSoftwareDevices(t *testing.T) {
	for length, programs := range map[uint32]bool{2: false, 12: true} {
		p, _, err := Model(t.Context(), &lavapipe, build(t, lstmNet(length)), nil)
		require.NoError(t, err)
		n, quick := 0, lavapipe
		for _, s := range p.Steps {
			if s.Kernel == shaders.ProgramF32 {
				n++
			}
		}
		require.Equal(t, programs, n > 0, "%d steps", length)
		quick.Quick = true
		p, _, err = Model(t.Context(), &quick, build(t, lstmNet(length)), nil)
		require.NoError(t, err)
		for _, s := range p.Steps {
			require.NotEqual(t, shaders.ProgramF32, s.Kernel)
		}
	}
}
