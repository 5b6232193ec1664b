package main

// quantVariants: the kernels of elementwise/ that convert between types.
func quantVariants() []variant {
	list := []variant{{name: "lut8", source: "elementwise/lut8.comp", bindings: "sts", pushWords: 1}}
	for _, t := range []string{"f32", "f16"} {
		elem := map[string]string{elemMacro(t): "1"}
		list = append(list,
			variant{name: "quantize_" + t, source: "elementwise/quantize.comp", defines: elem, bindings: "ss", pushWords: 5},
			variant{name: "dequantize_" + t, source: "elementwise/dequantize.comp", defines: elem, bindings: "sss", pushWords: 7})
	}
	for _, from := range []string{"f32", "f16", "i32", "u8"} {
		for _, to := range []string{"f32", "f16", "i32", "u8"} {
			if from != to {
				list = append(list, variant{
					name: "cast_" + from + "_" + to, source: "elementwise/cast.comp",
					defines: map[string]string{"FROM_" + from: "1", "TO_" + to: "1"}, bindings: "ss", pushWords: 3,
				})
			}
		}
	}
	return list
}
