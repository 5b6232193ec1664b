package main

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// measureVariants: measure/multiply.comp, measure/matrix.comp and measure/move.comp, which tell what a device can do at most.
func measureVariants() []variant {
	list := []variant{
		{name: "measure_multiply_f16", defines: map[string]string{"F16": "1", "DOT": "0"}},
		{name: "measure_multiply_f32", defines: map[string]string{"F16": "0", "DOT": "0"}},
		{name: "measure_multiply_dot", defines: map[string]string{"F16": "0", "DOT": "1"}},
	}
	for i := range list {
		list[i].source = "measure/multiply.comp"
	}
	for _, m := range matrixShapes {
		elem := family.F16
		if m.In == "s8" {
			elem = family.Q8
		}
		list = append(list, variant{
			key: family.MatrixPeak{Matrix: m}, source: "measure/matrix.comp", subgroups: 4, matrix: true,
			defines: map[string]string{
				elemMacro(elem): "1", "TM": fmt.Sprint(m.M), "TN": fmt.Sprint(m.N), "TK": fmt.Sprint(m.K),
			},
		})
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
