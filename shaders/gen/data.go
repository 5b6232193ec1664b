package main

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// dataVariants: the kernels of data/. They move elements by their size.
func dataVariants() []variant {
	var list []variant
	for _, words := range []int{1, 2, 4} {
		// Texels are of four words.
		gather := variant{source: "data/gather.comp", defines: map[string]string{"UNIT": fmt.Sprint(words)}}
		list = append(list, reached(gather, func(a family.Access) family.Key { return family.GatherRows{Words: words, Access: a} })[:1+words/4]...)
		for _, dims := range []int{3, 6} {
			v := variant{source: "data/copy.comp", defines: map[string]string{"UNIT": fmt.Sprint(words), "DIMS": fmt.Sprint(dims)}}
			list = append(list, reached(v, func(a family.Access) family.Key { return family.Copy{Words: words, Dims: dims, Access: a} })[:1+words/4]...)
		}
	}
	sources := map[family.MoveOp]string{
		family.Reshape: "reshape", family.Transpose: "transpose", family.Concat: "concat", family.RGB: "rgb",
		family.Strided: "strided", family.GatherLanes: "gather", family.Select: "select",
		family.PadRows: "pad", family.MirrorRows: "pad", family.PadLanes: "pad_lanes", family.MirrorLanes: "pad_lanes",
		family.PadRuntime: "pad_fed", family.MirrorRuntime: "pad_fed", family.TransposeRuntime: "transpose_fed",
	}
	for op, source := range sources {
		for _, bytes := range []int{1, 2, 4} {
			if op == family.RGB && bytes == 2 {
				continue
			}
			v := variant{
				key: family.Move{Op: op, Bytes: bytes}, source: "data/" + source + ".comp", defines: map[string]string{"ELEM": fmt.Sprint(bytes)},
			}
			if op == family.MirrorRows || op == family.MirrorLanes || op == family.MirrorRuntime {
				v.defines["MIRROR"] = "1"
			}
			if op == family.GatherLanes || op == family.Transpose {
				list = append(list, reached(v, func(a family.Access) family.Key { return family.Move{Op: op, Bytes: bytes, Access: a} })...)
				continue
			}
			list = append(list, v)
		}
	}
	list = append(list, reached(variant{source: "data/transpose_wide.comp"}, func(a family.Access) family.Key { return family.TransposeWide{Access: a} })...)
	list = append(list, variant{name: "data_hashtable", source: "data/hashtable.comp"})
	for _, elem := range computed {
		list = append(list,
			variant{key: family.Image{Elem: elem}, source: "data/image.comp", defines: map[string]string{"FROM_U8": "1", elemMacro(elem): "1"}},
			variant{key: family.Image{Half: true, Elem: elem}, source: "data/image.comp", defines: map[string]string{"FROM_F16": "1", elemMacro(elem): "1"}})
	}
	return list
}
