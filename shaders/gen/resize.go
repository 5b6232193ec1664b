package main

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// resizeVariants: the kernels of resize/.
func resizeVariants() []variant {
	var list []variant
	for _, elem := range computed {
		for _, access := range accesses[:2] {
			texel := access == family.Texels
			if texel && elem == family.F16 {
				continue
			}
			v := variant{
				key: family.Bilinear{Elem: elem, Access: access}, source: "resize/bilinear.comp",
				defines: map[string]string{elemMacro(elem): "1"},
			}
			if texel {
				v.defines["TEXEL"] = "1"
			}
			list = append(list, v)
		}
	}
	for _, words := range []int{1, 2, 4} {
		list = append(list, variant{
			key: family.Nearest{Words: words}, source: "resize/nearest.comp",
			defines: map[string]string{"WORDS": fmt.Sprint(words)},
		})
	}
	return list
}
