package main

import (
	"strings"

	"github.com/nngpu/nngpu/shaders/family"
)

// poolVariants: the kernels of pool/.
func poolVariants() []variant {
	var list []variant
	for _, op := range []family.PoolOp{family.Average, family.Maximum, family.L2} {
		for _, elem := range computed {
			for _, access := range accesses[:2] {
				texel := access == family.Texels
				if op == family.L2 && (texel || elem == family.Q8) || texel && elem == family.F16 {
					continue
				}
				v := variant{
					key: family.Pool{Op: op, Elem: elem, Access: access}, source: "pool/pool.comp",
					defines: map[string]string{"POOL_" + strings.ToUpper(string(op)): "1", elemMacro(elem): "1"},
				}
				if texel {
					v.defines["TEXEL"] = "1"
				}
				list = append(list, v)
			}
		}
	}
	return list
}
