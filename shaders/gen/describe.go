package main

import (
	"encoding/binary"
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

// Numbers of SPIR-V, from the SPIR-V specification, section 3 "Binary Form".
const (
	opExecutionMode         = 16
	opCapability            = 17
	opTypeInt               = 21
	opTypeFloat             = 22
	opTypeVector            = 23
	opTypeArray             = 28
	opTypePointer           = 32
	opConstant              = 43
	opConstantComposite     = 44
	opSpecConstant          = 50
	opSpecConstantComposite = 51
	opVariable              = 59
	opDecorate              = 71

	modeLocalSize        = 17
	decorationSpecID     = 1
	decorationBuiltIn    = 11
	builtinWorkgroupSize = 25
	classWorkgroup       = 4
)

// capabilities has what each one asks of a device; nothing for those that every device has.
var capabilities = map[uint32]func(*family.Needs){
	1: func(*family.Needs) {}, 46: func(*family.Needs) {}, 47: func(*family.Needs) {}, 50: func(*family.Needs) {}, // Shader, SampledBuffer, ImageBuffer, ImageQuery
	61:   func(*family.Needs) {}, // GroupNonUniform
	9:    func(n *family.Needs) { n.Float16 = true },
	39:   func(n *family.Needs) { n.Int8 = true },
	62:   func(n *family.Needs) { n.Subgroup |= family.SubgroupVote },
	63:   func(n *family.Needs) { n.Subgroup |= family.SubgroupArithmetic },
	64:   func(n *family.Needs) { n.Subgroup |= family.SubgroupBallot },
	65:   func(n *family.Needs) { n.Subgroup |= family.SubgroupShuffle },
	66:   func(n *family.Needs) { n.Subgroup |= family.SubgroupRelative },
	67:   func(n *family.Needs) { n.Subgroup |= family.SubgroupClustered },
	68:   func(n *family.Needs) { n.Subgroup |= family.SubgroupQuad },
	4433: func(n *family.Needs) { n.Storage16 = true },
	4448: func(n *family.Needs) { n.Storage8 = true },
	6018: func(n *family.Needs) { n.IntegerDot = true }, // DotProductInput4x8BitPacked
	6019: func(n *family.Needs) { n.IntegerDot = true }, // DotProduct
	6022: func(n *family.Needs) { n.Matrix = true },
}

// describe reads the shape of workgroups and the needs of a module from its code.
func describe(code []byte) (workgroup [3]uint32, n family.Needs, err error) {
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	bytes := map[uint32]uint32{}   // by type
	pointee := map[uint32]uint32{} // by pointer type
	value := map[uint32]uint32{}   // of constants
	specID := map[uint32]uint32{}  // of specialisation constants
	isSize := map[uint32]bool{}    // the workgroup size
	for i := 5; i < len(words); i += int(words[i] >> 16) {
		w := words[i:min(len(words), i+max(1, int(words[i]>>16)))]
		switch op := w[0] & 0xffff; op {
		case opCapability:
			need, ok := capabilities[w[1]]
			if !ok {
				return workgroup, n, fmt.Errorf("capability %d, of which nothing is known", w[1])
			}
			need(&n)
		case opExecutionMode:
			if w[2] == modeLocalSize {
				copy(workgroup[:], w[3:])
			}
		case opDecorate:
			switch {
			case w[2] == decorationSpecID:
				specID[w[1]] = w[3]
			case w[2] == decorationBuiltIn && w[3] == builtinWorkgroupSize:
				isSize[w[1]] = true
			}
		case opTypeInt, opTypeFloat:
			bytes[w[1]] = w[2] / 8
		case opTypeVector:
			bytes[w[1]] = bytes[w[2]] * w[3]
		case opTypeArray:
			bytes[w[1]] = bytes[w[2]] * value[w[3]]
		case opTypePointer:
			pointee[w[1]] = w[3]
		case opConstant, opSpecConstant:
			value[w[2]] = w[3]
		case opConstantComposite, opSpecConstantComposite:
			for k, id := range w[3:] {
				if !isSize[w[2]] {
					break
				}
				workgroup[k] = value[id]
				if spec, ok := specID[id]; ok && spec != uint32(k) {
					return workgroup, n, fmt.Errorf("specialisation constant %d as dimension %d of workgroups", spec, k)
				} else if ok {
					workgroup[k] = 0
				}
			}
		case opVariable:
			if w[3] == classWorkgroup {
				size, ok := bytes[pointee[w[1]]]
				if !ok {
					return workgroup, n, fmt.Errorf("shared memory of a type whose size is unknown")
				}
				n.SharedBytes += size
			}
		}
	}
	return workgroup, n, nil
}
