package main

import "github.com/nngpu/nngpu/shaders/family"

// unaryVariants: elementwise/unary.comp, one kernel for each function and type.
func unaryVariants() []variant {
	var list []variant
	for elem, ops := range map[family.Elem][]family.UnaryOp{
		family.F32: family.UnaryOps, family.F16: family.UnaryOps, family.I32: family.UnaryIntegerOps,
	} {
		for _, op := range ops {
			list = append(list, variant{
				key: family.Unary{Op: op, Elem: elem}, source: "elementwise/unary.comp",
				defines: map[string]string{"OP_" + string(op): "1", elemMacro(elem): "1"},
			})
		}
	}
	return list
}
