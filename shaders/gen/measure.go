package main

// measureVariants: measure/multiply.comp and measure/move.comp, which tell what a device can do at most.
func measureVariants() []variant {
	list := []variant{
		{name: "measure_multiply_f16", defines: map[string]string{"F16": "1", "DOT": "0"}},
		{name: "measure_multiply_f32", defines: map[string]string{"F16": "0", "DOT": "0"}},
		{name: "measure_multiply_dot", defines: map[string]string{"F16": "0", "DOT": "1"}},
	}
	for i := range list {
		list[i].source = "measure/multiply.comp"
	}
	for _, sum := range []bool{false, true} {
		for _, texel := range []bool{false, true} {
			list = append(list, variant{
				name: "measure_move" + suffix(sum, "_sum") + suffix(texel, "_texel"), source: "measure/move.comp",
				defines: map[string]string{"TEXEL": digit(texel), "SUM": digit(sum)},
			})
		}
	}
	return list
}
