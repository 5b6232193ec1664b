package ops

import "github.com/nngpu/nngpu/driver/nn"

// unary is an operation on one tensor, element by element.
func unary(t nn.OperationType, since Level, types Types, r Ranks, quant quantRule) Row {
	return Row{
		Type: t, Since: since, Empty: AnyEmpty, Forms: one(input(types, r)), Outputs: result(r),
		quant: quant, relate: relateSame, rules: untyped(keepShape[none]),
	}
}

func init() {
	free := quantRule{}
	tanh := unary(nn.OpTanh, 1, numbers, extended, fixedQuant(128, 128, 0))
	tanh.Later = map[nn.OperandType]Level{nn.TensorQuant8Asymm: 3}
	abs := unary(nn.OpAbs, 3, floatsInt32, AnyRank, free)
	abs.Later = map[nn.OperandType]Level{nn.TensorInt32: 4}
	rsqrt := unary(nn.OpRsqrt, 3, numbers, AnyRank, free)
	rsqrt.Later = map[nn.OperandType]Level{nn.TensorQuant8Asymm: 7, nn.TensorQuant8AsymmSigned: 7}
	register(
		unary(nn.OpRelu, 1, numbers, extended, sameQuant),
		unary(nn.OpRelu1, 1, numbers, extended, sameQuant),
		unary(nn.OpRelu6, 1, numbers, extended, sameQuant),
		unary(nn.OpHardSwish, 4, numbers, AnyRank, free),
		tanh,
		unary(nn.OpLogistic, 1, numbers, extended, fixedQuant(256, 0, -128)),
		abs,
		unary(nn.OpNeg, 3, floatsInt32, AnyRank, free),
		unary(nn.OpExp, 3, floats, AnyRank, free),
		unary(nn.OpLog, 3, floats, AnyRank, free),
		unary(nn.OpSqrt, 3, floats, AnyRank, free),
		rsqrt,
		unary(nn.OpSin, 3, floats, AnyRank, free),
		unary(nn.OpFloor, 1, floats, extended, free),
		Row{
			Type: nn.OpElu, Since: 4,
			Forms: one(input(floats, AnyRank), realNumber("alpha", "")), Outputs: result(AnyRank), relate: relateSame,
			rules: typed[Elu]{
				attrs:  func(p *params, a *Elu) { a.Alpha, _ = p.real("alpha") },
				shapes: keepShape[Elu],
			},
		},
	)
}

// Elu are the attributes of ELU.
type Elu struct {
	Alpha float64 `json:"alpha,omitempty"`
}

func (Elu) attrs() {}
