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
	list = append(list, variant{
		key: family.BilinearWide{}, source: "resize/bilinear.comp",
		defines: map[string]string{elemMacro(family.Q8): "1", "WIDE": "1", "TEXEL": "1"},
	})
	for _, words := range []int{1, 2, 4} {
		v := variant{source: "resize/nearest.comp", defines: map[string]string{"WORDS": fmt.Sprint(words)}}
		list = append(list, reached(v, func(a family.Access) family.Key { return family.Nearest{Words: words, Access: a} })[:1+words/4]...)
	}
	return list
}
