package main

// resizeVariants: the kernels of resize/.
func resizeVariants() []variant {
	var list []variant
	for _, elem := range []string{"f32", "f16", "q8"} {
		d := map[string]string{elemMacro(elem): "1"}
		list = append(list, variant{
			name: "resize_bilinear_" + elem, source: "resize/bilinear.comp", defines: d, bindings: "ss", pushWords: 18,
		})
		if elem != "f16" {
			list = append(list, variant{
				name: "resize_bilinear_" + elem + "_texel", source: "resize/bilinear.comp", bindings: "ts", pushWords: 18,
				defines: map[string]string{elemMacro(elem): "1", "TEXEL": "1"},
			})
		}
	}
	for _, words := range []string{"1", "2", "4"} {
		list = append(list, variant{
			name: "resize_nearest_w" + words, source: "resize/nearest.comp", bindings: "ss", pushWords: 18,
			defines: map[string]string{"WORDS": words},
		})
	}
	return list
}
