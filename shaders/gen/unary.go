package main

// unaryVariants: elementwise/unary.comp, one kernel for each function and type. clamp is the RELU family.
func unaryVariants() []variant {
	types := func(op string) []string {
		if op == "abs" || op == "neg" {
			return []string{"f32", "f16", "i32"}
		}
		return []string{"f32", "f16"}
	}
	var list []variant
	for _, op := range []string{"clamp", "elu", "hardswish", "tanh", "logistic", "abs", "neg", "exp", "log", "sqrt", "rsqrt", "sin", "floor"} {
		for _, t := range types(op) {
			list = append(list, variant{
				name: "unary_" + op + "_" + t, source: "elementwise/unary.comp",
				defines:  map[string]string{"OP_" + op: "1", elemMacro(t): "1"},
				bindings: "ss", pushWords: 5,
			})
		}
	}
	return list
}
