package main

import "strings"

// reduceVariants: the kernels of reduce/.
func reduceVariants() []variant {
	var list []variant
	for _, elem := range []string{"f32", "f16"} {
		macro := elemMacro(elem)
		for _, log := range []bool{false, true} {
			name := "softmax"
			for _, unroll := range []string{"1", "4"} {
				d := map[string]string{macro: "1", "UNROLL": unroll + "u"}
				if log {
					d["LOG"] = "1"
					name = "log_softmax"
				}
				long := ""
				if unroll != "1" {
					long = "long_"
				}
				list = append(list, variant{
					name: name + "_row_" + long + elem, source: "reduce/softmax_row.comp", defines: d,
					bindings: "ss", pushWords: 4,
				})
			}
			d := map[string]string{macro: "1"}
			if log {
				d["LOG"] = "1"
			}
			list = append(list, variant{
				name: name + "_column_" + elem, source: "reduce/softmax_column.comp", defines: d,
				bindings: "ss", pushWords: 8,
			})
		}
	}
	list = append(list,
		variant{name: "softmax_row_q8", source: "reduce/softmax_q8.comp", bindings: "sts", pushWords: 11},
		variant{
			name: "softmax_column_q8", source: "reduce/softmax_q8.comp", bindings: "sts", pushWords: 11,
			defines: map[string]string{"COLUMN": "1"},
		})
	for _, t := range [][2]string{
		{"f32", "f32"}, {"f16", "f32"}, {"f32", "f16"}, {"f16", "f16"}, {"q8", "i32"}, {"i32", "i32"}, {"i32", "q8"}, {"q8", "q8"},
	} {
		words := sumWords(t[1])
		d := map[string]string{"FROM_" + strings.ToUpper(t[0]): "1", "TO_" + strings.ToUpper(t[1]): "1"}
		list = append(list,
			variant{name: "sum_column_" + t[0] + "_" + t[1], source: "reduce/sum_column.comp", defines: d, bindings: "ss", pushWords: 12 + words},
			variant{name: "sum_row_" + t[0] + "_" + t[1], source: "reduce/sum_row.comp", defines: d, bindings: "ss", pushWords: 7 + words})
	}
	return list
}

// sumWords is the number of words in SUM_PARAMETERS of reduce/sum.glsl for an output of type elem.
func sumWords(elem string) int {
	if elem == "i32" || elem == "q8" {
		return 8
	}
	return 3
}
