package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nngpu/nngpu/shaders/family"
)

// matrixTools has the compiler of kernels for cooperative matrices, which that of Debian 12 does not know: tools/setup.sh
// matrix unpacks it there. matrixCompiler is the version that the committed code is of; others give other bytes.
const (
	matrixTools    = "../.tools/mesa26/bin"
	matrixCompiler = "shaderc 2026.4-1"
)

// withoutMatrix reports whether these kernels have to stay as they are, and says why. The error is for ones that were never
// compiled.
func withoutMatrix(list []variant) (bool, error) {
	version, err := exec.Command(filepath.Join(matrixTools, "glslc"), "--version").Output()
	first, _, _ := strings.Cut(string(version), "\n")
	why := "no compiler in " + matrixTools + "; tools/setup.sh matrix unpacks it"
	switch {
	case err == nil && first == matrixCompiler:
		return false, nil
	case err == nil:
		why = fmt.Sprintf("the compiler there is %s, not %s", first, matrixCompiler)
	}
	for i := range list {
		if _, err := os.Stat(filepath.Join("spv", list[i].name+".spv")); list[i].matrix && err != nil {
			return false, errors.New("kernels for cooperative matrices: " + why)
		}
	}
	fmt.Fprintln(os.Stderr, "gen: kernels for cooperative matrices stay as they are:", why)
	return true, nil
}

// matrixShapes are the products that kernels are made for: those of NVIDIA, AMD and Intel, and of lavapipe.
var matrixShapes = []family.Matrix{
	{M: 8, N: 8, K: 8, In: "f16", Sum: "f32"},
	{M: 8, N: 16, K: 16, In: "f16", Sum: "f32"},
	{M: 16, N: 8, K: 8, In: "f16", Sum: "f32"},
	{M: 16, N: 8, K: 16, In: "f16", Sum: "f32"},
	{M: 16, N: 16, K: 16, In: "f16", Sum: "f32"},
	{M: 8, N: 8, K: 8, In: "s8", Sum: "s32"},
	{M: 8, N: 16, K: 32, In: "s8", Sum: "s32"},
	{M: 16, N: 8, K: 32, In: "s8", Sum: "s32"},
	{M: 16, N: 16, K: 16, In: "s8", Sum: "s32"},
	{M: 16, N: 16, K: 32, In: "s8", Sum: "s32"},
}

// matrixVariants are the products of conv/ by cooperative matrices, in tiles of a workgroup of three sizes.
func matrixVariants() []variant {
	var list []variant
	for _, m := range matrixShapes {
		for _, window := range bools {
			for _, tile := range []int{32, 64, 128} {
				if tile > 32 && m.M*m.N == 64 {
					continue // lavapipe, which compiles wider ones for up to 20 s
				}
				k := family.Gemm{Window: window, M: tile, N: tile, Matrix: m}
				if m.In == "s8" {
					for _, k.ZeroPoint = range bools {
						if k.Elem = family.Q8; k.ZeroPoint && tile == 128 {
							continue // one more sum for each row of matrices
						}
						list = append(list, matrixVariant(k))
					}
					continue
				}
				for _, k.Elem = range []family.Elem{family.F32, family.F16} {
					list = append(list, matrixVariant(k))
				}
			}
		}
	}
	return list
}

// matrixVariant has four subgroups a workgroup, in two rows: the wider the part of a subgroup is, the fewer of its operands
// pass through shared memory.
// What an invocation holds is an array, whose length has to be known when the kernel is compiled: else it is memory.
func matrixVariant(k family.Gemm) variant {
	const rows, cols = 2, 2
	lanes := uint32(8)
	if k.Matrix.M == 16 { // of NVIDIA and AMD
		lanes = 32
	}
	return variant{
		key: k, source: "conv/gemm_matrix.comp", cost: family.CostMatrix, subgroups: rows * cols, leastLanes: lanes, matrix: true,
		defines: map[string]string{
			elemMacro(k.Elem): "1", "BM": fmt.Sprint(k.M), "BN": fmt.Sprint(k.N), "ROWS": fmt.Sprint(rows), "COLS": fmt.Sprint(cols),
			"TM": fmt.Sprint(k.Matrix.M), "TN": fmt.Sprint(k.Matrix.N), "TK": fmt.Sprint(k.Matrix.K),
			"TAPS": digit(k.Window), "WZP": digit(k.ZeroPoint), "LANES": fmt.Sprint(lanes),
		},
	}
}
