package main

// multinomialVariants: the kernels of multinomial/.
func multinomialVariants() []variant {
	return []variant{
		{name: "multinomial_sum_f32", source: "multinomial/sum.comp", defines: map[string]string{"ELEM_F32": "1"}},
		{name: "multinomial_sum_f16", source: "multinomial/sum.comp", defines: map[string]string{"ELEM_F16": "1"}},
		{name: "multinomial_draw", source: "multinomial/draw.comp"},
	}
}
