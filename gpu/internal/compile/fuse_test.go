package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func TestFusePad(t *testing.T) {
	testPass(t, inOrder(fusePadOn(&lavapipe), removeDead), []passCase{
		{"into CONV_2D, added to its own padding", `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			const %1 TENSOR_FLOAT32 [2,3,3,3] zeroes
			const %2 TENSOR_FLOAT32 [2] zeroes
			%3 TENSOR_FLOAT32 [1,8,12,3] = PAD %0 {"pads":[[0,0],[1,2],[3,2],[0,0]]}
			%4 TENSOR_FLOAT32 [1,9,13,2] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1],"pad":{"top":1,"bottom":2,"right":3}}
			output %4`, `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			const %1 TENSOR_FLOAT32 [2,3,3,3] zeroes
			const %2 TENSOR_FLOAT32 [2] zeroes
			%4 TENSOR_FLOAT32 [1,9,13,2] = CONV_2D %0 %1 %2 {"stride":[1,1],"dilation":[1,1],"pad":{"top":2,"bottom":4,"left":3,"right":5}}
			output %4`},
		{"into DEPTHWISE_CONV_2D", `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			const %1 TENSOR_FLOAT32 [1,3,3,3] zeroes
			const %2 TENSOR_FLOAT32 [3] zeroes
			%3 TENSOR_FLOAT32 [1,7,9,3] = PAD_V2 %0 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%4 TENSOR_FLOAT32 [1,3,4,3] = DEPTHWISE_CONV_2D %3 %1 %2 {"stride":[2,2],"dilation":[1,1],"multiplier":1}
			output %4`, `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			const %1 TENSOR_FLOAT32 [1,3,3,3] zeroes
			const %2 TENSOR_FLOAT32 [3] zeroes
			%4 TENSOR_FLOAT32 [1,3,4,3] = DEPTHWISE_CONV_2D %0 %1 %2 {"stride":[2,2],"dilation":[1,1],"pad":{"top":1,"bottom":1,"left":1,"right":1},"multiplier":1}
			output %4`},
		{"8-bit, filled with the zero point", `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,4]
			const %1 TENSOR_QUANT8_ASYMM(0.5,7) [1,3,3,4] zeroes
			const %2 TENSOR_INT32(0.25,0) [1] zeroes
			%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,4,4] = PAD %0 {"pads":[[0,0],[1,1],[1,1],[0,0]],"value":9}
			%4 TENSOR_QUANT8_ASYMM(1,0) [1,2,2,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`, `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,4]
			const %1 TENSOR_QUANT8_ASYMM(0.5,7) [1,3,3,4] zeroes
			const %2 TENSOR_INT32(0.25,0) [1] zeroes
			%4 TENSOR_QUANT8_ASYMM(1,0) [1,2,2,1] = CONV_2D %0 %1 %2 {"stride":[1,1],"dilation":[1,1],"pad":{"top":1,"bottom":1,"left":1,"right":1}}
			output %4`},
	})
}

// padded is a PAD before a CONV_2D of 1x1, in which CHANNELS, SHAPE, PAD_OP, PADS and OUT stand for what varies.
const padded = `
	input %0 TENSOR_FLOAT32 [1,2,2,4]
	const %1 TENSOR_FLOAT32 [1,1,1,CHANNELS] zeroes
	const %2 TENSOR_FLOAT32 [1] zeroes
	%3 TENSOR_FLOAT32 [SHAPE] = PAD_OP %0 {"pads":PADS}
	%4 TENSOR_FLOAT32 [OUT,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
	output %4`

func TestFusePadLeavesOthersAlone(t *testing.T) {
	graph := func(op, pads, shape, channels, out string) string {
		return strings.NewReplacer("PAD_OP", op, "PADS", pads, "CHANNELS", channels, "SHAPE", shape, "OUT", out).Replace(padded)
	}
	const plain = "[[0,0],[1,1],[1,1],[0,0]]"
	testPass(t, fusePadOn(&lavapipe), []passCase{
		{name: "two readers", before: graph("PAD", plain, "1,4,4,4", "4", "1,4,4") + "\noutput %3"},
		{name: "mirrored", before: graph("MIRROR_PAD", plain, "1,4,4,4", "4", "1,4,4")},
		{name: "filled with another value", before: graph("PAD_V2", plain+`,"value":-1`, "1,4,4,4", "4", "1,4,4")},
		{name: "of the batch", before: graph("PAD", "[[0,1],[1,1],[1,1],[0,0]]", "2,4,4,4", "4", "2,4,4")},
		{name: "of the channels", before: graph("PAD", "[[0,0],[1,1],[1,1],[0,1]]", "1,4,4,5", "5", "1,4,4")},
		{name: "8-bit zeroes beside the zero point", before: `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,4]
			const %1 TENSOR_QUANT8_ASYMM(0.5,7) [1,3,3,4] zeroes
			const %2 TENSOR_INT32(0.25,0) [1] zeroes
			%3 TENSOR_QUANT8_ASYMM(0.5,9) [1,4,4,4] = PAD_V2 %0 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%4 TENSOR_QUANT8_ASYMM(1,0) [1,2,2,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`},
		{name: "another scale behind it", before: `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,2,2,4]
			const %1 TENSOR_QUANT8_ASYMM(0.5,7) [1,3,3,4] zeroes
			const %2 TENSOR_INT32(0.25,0) [1] zeroes
			%3 TENSOR_QUANT8_ASYMM(0.25,9) [1,4,4,4] = PAD %0 {"pads":[[0,0],[1,1],[1,1],[0,0]],"value":9}
			%4 TENSOR_QUANT8_ASYMM(1,0) [1,2,2,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`},
		{name: "by amounts known only at run time", before: `
			input %0 TENSOR_FLOAT32 [1,2,2,4]
			input %1 TENSOR_INT32 [4,2]
			const %2 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %3 TENSOR_FLOAT32 [1] zeroes
			%4 TENSOR_FLOAT32 [1,4,4,4] = PAD %0 %1
			%5 TENSOR_FLOAT32 [1,4,4,1] = CONV_2D %4 %2 %3 {"stride":[1,1],"dilation":[1,1]}
			output %5`},
		{name: "into a pool", before: `
			input %0 TENSOR_FLOAT32 [1,2,2,4]
			%1 TENSOR_FLOAT32 [1,4,4,4] = PAD %0 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%2 TENSOR_FLOAT32 [1,3,3,4] = MAX_POOL_2D %1 {"stride":[1,1],"window":[2,2]}
			output %2`},
		{name: "the padded image is the filter as well", before: `
			input %0 TENSOR_FLOAT32 [1,2,2,4]
			const %1 TENSOR_FLOAT32 [1] zeroes
			%2 TENSOR_FLOAT32 [1,4,4,4] = PAD %0 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%3 TENSOR_FLOAT32 [1,1,1,1] = CONV_2D %2 %2 %1 {"stride":[1,1],"dilation":[1,1]}
			output %3`},
		{name: "a padded filter", before: `
			input %0 TENSOR_FLOAT32 [1,5,5,4]
			const %1 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%3 TENSOR_FLOAT32 [1,3,3,4] = PAD %1 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%4 TENSOR_FLOAT32 [1,3,3,1] = CONV_2D %0 %3 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`},
	})
}

// TestFusePadOfLargeTensors: the pass leaves alone what only the unfused operations can be divided into.
func TestFusePadOfLargeTensors(t *testing.T) {
	small := lavapipe
	small.MaxStorageRange = 4096
	const (
		row = `
			input %0 TENSOR_FLOAT32 [1,1,984,4]
			const %1 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%3 TENSOR_FLOAT32 [1,1,1000,4] = PAD %0 {"pads":[[0,0],[0,0],[16,0],[0,0]]}
			%4 TENSOR_FLOAT32 [1,1,1000,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`
		rowFused = `
			input %0 TENSOR_FLOAT32 [1,1,984,4]
			const %1 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%4 TENSOR_FLOAT32 [1,1,1000,1] = CONV_2D %0 %1 %2 {"stride":[1,1],"dilation":[1,1],"pad":{"left":16}}
			output %4`
		rows = `
			input %0 TENSOR_FLOAT32 [1,98,14,4]
			const %1 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%3 TENSOR_FLOAT32 [1,100,16,4] = PAD %0 {"pads":[[0,0],[1,1],[1,1],[0,0]]}
			%4 TENSOR_FLOAT32 [1,100,16,1] = CONV_2D %3 %1 %2 {"stride":[1,1],"dilation":[1,1]}
			output %4`
		rowsFused = `
			input %0 TENSOR_FLOAT32 [1,98,14,4]
			const %1 TENSOR_FLOAT32 [1,1,1,4] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes
			%4 TENSOR_FLOAT32 [1,100,16,1] = CONV_2D %0 %1 %2 {"stride":[1,1],"dilation":[1,1],"pad":{"top":1,"bottom":1,"left":1,"right":1}}
			output %4`
	)
	testPass(t, inOrder(fusePadOn(&lavapipe), removeDead), []passCase{{"one row that is bound whole", row, rowFused}})
	testPass(t, inOrder(fusePadOn(&small), removeDead), []passCase{
		{"one row, divided between pixels", row, row},
		{"rows, divided with their padding", rows, rowsFused},
	})
	for _, text := range []string{row, rows} {
		g, err := ir.Parse(text)
		require.NoError(t, err)
		for i := range g.Nodes {
			require.NoError(t, lower.Check(&small, g, &g.Nodes[i]))
		}
		p, weights, err := Graph(t.Context(), &small, g, nil)
		require.NoError(t, err)
		require.NoError(t, checkBounds(&small, p, weights, 0))
	}
}

func TestFuseActivation(t *testing.T) {
	cases := []passCase{
		{"a chain of two keeps the second", `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			%3 TENSOR_FLOAT32 [1,4] = RELU6 %2
			output %3`, `
			input %0 TENSOR_FLOAT32 [1,4]
			%2 TENSOR_FLOAT32 [1,4] = ADD %0 %0 {"act":1}
			%3 TENSOR_FLOAT32 [1,4] = RELU6 %2
			output %3`},
		{"both readers of the activation stay", `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = SUB %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU1 %1
			%3 TENSOR_FLOAT32 [1,4] = ADD %2 %0
			%4 TENSOR_FLOAT32 [1,4] = RELU %3
			output %2
			output %4`, `
			input %0 TENSOR_FLOAT32 [1,4]
			%2 TENSOR_FLOAT32 [1,4] = SUB %0 %0 {"act":2}
			%4 TENSOR_FLOAT32 [1,4] = ADD %2 %0 {"act":1}
			output %2
			output %4`},
		{"nodes between", `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = MUL %0 %0
			%2 TENSOR_FLOAT32 [1,4] = ABS %0
			%3 TENSOR_FLOAT32 [1,4] = RELU %1
			%4 TENSOR_FLOAT32 [1,4] = DIV %2 %3
			output %4`, `
			input %0 TENSOR_FLOAT32 [1,4]
			%3 TENSOR_FLOAT32 [1,4] = MUL %0 %0 {"act":1}
			%2 TENSOR_FLOAT32 [1,4] = ABS %0
			%4 TENSOR_FLOAT32 [1,4] = DIV %2 %3
			output %4`},
		{"8-bit of one scale", `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4]
			%1 TENSOR_QUANT8_ASYMM(0.25,3) [1,4] = ADD %0 %0
			%2 TENSOR_QUANT8_ASYMM(0.25,3) [1,4] = RELU %1
			output %2`, `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4]
			%2 TENSOR_QUANT8_ASYMM(0.25,3) [1,4] = ADD %0 %0 {"act":1}
			output %2`},
	}
	for op, params := range map[string]string{
		"CONV_2D": `%0 %1 %2 {ACT"stride":[1,1],"dilation":[1,1]}`, "DEPTHWISE_CONV_2D": `%0 %1 %2 {ACT"stride":[1,1],"dilation":[1,1],"multiplier":1}`,
		"AVERAGE_POOL_2D": `%0 {ACT"stride":[1,1],"window":[1,1]}`, "MAX_POOL_2D": `%0 {ACT"stride":[1,1],"window":[1,1]}`,
		"L2_POOL_2D": `%0 {ACT"stride":[1,1],"window":[1,1]}`,
	} {
		head := `
			input %0 TENSOR_FLOAT32 [1,4,4,1]
			const %1 TENSOR_FLOAT32 [1,1,1,1] zeroes
			const %2 TENSOR_FLOAT32 [1] zeroes` + "\n"
		cases = append(cases, passCase{
			op,
			head + `%3 TENSOR_FLOAT32 [1,4,4,1] = ` + op + " " + strings.Replace(params, "ACT", "", 1) + "\n%4 TENSOR_FLOAT32 [1,4,4,1] = RELU6 %3\noutput %4",
			head + `%4 TENSOR_FLOAT32 [1,4,4,1] = ` + op + " " + strings.Replace(params, "ACT", `"act":3,`, 1) + "\noutput %4",
		})
	}
	testPass(t, inOrder(fuseActivation, removeDead), cases)
}

func TestFuseActivationLeavesOthersAlone(t *testing.T) {
	testPass(t, inOrder(fuseActivation, removeDead), []passCase{
		{name: "of an input", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = RELU %0
			output %1`},
		{name: "of a constant", before: `
			const %0 TENSOR_FLOAT32 [1,4] zeroes
			%1 TENSOR_FLOAT32 [1,4] = RELU %0
			output %1`},
		{name: "the sum is an output as well", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			output %1
			output %2`},
		{name: "the sum has another reader", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			%3 TENSOR_FLOAT32 [1,4] = ABS %1
			output %2
			output %3`},
		{name: "two activations of one sum", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			%3 TENSOR_FLOAT32 [1,4] = RELU6 %1
			output %2
			output %3`},
		{name: "the sum has one already", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0 {"act":3}
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			output %2`},
		{name: "integers", before: `
			input %0 TENSOR_INT32 [1,4]
			%1 TENSOR_INT32 [1,4] = ADD %0 %0
			%2 TENSOR_INT32 [1,4] = RELU %1
			output %2`},
		{name: "an operation without a fused form", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = MAXIMUM %0 %0
			%2 TENSOR_FLOAT32 [1,4] = RELU %1
			output %2`},
		{name: "other functions", before: `
			input %0 TENSOR_FLOAT32 [1,4]
			%1 TENSOR_FLOAT32 [1,4] = ADD %0 %0
			%2 TENSOR_FLOAT32 [1,4] = TANH %1
			output %2`},
		{name: "another scale", before: `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4]
			%1 TENSOR_QUANT8_ASYMM(0.25,3) [1,4] = ADD %0 %0
			%2 TENSOR_QUANT8_ASYMM(0.125,3) [1,4] = RELU %1
			output %2`},
		{name: "another zero point", before: `
			input %0 TENSOR_QUANT8_ASYMM(0.5,9) [1,4]
			%1 TENSOR_QUANT8_ASYMM(0.25,3) [1,4] = ADD %0 %0
			%2 TENSOR_QUANT8_ASYMM(0.25,4) [1,4] = RELU %1
			output %2`},
	})
}

// fuseResidualOn is the pass for a device, behind the one that folds activations.
func fuseResidualOn(f *plan.Facts) func(*ir.Graph) error {
	return inOrder(fuseActivation, func(g *ir.Graph) error { return (&unit{facts: f, graph: g}).fuseResidual() }, removeDead)
}

func TestFuseResidual(t *testing.T) {
	gpu := lavapipe
	gpu.Class = plan.ClassGPU
	const head = `
		input %0 TENSOR_FLOAT32 [1,2,2,4]
		input %1 TENSOR_FLOAT32 [1,2,2,4]
		const %2 TENSOR_FLOAT32 [4,1,1,4] zeroes
		const %3 TENSOR_FLOAT32 [4] zeroes` + "\n"
	const a = `"stride":[1,1],"dilation":[1,1]}`
	conv := func(y, x, act string) string {
		return "%" + y + " TENSOR_FLOAT32 [1,2,2,4] = CONV_2D %" + x + " %2 %3 {" + act + a + "\n"
	}
	adds := func(y, sum, x, r, act string) string {
		return "%" + y + " TENSOR_FLOAT32 [1,2,2,4], %" + sum + " TENSOR_FLOAT32 [1,2,2,4] = CONV_2D %" + x + " %2 %3 %" + r + " {" + act + a + "\n"
	}
	add := func(y, operands string) string { return "%" + y + " TENSOR_FLOAT32 [1,2,2,4] = ADD " + operands + "\n" }
	const relu6 = `"act":3,`
	cases := []passCase{
		{"an input", head + conv("4", "0", "") + add("5", "%4 %1") + "output %5", head + adds("5", "4", "0", "1", "") + "output %5"},
		{"the second operand", head + conv("4", "0", "") + add("5", "%1 %4") + "output %5", head + adds("5", "4", "0", "1", "") + "output %5"},
		{"what the convolution reads", head + conv("4", "0", "") + add("5", "%4 %0") + "output %5", head + adds("5", "4", "0", "0", "") + "output %5"},
		{"an activation", head + conv("4", "0", "") + add("5", `%4 %1 {"act":3}`) + "output %5", head + adds("5", "4", "0", "1", relu6) + "output %5"},
		{
			"an activation behind", head + conv("4", "0", "") + add("5", "%4 %1") + "%6 TENSOR_FLOAT32 [1,2,2,4] = RELU6 %5\noutput %6",
			head + adds("6", "4", "0", "1", relu6) + "output %6",
		},
		{
			"an operand that is computed later", head + conv("4", "0", "") + "%5 TENSOR_FLOAT32 [1,2,2,4] = ABS %1\n" + add("6", "%4 %5") + "output %6",
			head + "%5 TENSOR_FLOAT32 [1,2,2,4] = ABS %1\n" + adds("6", "4", "0", "5", "") + "output %6",
		},
		{
			"two convolutions", head + conv("4", "0", "") + conv("5", "1", "") + add("6", "%4 %5") + "output %6",
			head + conv("4", "0", "") + adds("6", "5", "1", "4", "") + "output %6",
		},
		{
			"the later one has an activation", head + conv("4", "0", "") + conv("5", "1", relu6) + add("6", "%4 %5") + "output %6",
			head + conv("5", "1", relu6) + adds("6", "4", "0", "5", "") + "output %6",
		},
		{
			"one after the other", head + conv("4", "0", "") + add("5", "%4 %1") + conv("6", "1", "") + add("7", "%5 %6") + "output %7",
			head + adds("5", "4", "0", "1", "") + adds("7", "6", "1", "5", "") + "output %7",
		},
		{name: "an activation before", before: head + conv("4", "0", relu6) + add("5", "%4 %1") + "output %5"},
		{name: "the sum is an output as well", before: head + conv("4", "0", "") + add("5", "%4 %1") + "output %5\noutput %4"},
		{name: "twice the same", before: head + conv("4", "0", "") + add("5", "%4 %4") + "output %5"},
		{name: "another shape", before: head + conv("4", "0", "") + add("5", "%4 %3") + "output %5"},
		{name: "no convolution", before: head + add("4", "%0 %1") + add("5", "%4 %1") + "output %5"},
	}
	testPass(t, fuseResidualOn(&gpu), cases)
	cpu := gpu
	cpu.Class = plan.ClassCPU
	testPass(t, fuseResidualOn(&cpu), []passCase{{name: "a processor", before: cases[0].before}})
	small := gpu
	small.MaxStorageRange = 32
	testPass(t, fuseResidualOn(&small), []passCase{{name: "tensors that the device cannot bind", before: cases[0].before}})
}
