package main

// selfTestVariants: selftest/selftest.comp, with and without the packed integer dot product.
func selfTestVariants() []variant {
	var list []variant
	for _, dot := range []bool{false, true} {
		list = append(list, variant{
			name: "selftest" + suffix(dot, "_dot"), source: "selftest/selftest.comp",
			defines: map[string]string{"DOT": digit(dot)},
		})
	}
	return list
}
