package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(
		comparison(nn.OpEqual),
		comparison(nn.OpNotEqual),
		comparison(nn.OpLess),
		comparison(nn.OpLessEqual),
		comparison(nn.OpGreater),
		comparison(nn.OpGreaterEqual),
	)
}

// comparison is an operation on two tensors with broadcasting whose results are true or false.
func comparison(t nn.OperationType) Row {
	row := pairwise(t, 3, withInt32|of(nn.TensorBool8), AnyRank, "first input", "second input")
	row.Outputs = resultOf(fixed(of(nn.TensorBool8)), AnyRank)
	row.Rules = append(row.Rules, "8-bit inputs may differ in scale and zero point: real numbers are compared, in float32",
		"false is less than true; -0 equals 0; NaN is not equal to anything, nor less or greater")
	return row
}
