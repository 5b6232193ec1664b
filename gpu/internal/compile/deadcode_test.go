package compile

import "testing"

func TestRemoveDead(t *testing.T) {
	testPass(t, removeDead, []passCase{
		{name: "all live", before: `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			output %1`},
		{"a branch of two", `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			%2 TENSOR_FLOAT32 [3] = ABS %1
			%3 TENSOR_FLOAT32 [3] = TANH %2
			output %1`, `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			output %1`},
		{"one reader is dead, one lives", `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			%2 TENSOR_FLOAT32 [3] = ADD %1 %1
			%3 TENSOR_FLOAT32 [3] = ABS %1
			output %3`, `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			%3 TENSOR_FLOAT32 [3] = ABS %1
			output %3`},
		{"an intermediate that is an output", `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			%2 TENSOR_FLOAT32 [3] = ABS %1
			output %1`, `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0
			output %1`},
		{"nothing is asked for", `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = RELU %0`, `
			input %0 TENSOR_FLOAT32 [3]`},
		{name: "operands left off", before: `
			input %0 TENSOR_FLOAT32 [3]
			%1 TENSOR_FLOAT32 [3] = PRELU %0 _
			output %1`},
	})
}
