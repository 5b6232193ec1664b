package main

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/shaders/family"
)

var accesses = []family.Access{family.Buffers, family.Texels, family.TexelStores}

// convVariants: the kernels of conv/.
func convVariants() []variant {
	var list []variant
	for _, elem := range []family.Elem{family.F32, family.Q8} {
		for _, a := range []family.Access{family.Buffers, family.Texels} {
			list = append(list, variant{
				key: family.Patches{Elem: elem, Access: a}, source: "conv/patches.comp",
				defines: map[string]string{elemMacro(elem): "1", "TEXEL": digit(a == family.Texels)},
			})
		}
		list = append(list, variant{
			key: family.Patches{Elem: elem, Quads: true}, source: "conv/patches_quads.comp", defines: map[string]string{elemMacro(elem): "1"},
		})
	}
	list = slices.Concat(list, blocksVariants(), depthwiseVariants(), directVariants(), packVariants(), sharedVariants(), matrixVariants(), winogradVariants())
	for _, window := range bools {
		for _, tile := range [][2]int{{1, 8}, {8, 8}, {8, 16}} {
			for _, k := range gemmKeys(tile[0], tile[1]) {
				if k.Window = window; !window || !k.Columns && !k.Rows {
					list = append(list, gemmVariant(k))
				}
			}
		}
	}
	return list
}

// quadRows are the pixels of a tile that four invocations share. Measured: with 8 texels cost more, with 16 the longer loop
// does; see RATIONALE.md.
const quadRows = 12

// blocksVariants: the products whose filters are arrays of storage buffers.
func blocksVariants() []variant {
	var list []variant
	for _, window := range bools {
		for _, k := range []family.Gemm{
			{Elem: family.F32}, {Elem: family.F32, Access: family.Texels}, {Elem: family.F16},
		} {
			k.Window, k.Blocks, k.M, k.N = window, true, 2, 32
			list = append(list, variant{
				key: k, source: "conv/gemm_blocks.comp", cost: family.CostMatrix, subgroupSize: 4,
				defines: map[string]string{elemMacro(k.Elem): "1", "TAPS": digit(window), "X_TEXEL": digit(k.Access == family.Texels)},
			})
		}
	}
	return list
}

// gemmKeys are the matrix products with a register tile of m x n for each invocation.
func gemmKeys(m, n int) []family.Gemm {
	var list []family.Gemm
	for _, a := range accesses {
		list = append(list, family.Gemm{Elem: family.F32, M: m, N: n, Access: a})
		if m > 1 && a != family.Buffers {
			list = append(list, family.Gemm{Elem: family.F32, M: m, N: n, Access: a, Columns: true})
		}
		if m > 1 && n == 8 && a != family.TexelStores {
			list = append(list, family.Gemm{Elem: family.F32, M: quadRows, N: n, Access: a, Quad: true})
		}
		if m > 1 && n == 16 && a == family.Texels {
			list = append(list, family.Gemm{Elem: family.F32, M: m, N: n, Access: a, Rows: true})
		}
		for _, zero := range bools {
			if a != family.Buffers {
				list = append(list, family.Gemm{Elem: family.Q8, M: m, N: n, Access: a, Dot: true, ZeroPoint: zero})
			}
		}
	}
	if n == 8 {
		list = append(list, family.Gemm{Elem: family.F16, M: m, N: n, Access: family.Texels})
		small := []family.Gemm{{Elem: family.F16}, {Elem: family.Q8}, {Elem: family.Q8, Flush: true}}
		for _, k := range small {
			k.M, k.N = m, n
			list = append(list, k)
			if m > 1 {
				k.M, k.Quad = quadRows, true
				list = append(list, k)
			}
		}
	}
	return list
}

func gemmVariant(k family.Gemm) variant {
	v := variant{
		key: k, source: "conv/gemm_float.comp", cost: family.CostMatrix,
		defines: map[string]string{
			"TM": fmt.Sprint(k.M), "TN4": fmt.Sprint(k.N / 4), "TAPS": digit(k.Window), "COLUMNS": digit(k.Columns), "ROWS": digit(k.Rows),
			"X_TEXEL": digit(k.Access != family.Buffers), "Y_TEXEL": digit(k.Access == family.TexelStores), "SWAP": digit(k.Quad),
		},
	}
	if k.M == 1 {
		v.cost = family.CostNarrow
	}
	if k.Quad {
		v.subgroupSize = 4
	}
	switch k.Elem {
	case family.F16:
		v.defines["ELEM_F16"] = "1"
	case family.Q8:
		v.source = "conv/gemm_q8.comp"
		v.defines["DOT"], v.defines["WZP"] = digit(k.Dot), digit(k.ZeroPoint)
		v.defines["FLUSH"], v.defines["SHIFT"] = digit(k.Flush), digit(k.Dot || k.Flush)
	}
	return v
}

func directVariants() []variant {
	var list []variant
	for _, elem := range computed {
		for _, k := range []family.Direct{{Elem: elem}, {Elem: elem, Depthwise: true}, {Elem: elem, Grouped: true}, {Elem: elem, Transposed: true}} {
			list = append(list, variant{
				key: k, source: "conv/direct.comp", cost: family.CostMatrix, defines: map[string]string{
					elemMacro(elem): "1", "DEPTHWISE": digit(k.Depthwise), "GROUPED": digit(k.Grouped), "TRANSPOSED": digit(k.Transposed),
				},
			})
		}
	}
	return list
}

// packVariants make of filters and matrices that are known at run time only what the matrix products read.
func packVariants() []variant {
	var list []variant
	for _, columns := range bools {
		channels := family.Channels{Columns: columns}
		list = append(list, variant{key: channels, source: "conv/channels.comp", defines: map[string]string{"COLUMNS": digit(columns)}})
		list = append(list, packVariant(family.Pack{Elem: family.F32, Columns: columns, Access: family.Texels}))
		for _, elem := range computed {
			list = append(list, packVariant(family.Pack{Elem: elem, Columns: columns}))
		}
	}
	return list
}

func packVariant(k family.Pack) variant {
	return variant{
		key: k, source: "conv/pack.comp",
		defines: map[string]string{elemMacro(k.Elem): "1", "COLUMNS": digit(k.Columns), "TEXEL": digit(k.Access == family.Texels)},
	}
}

// winogradVariants: float16 tensors are storage buffers, what lies between the kernels is float32 and reached in any way.
func winogradVariants() []variant {
	var list []variant
	for _, tile := range []int{2, 4} {
		list = append(list, winogradVariant(family.WinogradFilter, family.F32, tile, family.Buffers),
			winogradVariant(family.WinogradFilter, family.F16, tile, family.Buffers))
		for _, a := range accesses {
			list = append(list, winogradVariant(family.WinogradInput, family.F32, tile, a), winogradVariant(family.WinogradOutput, family.F32, tile, a))
		}
		list = append(list, winogradVariant(family.WinogradInput, family.F16, tile, family.Buffers),
			winogradVariant(family.WinogradOutput, family.F16, tile, family.Buffers), winogradVariant(family.WinogradOutput, family.F16, tile, family.Texels))
	}
	return list
}

func winogradVariant(op family.WinogradOp, elem family.Elem, tile int, a family.Access) variant {
	return variant{
		key: family.Winograd{Op: op, Elem: elem, Tile: tile, Access: a}, source: "conv/winograd_" + string(op) + ".comp", cost: family.CostTraffic,
		defines: map[string]string{
			elemMacro(elem): "1", "TILE": fmt.Sprint(tile), "X_TEXEL": digit(a != family.Buffers), "Y_TEXEL": digit(a == family.TexelStores),
		},
	}
}

func depthwiseVariants() []variant {
	var list []variant
	add := func(k family.Depthwise) {
		across, down := k.Pixels()
		v := variant{
			key: k, source: "conv/depthwise.comp", cost: family.CostDepthwise,
			defines: map[string]string{
				elemMacro(k.Elem): "1", "PX": fmt.Sprint(across), "KW": fmt.Sprint(k.Width), "S": fmt.Sprint(k.Stride), "SHIFT": digit(k.Shift),
				"X_TEXEL": digit(k.Access != family.Buffers), "Y_TEXEL": digit(k.Access == family.TexelStores),
			},
		}
		if k.Width == 0 {
			v.cost = family.CostAnyWindow
		}
		if k.Rows > 0 {
			v.source, v.defines["RY"] = "conv/depthwise_rows.comp", fmt.Sprint(down)
		}
		if k.Walk {
			v.source = "conv/depthwise_walk.comp"
		}
		list = append(list, v)
	}
	for _, w := range [][2]int{{0, 0}, {3, 1}, {3, 2}, {5, 1}, {5, 2}} {
		for _, a := range []family.Access{family.Buffers, family.Texels} {
			add(family.Depthwise{Elem: family.F16, Width: w[0], Stride: w[1], Access: a})
		}
		for _, a := range accesses {
			add(family.Depthwise{Elem: family.F32, Width: w[0], Stride: w[1], Access: a})
			for _, shift := range bools {
				if a != family.TexelStores {
					add(family.Depthwise{Elem: family.Q8, Width: w[0], Stride: w[1], Access: a, Shift: shift})
				}
			}
		}
		if w[0] != 3 { // of 5x5 the code would be four times as long
			continue
		}
		for _, elem := range computed {
			add(family.Depthwise{Elem: elem, Width: w[0], Stride: w[1], Shift: elem == family.Q8, Across: 2, Rows: 2})
		}
		add(family.Depthwise{Elem: family.F16, Width: w[0], Stride: w[1], Access: family.Texels, Across: 4, Rows: 2})
		add(family.Depthwise{Elem: family.F16, Width: w[0], Stride: w[1], Walk: true})
		for _, a := range accesses {
			add(family.Depthwise{Elem: family.F32, Width: w[0], Stride: w[1], Access: a, Across: 4, Rows: 2})
			if a == family.TexelStores {
				continue
			}
			add(family.Depthwise{Elem: family.F32, Width: w[0], Stride: w[1], Access: a, Walk: true})
			for _, shift := range bools {
				add(family.Depthwise{Elem: family.Q8, Width: w[0], Stride: w[1], Access: a, Shift: shift, Walk: true})
			}
		}
	}
	return list
}
