package ops

import "github.com/nngpu/nngpu/driver/nn"

// castable are the types that CAST converts between; the others it only copies.
var castable = floats | of(nn.TensorInt32, nn.TensorQuant8Asymm)

var castTypes = castable | of(nn.TensorBool8, nn.TensorQuant16Asymm, nn.TensorQuant16Symm,
	nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm)

func init() {
	register(rows(
		// CAST ignores scales and zero points: stored numbers are converted.
		definition{
			t:    nn.OpCast,
			form: one(nil, input(castTypes, anyRank)),
			out: arg{name: "output", ranks: anyRank, types: func(x nn.OperandType) typeSet {
				if castable.has(x) {
					return castable
				}
				return of(x)
			}},
			shape: keepShape,
		},
		definition{
			t:     nn.OpQuantize,
			form:  one(nil, input(floats, anyRank)),
			out:   typed("output", quant8, anyRank),
			shape: keepShape,
		},
		// An extension of the driver, so that QUANTIZE keeps to the types of the HAL.
		definition{
			t:     nn.OpRequantize,
			form:  one(nil, input(quant8, anyRank)),
			out:   typed("output", quant8, anyRank),
			shape: keepShape,
		},
		definition{
			t:     nn.OpDequantize,
			form:  one(nil, input(quant8|of(nn.TensorQuant8Symm, nn.TensorQuant8PerChannel), extended)),
			out:   typed("output", floats, extended),
			shape: keepShape,
		},
	)...)
}
