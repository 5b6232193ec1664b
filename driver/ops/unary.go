package ops

import "github.com/nngpu/nngpu/driver/nn"

// unary is an operation on one tensor, element by element.
func unary(t nn.OperationType, types typeSet, r ranks, quant func(*Call) error) definition {
	return definition{
		t: t, form: one(nil, input(types, r)), out: like("output", r),
		quant: quant, shape: keepShape,
	}
}

func init() {
	register(rows(
		unary(nn.OpRelu, numbers, extended, sameQuant),
		unary(nn.OpRelu1, numbers, extended, sameQuant),
		unary(nn.OpRelu6, numbers, extended, sameQuant),
		unary(nn.OpHardSwish, numbers, anyRank, nil),
		unary(nn.OpTanh, numbers, extended, fixedQuant(1.0/128, 128, 0)),
		unary(nn.OpLogistic, numbers, extended, fixedQuant(1.0/256, 0, -128)),
		unary(nn.OpAbs, floatsInt32, anyRank, nil),
		unary(nn.OpNeg, floatsInt32, anyRank, nil),
		unary(nn.OpExp, floats, anyRank, nil),
		unary(nn.OpLog, floats, anyRank, nil),
		unary(nn.OpSqrt, floats, anyRank, nil),
		unary(nn.OpRsqrt, numbers, anyRank, nil),
		unary(nn.OpSin, floats, anyRank, nil),
		unary(nn.OpFloor, floats, extended, nil),
		definition{
			t:    nn.OpElu,
			form: one(nil, input(floats, anyRank), realNumber("alpha")),
			out:  like("output", anyRank),
			attrs: func(c *Call, p *params, a *Attrs) {
				a.Alpha, _ = p.real(1)
			},
			shape: keepShape,
		},
	)...)
}
