package main

import "strings"

// poolVariants: the kernels of pool/.
func poolVariants() []variant {
	var list []variant
	for _, op := range []string{"average", "max", "l2"} {
		for _, elem := range []string{"f32", "f16", "q8"} {
			words := 20
			if elem == "q8" {
				if op == "l2" {
					continue
				}
				words = 21
			}
			add := func(suffix, bindings string, texel map[string]string) {
				d := map[string]string{"POOL_" + strings.ToUpper(op): "1", elemMacro(elem): "1"}
				for k, v := range texel {
					d[k] = v
				}
				list = append(list, variant{
					name: "pool_" + op + "_" + elem + suffix, source: "pool/pool.comp", bindings: bindings, pushWords: words, defines: d,
				})
			}
			add("", "ss", nil)
			if elem != "f16" && op != "l2" {
				add("_texel", "ts", map[string]string{"TEXEL": "1"})
			}
		}
	}
	return list
}
