// Package interpret runs kernels on the host, one invocation at a time, and reports what Vulkan would not:
// accesses outside of a binding, integer divisions by zero, shifts beyond the width, endless loops.
//
// It is for tests of the code that computes push constants: an index that leaves its tensor shows here, while
// a device reads or overwrites some other tensor without a word. It knows the instructions that the kernels of
// package shaders are made of and no others, and computes floats as a CPU does.
package interpret

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/shaders"
)

// typ is a SPIR-V type. Its value is a run of 32-bit words: vectors, arrays and structures one member after
// the other.
type typ struct {
	kind    uint16 // the opcode that declares it
	words   int
	element uint32 // of a vector or array; of a pointer: what it points at
	members []uint32
	// offsets of members and stride of elements in bytes, in memory.
	offsets []uint32
	stride  uint32
}

// variable is a global or local one.
type variable struct {
	class   uint32
	typ     uint32
	binding int
	builtin uint32
	local   int // word of the registers where a local one lies
}

// module is a decoded kernel.
type module struct {
	code      []uint32
	types     []typ
	off       []int32  // by id: first word among the registers
	typeOf    []uint32 // by id
	registers []uint32 // initial: constants
	vars      []*variable
	labels    []int32    // by id: index of OpLabel in code
	entry     int        // index of the first OpLabel
	size      uint32     // id of the constant WorkgroupSize.x; 0 where that is fixed
	sizes     []int      // words of registers that hold it
	derived   [][]uint32 // what is computed of it before an invocation starts: instructions, as compute takes them
}

// decorations as they come, before the types they are about.
type decorations struct {
	stride, binding, builtin map[uint32]uint32
	array                    map[uint32]bool // variables of set 1
	offsets                  map[uint32]map[uint32]uint32
	spec                     map[uint32]bool
}

var modules sync.Map // by shaders.Kernel

// load decodes kernel k, once.
func load(k shaders.Kernel) (*module, error) {
	if m, ok := modules.Load(k); ok {
		return m.(*module), nil
	}
	m, err := decode(k.SPIRV())
	if err != nil {
		return nil, fmt.Errorf("%v: %w", k, err)
	}
	modules.Store(k, m)
	return m, nil
}

func decode(data []byte) (*module, error) {
	code := make([]uint32, len(data)/4)
	for i := range code {
		code[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if len(code) < 5 || code[0] != magic {
		return nil, errors.New("not SPIR-V: no magic number")
	}
	bound := code[3]
	m := &module{
		code: code, types: make([]typ, bound), off: make([]int32, bound), typeOf: make([]uint32, bound),
		vars: make([]*variable, bound), labels: make([]int32, bound),
	}
	d := &decorations{
		stride: map[uint32]uint32{}, binding: map[uint32]uint32{}, builtin: map[uint32]uint32{},
		array: map[uint32]bool{}, offsets: map[uint32]map[uint32]uint32{}, spec: map[uint32]bool{},
	}
	for i := 5; i < len(code); {
		n := int(code[i] >> 16)
		if n == 0 || i+n > len(code) {
			return nil, fmt.Errorf("instruction of %d words at %d", n, i)
		}
		if err := m.declare(d, i, code[i:i+n]); err != nil {
			return nil, err
		}
		i += n
	}
	if m.entry == 0 {
		return nil, errors.New("no entry point")
	}
	return m, nil
}

// declare takes one instruction, w, at index i of the code into the tables.
func (m *module) declare(d *decorations, i int, w []uint32) error {
	op := uint16(w[0])
	switch op {
	case opDecorate:
		switch w[2] {
		case decorationSpecID:
			d.spec[w[1]] = true
		case decorationArrayStride:
			d.stride[w[1]] = w[3]
		case decorationBuiltIn:
			d.builtin[w[1]] = w[3]
		case decorationBinding:
			d.binding[w[1]] = w[3]
		case decorationSet:
			d.array[w[1]] = w[3] == 1
		}
	case opMemberDecorate:
		if w[3] == decorationOffset {
			if d.offsets[w[1]] == nil {
				d.offsets[w[1]] = map[uint32]uint32{}
			}
			d.offsets[w[1]][w[2]] = w[4]
		}
	case opTypeVoid, opTypeBool, opTypeInt, opTypeFloat, opTypeVector, opTypeColumns, opTypeArray, opTypeRuntimeArray,
		opTypeStruct, opTypePointer, opTypeImage, opTypeSampledImage, opTypeFunction:
		return m.declareType(d, w)
	case opConstantTrue:
		m.define(w[2], w[1], 1)
	case opConstantFalse:
		m.define(w[2], w[1], 0)
	case opConstant, opSpecConstant:
		m.define(w[2], w[1], w[3])
		if d.spec[w[2]] {
			m.size = w[2]
			m.sizes = append(m.sizes, int(m.off[w[2]]))
		}
	case opConstantComposite, opSpecConstantComposite:
		var words []uint32
		for _, id := range w[3:] {
			if id == m.size && m.size != 0 {
				m.sizes = append(m.sizes, len(m.registers)+len(words))
			}
			words = append(words, m.constant(id)...)
		}
		m.define(w[2], w[1], words...)
	case opSpecConstantOp:
		m.define(w[2], w[1], make([]uint32, m.types[w[1]].words)...)
		m.derived = append(m.derived, append([]uint32{w[3], w[1], w[2]}, w[4:]...))
	case opVariable:
		v := &variable{class: w[3], typ: m.types[w[1]].element, binding: int(d.binding[w[2]]), builtin: d.builtin[w[2]]}
		if d.array[w[2]] { // which stands behind the bindings of set 0
			v.binding = len(d.binding) - 1
		}
		m.vars[w[2]] = v
		if v.class == classFunction || v.class == classPrivate || v.class == classWorkgroup {
			v.local = len(m.registers)
			m.registers = append(m.registers, make([]uint32, m.types[v.typ].words)...)
		}
	case opLabel:
		m.labels[w[1]] = int32(i)
		if m.entry == 0 {
			m.entry = i
		}
	default:
		if id, t, ok := result(w); ok {
			m.define(id, t, make([]uint32, m.types[t].words)...)
		}
	}
	return nil
}

func (m *module) declareType(d *decorations, w []uint32) error {
	t := typ{kind: uint16(w[0]), words: 1}
	switch t.kind {
	case opTypeVoid, opTypeFunction:
		t.words = 0
	case opTypeInt, opTypeFloat:
		if w[2] != 32 {
			return fmt.Errorf("a type of %d bits", w[2])
		}
	case opTypeVector:
		t.element, t.words, t.stride = w[2], int(w[3]), 4
	case opTypeColumns:
		t.element, t.words, t.stride = w[2], m.types[w[2]].words*int(w[3]), uint32(4*m.types[w[2]].words)
	case opTypeArray:
		length := m.constant(w[3])
		if len(length) == 0 {
			return errors.New("an array whose length is no constant")
		}
		t.element = w[2]
		t.words = m.types[w[2]].words * int(length[0])
		t.stride = uint32(4 * m.types[w[2]].words)
	case opTypeRuntimeArray:
		t.element, t.words, t.stride = w[2], 0, uint32(4*m.types[w[2]].words) // one block behind the other where it is of blocks
	case opTypePointer:
		t.element, t.words = w[3], 0
	case opTypeImage, opTypeSampledImage:
		t.words = 0
	case opTypeStruct:
		t.words, t.members = 0, w[2:]
		for k, id := range t.members {
			at := uint32(4 * t.words)
			if o, ok := d.offsets[w[1]][uint32(k)]; ok {
				at = o
			}
			t.offsets = append(t.offsets, at)
			t.words += m.types[id].words
		}
	}
	if s, ok := d.stride[w[1]]; ok {
		t.stride = s
	}
	m.types[w[1]] = t
	return nil
}

// define gives id of type t a place among the registers and its first value.
func (m *module) define(id, t uint32, words ...uint32) {
	m.off[id], m.typeOf[id] = int32(len(m.registers)), t
	m.registers = append(m.registers, words...)
}

func (m *module) constant(id uint32) []uint32 {
	at := int(m.off[id])
	return m.registers[at : at+m.types[m.typeOf[id]].words]
}

// result returns the id and the type of what instruction w computes.
func result(w []uint32) (id, t uint32, ok bool) {
	switch op := uint16(w[0]); op {
	case opExtInstImport, opStore, opImageWrite, opLoopMerge, opSelectionMerge, opBranch, opBranchConditional, opSwitch,
		opReturn, opKill, opControlBarrier, opFunction, opFunctionEnd, opUnreachable:
		return 0, 0, false
	case opUndef, opExtInst, opLoad, opAccessChain:
		return w[2], w[1], true
	default:
		return w[min(2, len(w)-1)], w[1], op >= firstValue
	}
}
