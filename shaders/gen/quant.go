package main

import "github.com/nngpu/nngpu/shaders/family"

// quantVariants: the kernels of elementwise/ that convert between types.
func quantVariants() []variant {
	list := []variant{{name: "lut8", source: "elementwise/lut8.comp"}}
	for _, elem := range []family.Elem{family.F32, family.F16} {
		macro := map[string]string{elemMacro(elem): "1"}
		list = append(list,
			variant{key: family.Quantize{Elem: elem}, source: "elementwise/quantize.comp", defines: macro},
			variant{key: family.Dequantize{Elem: elem}, source: "elementwise/dequantize.comp", defines: macro})
	}
	wide := map[string]string{elemMacro(family.F32): "1", "WIDE": "1"}
	list = append(list,
		variant{key: family.Quantize{Elem: family.F32, Wide: true}, source: "elementwise/quantize.comp", defines: wide},
		variant{key: family.Dequantize{Elem: family.F32, Wide: true}, source: "elementwise/dequantize.comp", defines: wide})
	macros := map[family.Elem]string{family.F32: "f32", family.F16: "f16", family.I32: "i32", family.Q8: "u8"}
	for from, fromMacro := range macros {
		for to, toMacro := range macros {
			if from != to {
				list = append(list, variant{
					key: family.Cast{From: from, To: to}, source: "elementwise/cast.comp",
					defines: map[string]string{"FROM_" + fromMacro: "1", "TO_" + toMacro: "1"},
				})
			}
		}
	}
	return list
}
