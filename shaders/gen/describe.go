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
	opTypeColumns           = 24 // OpTypeMatrix
	opTypeImage             = 25
	opTypeSampledImage      = 27
	opTypeArray             = 28
	opTypeRuntimeArray      = 29
	opTypeStruct            = 30
	opTypePointer           = 32
	opConstant              = 43
	opConstantComposite     = 44
	opSpecConstant          = 50
	opSpecConstantComposite = 51
	opVariable              = 59
	opDecorate              = 71
	opMemberDecorate        = 72
	opTypeMatrix            = 4456 // of SPV_KHR_cooperative_matrix

	modeLocalSize        = 17
	decorationSpecID     = 1
	decorationBuiltIn    = 11
	decorationBinding    = 33
	decorationSet        = 34
	decorationOffset     = 35
	builtinWorkgroupSize = 25
	imageSampled         = 1 // as opposed to stored to
	classUniformConstant = 0
	classUniform         = 2
	classWorkgroup       = 4
	classPushConstant    = 9
	classStorageBuffer   = 12
	useA                 = 0 // of cooperative matrices
	useB                 = 1
	useSum               = 2
)

// capabilities has what each one asks of a device; nothing for those that every device has.
var capabilities = map[uint32]func(*family.Needs){
	1: func(*family.Needs) {}, 46: func(*family.Needs) {}, 47: func(*family.Needs) {}, 50: func(*family.Needs) {}, // Shader, SampledBuffer, ImageBuffer, ImageQuery
	61:   func(*family.Needs) {}, // GroupNonUniform
	30:   func(*family.Needs) {}, // StorageBufferArrayDynamicIndexing: the array says it
	5302: func(*family.Needs) {}, // RuntimeDescriptorArray
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
	5345: func(*family.Needs) {},                        // VulkanMemoryModel: devices with cooperative matrices have it
	6022: func(*family.Needs) {},                        // CooperativeMatrixKHR: the types say which
}

// numberType is the name of the type that w, an OpTypeInt or OpTypeFloat, declares: f16, s8.
func numberType(w []uint32) string {
	letter := "u"
	if w[0]&0xffff == opTypeFloat {
		letter = "f"
	} else if w[3] != 0 {
		letter = "s"
	}
	return letter + fmt.Sprint(w[2])
}

// describe reads from the code of a module what it binds, the shape of its workgroups and what it needs.
func describe(code []byte) (info family.Info, err error) {
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	bytes := map[uint32]uint32{}     // by type
	names := map[uint32]string{}     // of types of numbers
	letters := map[uint32]byte{}     // by type, of what is bound
	pointee := map[uint32]uint32{}   // by pointer type
	value := map[uint32]uint32{}     // of constants
	specID := map[uint32]uint32{}    // of specialisation constants
	isSize := map[uint32]bool{}      // the workgroup size
	binding := map[uint32]int{}      // of variables
	inSet := map[uint32]uint32{}     // of variables
	element := map[uint32]uint32{}   // by type of arrays without a size
	offset := map[[2]uint32]uint32{} // by struct type and member
	bound := map[int]byte{}          // by binding
	array := ""                      // letter of set 1
	n := &info.Needs
	for i := 5; i < len(words); i += int(words[i] >> 16) {
		w := words[i:min(len(words), i+max(1, int(words[i]>>16)))]
		switch op := w[0] & 0xffff; op {
		case opCapability:
			need, ok := capabilities[w[1]]
			if !ok {
				return info, fmt.Errorf("capability %d, of which nothing is known", w[1])
			}
			need(n)
		case opExecutionMode:
			if w[2] == modeLocalSize {
				copy(info.Workgroup[:], w[3:])
			}
		case opDecorate:
			switch {
			case w[2] == decorationSpecID:
				specID[w[1]] = w[3]
			case w[2] == decorationBinding:
				binding[w[1]] = int(w[3])
			case w[2] == decorationSet:
				inSet[w[1]] = w[3]
			case w[2] == decorationBuiltIn && w[3] == builtinWorkgroupSize:
				isSize[w[1]] = true
			}
		case opMemberDecorate:
			if w[3] == decorationOffset {
				offset[[2]uint32{w[1], w[2]}] = w[4]
			}
		case opTypeInt, opTypeFloat:
			bytes[w[1]] = w[2] / 8
			names[w[1]] = numberType(w)
		case opTypeMatrix:
			m, rows, cols := &n.Matrix, int(value[w[4]]), int(value[w[5]])
			switch value[w[6]] {
			case useA:
				m.M, m.K, m.In = rows, cols, names[w[2]]
			case useB:
				m.K, m.N = rows, cols
			case useSum:
				m.M, m.N, m.Sum = rows, cols, names[w[2]]
			}
		case opTypeVector, opTypeColumns:
			bytes[w[1]] = bytes[w[2]] * w[3]
		case opTypeArray:
			bytes[w[1]] = bytes[w[2]] * value[w[3]]
			letters[w[1]] = letters[w[2]]
		case opTypeRuntimeArray:
			element[w[1]] = w[2]
		case opTypeStruct:
			for k, member := range w[2:] {
				bytes[w[1]] = max(bytes[w[1]], offset[[2]uint32{w[1], uint32(k)}]+bytes[member])
			}
			letters[w[1]] = 's'
		case opTypeImage:
			if letters[w[1]] = 'i'; w[7] == imageSampled {
				letters[w[1]] = 't'
			}
		case opTypeSampledImage:
			letters[w[1]] = letters[w[2]]
		case opTypePointer:
			pointee[w[1]] = w[3]
		case opConstant, opSpecConstant:
			value[w[2]] = w[3]
		case opConstantComposite, opSpecConstantComposite:
			for k, id := range w[3:] {
				if !isSize[w[2]] {
					break
				}
				info.Workgroup[k] = value[id]
				if spec, ok := specID[id]; ok && spec != uint32(k) {
					return info, fmt.Errorf("specialisation constant %d as dimension %d of workgroups", spec, k)
				} else if ok {
					info.Workgroup[k] = 0
				}
			}
		case opVariable:
			t := pointee[w[1]]
			if inSet[w[2]] == 1 { // the array
				if n.BlockBytes = bytes[element[t]]; n.BlockBytes == 0 || n.BlockBytes%256 != 0 { // they begin where every device lets them
					return info, fmt.Errorf("blocks of %d bytes", n.BlockBytes)
				}
				array = "a"
				continue
			}
			switch w[3] {
			case classWorkgroup:
				size, ok := bytes[t]
				if !ok {
					return info, fmt.Errorf("shared memory of a type whose size is unknown")
				}
				n.SharedBytes += size
			case classPushConstant:
				info.PushWords = int(bytes[t]) / 4
			case classUniformConstant, classUniform, classStorageBuffer:
				bound[binding[w[2]]] = letters[t]
			}
		}
	}
	for k := range len(bound) {
		if bound[k] == 0 {
			return info, fmt.Errorf("%d bindings, but none of number %d", len(bound), k)
		}
		info.Bindings += string(bound[k])
	}
	info.Bindings += array
	return info, nil
}
