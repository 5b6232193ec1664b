package ops

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	const stored = "anything but 0 is true; results are 0 and 1"
	and := pairwise(nn.OpLogicalAnd, 3, of(nn.TensorBool8), AnyRank, "first input", "second input")
	or := pairwise(nn.OpLogicalOr, 3, of(nn.TensorBool8), AnyRank, "first input", "second input")
	not := unary(nn.OpLogicalNot, 3, of(nn.TensorBool8), AnyRank, quantRule{})
	and.Rules, or.Rules, not.Rules = append(and.Rules, stored), append(or.Rules, stored), append(not.Rules, stored)
	register(and, or, not)
}
