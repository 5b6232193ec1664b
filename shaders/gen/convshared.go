package main

import (
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// sharedTile is a tile in shared memory and the workgroup that computes it: at most 256 invocations and 32 KiB, so that every
// device that is known can run all of them.
type sharedTile struct {
	m, n   int
	localX int
	localY int
	floats int // quads of a step of floats
}

var sharedTiles = []sharedTile{{32, 32, 8, 8, 4}, {64, 64, 16, 8, 4}, {128, 128, 16, 16, 2}}

// sharedVariants: matrix products through shared memory, and what ends them.
func sharedVariants() []variant {
	var list []variant
	for _, elem := range computed {
		list = append(list, variant{
			key: family.GemmSum{Elem: elem}, source: "conv/gemm_sum.comp", defines: map[string]string{elemMacro(elem): "1", "SHIFT": "1"},
		})
		for _, zero := range bools {
			if zero && elem != family.Q8 {
				continue
			}
			k := family.Gemm{Elem: elem, Shared: true, Dot: elem == family.Q8, ZeroPoint: zero}
			list = append(list, rowVariant(k))
			for _, tile := range sharedTiles {
				list = append(list, tileVariants(k, tile)...)
			}
		}
	}
	return list
}

// tileVariants are those of k for one tile.
func tileVariants(k family.Gemm, tile sharedTile) []variant {
	var list []variant
	k.M, k.N = tile.m, tile.n
	for _, k.Window = range bools {
		for _, how := range []struct{ split, rows bool }{{}, {split: true}, {rows: true}} {
			if how.rows && k.Dot {
				continue // words of filters have bytes behind the last channel that may be anything
			}
			k.Split, k.Rows = how.split, how.rows
			v := sharedVariant(k, "conv/gemm_shared.comp", family.CostMatrix, tile.localX, tile.localY)
			quads := tile.floats
			if k.Dot {
				quads = 2 // of words: 32 bytes
			}
			v.defines["BM"], v.defines["STEP4"] = fmt.Sprint(k.M), fmt.Sprint(quads)
			v.defines["TAPS"], v.defines["SPLIT"], v.defines["ROWS"] = digit(k.Window), digit(k.Split), digit(k.Rows)
			list = append(list, v)
		}
	}
	return list
}

// rowVariant computes 8 channels of a row.
func rowVariant(k family.Gemm) variant {
	k.M, k.N = 1, 8
	return sharedVariant(k, "conv/gemm_row.comp", family.CostNarrow, k.N/4, 64)
}

func sharedVariant(k family.Gemm, source string, cost family.Cost, localX, localY int) variant {
	return variant{
		key: k, source: source, cost: cost,
		defines: map[string]string{
			elemMacro(k.Elem): "1", "BN": fmt.Sprint(k.N), "WZP": digit(k.ZeroPoint), "SHIFT": "1",
			"LOCAL_X": fmt.Sprint(localX), "LOCAL_Y": fmt.Sprint(localY),
		},
	}
}
