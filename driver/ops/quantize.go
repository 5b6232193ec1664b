package ops

import "github.com/nngpu/nngpu/driver/nn"

// castable are the types that CAST converts between; others it only copies.
var castable = floats | of(nn.TensorInt32, nn.TensorQuant8Asymm)

var castTypes = castable | of(nn.TensorBool8, nn.TensorQuant16Asymm, nn.TensorQuant16Symm,
	nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm)

func init() {
	register(
		Row{
			Type: nn.OpCast, Since: 3, Empty: AnyEmpty,
			Later: map[nn.OperandType]Level{nn.TensorBool8: 4, nn.TensorQuant16Asymm: 4, nn.TensorQuant16Symm: 4, nn.TensorQuant8Symm: 4},
			Forms: one(input(castTypes, AnyRank)),
			Outputs: resultOf(TypeRule{
				With: func(x nn.OperandType) Types {
					if castable.Has(x) {
						return castable
					}
					return of(x)
				},
				Text: "TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32 or TENSOR_QUANT8_ASYMM where the input has one of these; else as input 0",
			}, AnyRank),
			Rules:  []string{"scales and zero points are ignored: stored numbers are converted"},
			relate: relateSame, rules: untyped(keepShape[none]),
		},
		Row{
			Type: nn.OpQuantize, Since: 3, Empty: AnyEmpty,
			Forms: one(input(floats, AnyRank)), Outputs: resultOf(fixed(quant8), AnyRank),
			relate: relateSame, rules: untyped(keepShape[none]),
		},
		// Separate from QUANTIZE, so that this one keeps to the types of the HAL.
		Row{
			Type:  nn.OpRequantize,
			Forms: one(input(quant8, AnyRank)), Outputs: resultOf(fixed(quant8), AnyRank),
			relate: relateSame, rules: untyped(keepShape[none]),
		},
		Row{
			Type: nn.OpDequantize, Since: 1, Empty: AnyEmpty,
			Forms:   one(input(quant8|of(nn.TensorQuant8Symm, nn.TensorQuant8PerChannel), extended)),
			Outputs: resultOf(fixed(floats), extended),
			Rules:   []string{"TENSOR_FLOAT16 results since 1.2"},
			relate:  relateSame, rules: untyped(keepShape[none]),
		},
	)
}
