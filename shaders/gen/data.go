package main

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// dataVariants: the kernels of data/. They move elements by their size.
func dataVariants() []variant {
	var list []variant
	for _, words := range []int{1, 2, 4} {
		for _, dims := range []int{3, 6} {
			list = append(list, variant{
				key: family.Copy{Words: words, Dims: dims}, source: "data/copy.comp", bindings: "ss", pushWords: 4 + 3*(dims-1) + 2*dims,
				defines: map[string]string{"UNIT": fmt.Sprint(words), "DIMS": fmt.Sprint(dims)},
			})
		}
	}
	for _, m := range []struct {
		op        family.MoveOp
		source    string
		pushWords int
	}{
		{family.Reshape, "reshape", 11}, {family.Transpose, "transpose", 28}, {family.Concat, "concat", 9}, {family.RGB, "rgb", 2},
		{family.PadRows, "pad", 25}, {family.MirrorRows, "pad", 24}, {family.PadLanes, "pad_lanes", 26}, {family.MirrorLanes, "pad_lanes", 26},
		{family.PadFed, "pad_fed", 8}, {family.MirrorFed, "pad_fed", 8}, {family.TransposeFed, "transpose_fed", 6},
	} {
		for _, bytes := range []int{1, 2, 4} {
			v := variant{
				key: family.Move{Op: m.op, Bytes: bytes}, source: "data/" + m.source + ".comp", bindings: "ss", pushWords: m.pushWords,
				defines: map[string]string{"ELEM": fmt.Sprint(bytes)},
			}
			switch m.op {
			case family.MirrorRows, family.MirrorLanes:
				v.defines["MIRROR"] = "1"
			case family.MirrorFed:
				v.defines["MIRROR"], v.bindings = "1", "ssss"
			case family.PadFed, family.TransposeFed:
				v.bindings = "ssss"
			case family.RGB:
				if bytes == 2 {
					continue
				}
			}
			list = append(list, v)
		}
	}
	for _, elem := range computed {
		words, halfWords := 8, 7 // push constants, from bytes and from half floats
		if elem == family.Q8 {
			words, halfWords = 9, 11
		}
		list = append(list,
			variant{key: family.Image{Elem: elem}, source: "data/image.comp", bindings: "ss", pushWords: words,
				defines: map[string]string{"FROM_U8": "1", elemMacro(elem): "1"}},
			variant{key: family.Image{Half: true, Elem: elem}, source: "data/image.comp", bindings: "ss", pushWords: halfWords,
				defines: map[string]string{"FROM_F16": "1", elemMacro(elem): "1"}})
	}
	return list
}
