package main

import (
	"maps"
	"strings"

	"github.com/nngpu/nngpu/shaders/family"
)

// manifest lists every kernel. One function a family, in a file of the family's name.
func manifest() []variant {
	var list []variant
	list = append(list, unaryVariants()...)
	list = append(list, binaryVariants()...)
	list = append(list, quantVariants()...)
	list = append(list, dataVariants()...)
	list = append(list, reduceVariants()...)
	list = append(list, cellVariants()...)
	list = append(list, lshVariants()...)
	list = append(list, multinomialVariants()...)
	list = append(list, poolVariants()...)
	list = append(list, resizeVariants()...)
	list = append(list, convVariants()...)
	list = append(list, boxVariants()...)
	list = append(list, selfTestVariants()...)
	list = append(list, measureVariants()...)
	return list
}

var (
	bools    = []bool{false, true}
	computed = []family.Elem{family.F32, family.F16, family.Q8}
	stored   = []family.Elem{family.F32, family.F16, family.I32, family.Q8}
)

// elemMacro is the macro of include/tensor.glsl for an element type.
func elemMacro(elem family.Elem) string { return "ELEM_" + strings.ToUpper(string(elem)) }

// reached are v, whose key of returns for each access, by storage buffers and by texels.
func reached(v variant, of func(family.Access) family.Key) []variant {
	texel := v
	v.key, texel.key = of(family.Buffers), of(family.Texels)
	texel.defines = maps.Clone(v.defines)
	if texel.defines == nil {
		texel.defines = map[string]string{}
	}
	texel.defines["TEXEL"] = "1"
	return []variant{v, texel}
}

// digit is the value of a macro that is 0 or 1.
func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// suffix is s where on is set, else nothing.
func suffix(on bool, s string) string {
	if on {
		return s
	}
	return ""
}
