package main

// binaryVariants: elementwise/binary.comp and binary_q8.comp. Each operation and type has three kernels:
// for operands of the output's layout; _row for a second operand that is one row or one number; _bcast for
// any others. See elementwise/broadcast.glsl.
func binaryVariants() []variant {
	var list []variant
	add := func(name, source string, words int, defines map[string]string) {
		for _, v := range []struct {
			suffix, macro string
			words         int // of BROADCAST_PUSH
		}{{"", "0", 0}, {"_row", "2", 4}, {"_bcast", "1", 17}} {
			d := map[string]string{"BROADCAST": v.macro}
			for k, val := range defines {
				d[k] = val
			}
			list = append(list, variant{name: name + v.suffix, source: source, defines: d, bindings: "sss", pushWords: words + v.words})
		}
	}
	for _, op := range []struct {
		name  string
		types []string
	}{
		{"add", []string{"f32", "f16", "i32"}},
		{"sub", []string{"f32", "f16", "i32"}},
		{"mul", []string{"f32", "f16", "i32"}},
		{"div", []string{"f32", "f16", "i32"}},
		{"max", []string{"f32", "f16", "i32"}},
		{"min", []string{"f32", "f16", "i32"}},
		{"sqdiff", []string{"f32", "f16", "i32"}},
		{"pow", []string{"f32", "f16"}},
		{"prelu", []string{"f32", "f16"}},
	} {
		for _, t := range op.types {
			add("binary_"+op.name+"_"+t, "elementwise/binary.comp", 6, map[string]string{"OP_" + op.name: "1", elemMacro(t): "1"})
		}
	}
	for _, op := range []string{"add", "mul"} {
		list = append(list, variant{
			name: "binary_" + op + "_f32_texel", source: "elementwise/binary.comp",
			defines:  map[string]string{"BROADCAST": "0", "TEXEL": "1", "OP_" + op: "1", "ELEM_F32": "1"},
			bindings: "tts", pushWords: 6,
		})
	}
	for _, op := range []string{"addsub", "mul", "maxmin", "prelu", "sqdiff"} {
		add("binary_"+op+"_q8", "elementwise/binary_q8.comp", 15, map[string]string{"OP_" + op: "1"})
	}
	return list
}
