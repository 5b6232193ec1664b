package main

import "fmt"

// Push constant words of the conv kernels: the fixed part, and what a window adds.
const (
	gemmFloatWords, gemmFloatTaps = 8, 12
	gemmQ8Words, gemmQ8Taps       = 12, 13
)

// tile is a register tile: pixels times quads of channels.
type tile struct{ m, n4 int }

// convVariants: the kernels of conv/.
func convVariants() []variant {
	var list []variant
	bools := []bool{false, true}
	for _, t := range []tile{{1, 2}, {8, 2}, {8, 4}} {
		for _, taps := range bools {
			words, words8 := gemmFloatWords, gemmQ8Words
			window := ""
			if taps {
				words, words8 = words+gemmFloatTaps, words8+gemmQ8Taps
				window = "_window"
			}
			base := func() map[string]string {
				return map[string]string{"TM": fmt.Sprint(t.m), "TN4": fmt.Sprint(t.n4), "TAPS": digit(taps)}
			}
			for _, a := range accesses {
				d := base()
				d["X_TEXEL"], d["Y_TEXEL"] = digit(a.read), digit(a.write)
				list = append(list, variant{
					name:   fmt.Sprintf("conv_gemm%s_f32_%dx%d%s", window, t.m, 4*t.n4, a.suffix()),
					source: "conv/gemm_float.comp", defines: d, bindings: a.bindings(), pushWords: words,
				})
			}
			if t.n4 == 2 {
				d := base()
				d["ELEM_F16"], d["X_TEXEL"], d["Y_TEXEL"] = "1", "0", "0"
				list = append(list, variant{
					name:   fmt.Sprintf("conv_gemm%s_f16_%dx%d", window, t.m, 4*t.n4),
					source: "conv/gemm_float.comp", defines: d, bindings: "stss", pushWords: words,
				})
			}
			for _, wzp := range bools {
				for _, a := range accesses[1:] {
					d := base()
					d["X_TEXEL"], d["Y_TEXEL"] = "1", digit(a.write)
					d["DOT"], d["FLUSH"], d["WZP"], d["SHIFT"] = "1", "0", digit(wzp), "1"
					list = append(list, variant{
						name:   fmt.Sprintf("conv_gemm%s_q8_dot_%dx%d%s%s", window, t.m, 4*t.n4, suffix(wzp, "_wzp"), suffix(a.write, "_store")),
						source: "conv/gemm_q8.comp", defines: d, bindings: a.bindings(), pushWords: words8, integerDot: true,
					})
				}
			}
			if t.n4 != 2 {
				continue
			}
			for _, flush := range bools {
				d := base()
				d["X_TEXEL"], d["Y_TEXEL"] = "0", "0"
				d["DOT"], d["FLUSH"], d["WZP"], d["SHIFT"] = "0", digit(flush), "0", digit(flush)
				list = append(list, variant{
					name:   fmt.Sprintf("conv_gemm%s_q8_%dx%d%s", window, t.m, 4*t.n4, suffix(flush, "_flush")),
					source: "conv/gemm_q8.comp", defines: d, bindings: "stss", pushWords: words8,
				})
			}
		}
	}
	list = append(list, depthwiseVariants()...)
	for _, elem := range []string{"f32", "f16", "q8"} {
		words, bindings := 20, "ssss"
		if elem == "q8" {
			words, bindings = 26, "sssss"
		}
		list = append(list,
			variant{name: "conv_direct_" + elem, source: "conv/direct.comp", bindings: bindings, pushWords: words,
				defines: map[string]string{elemMacro(elem): "1", "DEPTHWISE": "0"}},
			variant{name: "conv_direct_depthwise_" + elem, source: "conv/direct.comp", bindings: bindings, pushWords: words,
				defines: map[string]string{elemMacro(elem): "1", "DEPTHWISE": "1"}})
	}
	return list
}

func depthwiseVariants() []variant {
	var list []variant
	for _, elem := range []string{"f32", "f16", "q8"} {
		words := 17
		if elem == "q8" {
			words = 21
		}
		for _, mode := range depthwiseModes(elem) {
			for _, k := range []struct{ kw, s int }{{0, 0}, {3, 1}, {3, 2}, {5, 1}, {5, 2}} {
				name := "conv_depthwise_" + elem
				if k.kw != 0 {
					name += fmt.Sprintf("_k%ds%d", k.kw, k.s)
				}
				list = append(list, variant{
					name: name + mode.suffix() + suffix(mode.shift, "_shift"), source: "conv/depthwise.comp", bindings: mode.bindings(), pushWords: words,
					defines: map[string]string{elemMacro(elem): "1", "PX": "4", "KW": fmt.Sprint(k.kw), "S": fmt.Sprint(k.s), "X_TEXEL": digit(mode.read), "Y_TEXEL": digit(mode.write), "SHIFT": digit(mode.shift)},
				})
			}
		}
	}
	return list
}

// access says which of x and y are texel buffers.
type access struct{ read, write bool }

// accesses: stores through texels are there for drivers that compile them faster; they read that way too.
var accesses = []access{{false, false}, {true, false}, {true, true}}

func (a access) suffix() string { return suffix(a.read, "_texel") + suffix(a.write, "_store") }

func (a access) bindings() string {
	if a.write {
		return kind(a.read) + "tsi"
	}
	return kind(a.read) + "tss"
}

// depthwiseMode is how a depthwise kernel reaches x and y and, for 8-bit types, whether it requantises with
// shifts.
type depthwiseMode struct {
	access
	shift bool
}

func depthwiseModes(elem string) []depthwiseMode {
	var list []depthwiseMode
	for _, a := range accesses {
		if elem == "f16" && a.read || elem == "q8" && a.write {
			continue
		}
		list = append(list, depthwiseMode{a, false})
		if elem == "q8" {
			list = append(list, depthwiseMode{a, true})
		}
	}
	return list
}
