package main

import "github.com/nngpu/nngpu/shaders/family"

// operandForms are the ways in which two operands may lie, with the macro BROADCAST of each.
var operandForms = []struct {
	operands family.Operands
	macro    string
}{{family.Same, "0"}, {family.Row, "2"}, {family.Broadcast, "1"}}

// binaryVariants: elementwise/binary.comp, program.comp and compare.comp. Each operation and type has three kernels, by how the operands
// lie.
func binaryVariants() []variant {
	var list []variant
	for elem, ops := range map[family.Elem][]family.BinaryOp{
		family.F32: family.BinaryOps, family.F16: family.BinaryOps, family.I32: family.BinaryIntegerOps, family.Q8: family.BinaryByteOps,
	} {
		for _, op := range ops {
			for _, v := range operandForms {
				list = append(list, variant{
					key: family.Binary{Op: op, Elem: elem, Operands: v.operands}, source: "elementwise/binary.comp",
					defines: map[string]string{"BROADCAST": v.macro, "OP_" + string(op): "1", elemMacro(elem): "1"},
				})
			}
		}
	}
	for _, op := range []family.BinaryOp{family.Add, family.Mul} {
		list = append(list, variant{
			key: family.Binary{Op: op, Elem: family.F32, Access: family.Texels}, source: "elementwise/binary.comp",
			defines: map[string]string{"BROADCAST": "0", "TEXEL": "1", "OP_" + string(op): "1", "ELEM_F32": "1"},
		})
	}
	for _, elem := range []family.Elem{family.F32, family.F16} {
		list = append(list, variant{
			key: family.Program{Elem: elem}, source: "elementwise/program.comp", defines: map[string]string{elemMacro(elem): "1"},
		})
	}
	for _, elem := range stored {
		for _, v := range operandForms {
			list = append(list, variant{
				key: family.Compare{Elem: elem, Operands: v.operands}, source: "elementwise/compare.comp",
				defines: map[string]string{"BROADCAST": v.macro, elemMacro(elem): "1"},
			})
		}
	}
	return list
}
