package main

import "github.com/nngpu/nngpu/shaders/family"

// unaryVariants: elementwise/unary.comp, one kernel for each function and type.
func unaryVariants() []variant {
	var list []variant
	for _, op := range []family.UnaryOp{
		family.Clamp, family.Elu, family.HardSwish, family.Tanh, family.Logistic, family.Abs, family.Neg, family.Exp, family.Log,
		family.Sqrt, family.Rsqrt, family.Sin, family.Floor,
	} {
		for _, elem := range []family.Elem{family.F32, family.F16, family.I32} {
			if elem == family.I32 && op != family.Abs && op != family.Neg {
				continue
			}
			list = append(list, variant{
				key: family.Unary{Op: op, Elem: elem}, source: "elementwise/unary.comp", bindings: "ss", pushWords: 5,
				defines: map[string]string{"OP_" + string(op): "1", elemMacro(elem): "1"},
			})
		}
	}
	return list
}
