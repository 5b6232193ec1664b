package main

import "strings"

// fedVariants: the kernels of operations whose paddings, permutation or axes are known only at run time.
func fedVariants() []variant {
	var list []variant
	for _, elem := range []string{"1", "2", "4"} {
		for _, k := range []struct {
			name, source string
			pushWords    int
			macro        string
		}{
			{"data_pad_fed_e", "data/pad_fed.comp", 8, ""},
			{"data_mirror_fed_e", "data/pad_fed.comp", 8, "MIRROR"},
			{"data_transpose_fed_e", "data/transpose_fed.comp", 6, ""},
		} {
			d := map[string]string{"ELEM": elem}
			if k.macro != "" {
				d[k.macro] = "1"
			}
			list = append(list, variant{name: k.name + elem, source: k.source, defines: d, bindings: "ssss", pushWords: k.pushWords})
		}
	}
	for _, elem := range []string{"f32", "f16", "q8"} {
		t := strings.ToUpper(elem)
		list = append(list, variant{
			name: "mean_fed_" + elem, source: "reduce/mean_fed.comp", bindings: "sss", pushWords: 13 + sumWords(elem),
			defines: map[string]string{"FROM_" + t: "1", "TO_" + t: "1"},
		})
	}
	return list
}
