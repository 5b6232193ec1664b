package main

import "fmt"

// dataVariants: the kernels of data/. They move elements by their size; e1, e2, e4 are bytes.
func dataVariants() []variant {
	var list []variant
	add := func(name, source string, pushWords int, defines map[string]string) {
		list = append(list, variant{
			name: "data_" + name, source: "data/" + source + ".comp", defines: defines,
			bindings: "ss", pushWords: pushWords,
		})
	}
	for _, unit := range []string{"1", "2", "4"} {
		for _, dims := range []int{3, 6} {
			add(fmt.Sprintf("copy_w%s_d%d", unit, dims), "copy", 4+3*(dims-1)+2*dims,
				map[string]string{"UNIT": unit, "DIMS": fmt.Sprint(dims)})
		}
	}
	for _, elem := range []string{"1", "2", "4"} {
		add("reshape_e"+elem, "reshape", 11, map[string]string{"ELEM": elem})
		add("transpose_e"+elem, "transpose", 28, map[string]string{"ELEM": elem})
		add("concat_e"+elem, "concat", 9, map[string]string{"ELEM": elem})
		add("pad_e"+elem, "pad", 25, map[string]string{"ELEM": elem})
		add("mirror_e"+elem, "pad", 24, map[string]string{"ELEM": elem, "MIRROR": "1"})
		add("pad_lanes_e"+elem, "pad_lanes", 26, map[string]string{"ELEM": elem})
		add("mirror_lanes_e"+elem, "pad_lanes", 26, map[string]string{"ELEM": elem, "MIRROR": "1"})
	}
	for _, elem := range []string{"1", "4"} {
		add("rgb_e"+elem, "rgb", 2, map[string]string{"ELEM": elem})
	}
	for _, t := range []struct {
		name, macro     string
		words8, words16 int // push constants, from bytes and from half floats
	}{{"f32", "ELEM_F32", 8, 7}, {"f16", "ELEM_F16", 8, 7}, {"q8", "ELEM_Q8", 9, 11}} {
		add("image_u8_"+t.name, "image", t.words8, map[string]string{"FROM_U8": "1", t.macro: "1"})
		add("image_f16_"+t.name, "image", t.words16, map[string]string{"FROM_F16": "1", t.macro: "1"})
	}
	return list
}
