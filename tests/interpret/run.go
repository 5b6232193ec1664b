package interpret

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/shaders"
)

// Binding is the memory that a kernel sees at one binding number.
type Binding struct {
	Size  int64 // bytes
	Texel int64 // bytes of a texel; 0 for a storage buffer
	// Word returns the 32 bits at byte `at`, a multiple of 4; nil for zeroes. What the kernel writes is not kept.
	Word func(at int64) uint32
}

// Invocation names one invocation of a dispatch.
type Invocation struct {
	Size         [3]uint32 // shape of a workgroup
	Group, Local [3]uint32 // which one, and where in it
}

// rowGroups is the number of workgroups in a row of a dispatch; see shaders/include/common.glsl.
const rowGroups = 32768

// At returns the invocation of the given flat index in a dispatch with rows of rowGroups workgroups.
func At(index, localX uint32) Invocation {
	group := index / localX
	return Invocation{
		Size: [3]uint32{localX, 1, 1}, Group: [3]uint32{group % rowGroups, group / rowGroups}, Local: [3]uint32{index % localX},
	}
}

// Work is what an invocation did.
type Work struct {
	Instructions int
	Loops        int // iterations of all loops
	Writes       int // to bindings
}

// ErrLong says that an invocation did not end within the limit of instructions.
var ErrLong = errors.New("the limit of instructions")

// Fault is something that an invocation must not do.
type Fault struct {
	Kernel shaders.Kernel
	What   string
}

func (f *Fault) Error() string { return fmt.Sprintf("%v: %s", f.Kernel, f.What) }

// state is an invocation while it runs.
type state struct {
	*module
	kernel   shaders.Kernel
	regs     []uint32
	pointers []pointer // by id
	push     []uint32
	bindings []Binding
	at       Invocation
	work     Work
}

// pointer is a place in a memory, in bytes.
type pointer struct {
	v   *variable
	at  int64
	typ uint32
}

// Run executes one invocation of kernel k, of at most limit instructions.
//
// Errors: *Fault, ErrLong; any other is a kernel that this package cannot run.
func Run(k shaders.Kernel, push []uint32, bindings []Binding, at Invocation, limit int) (w Work, err error) {
	m, err := load(k)
	if err != nil {
		return w, err
	}
	s := &state{
		module: m, kernel: k, regs: append([]uint32(nil), m.registers...), pointers: make([]pointer, len(m.off)),
		push: push, bindings: bindings, at: at,
	}
	for _, word := range m.sizes {
		s.regs[word] = at.Size[0]
	}
	for id, v := range m.vars {
		if v != nil {
			s.pointers[id] = pointer{v: v, typ: v.typ}
		}
	}
	err = s.run(limit)
	return s.work, err
}

func (s *state) fault(format string, args ...any) error {
	return &Fault{s.kernel, fmt.Sprintf(format, args...)}
}

func (s *state) run(limit int) error {
	ip := s.entry
	var block, from uint32 // labels of this block and of the one before
	for {
		w := s.code[ip:]
		n := int(w[0] >> 16)
		w = w[:n]
		if s.work.Instructions++; s.work.Instructions > limit {
			return ErrLong
		}
		next := ip + n
		var target uint32
		switch op := uint16(w[0]); op {
		case opLabel:
			block = w[1]
			var err error
			if next, err = s.phis(next, from); err != nil {
				return err
			}
		case opLoopMerge:
			s.work.Loops++
		case opSelectionMerge, opVariable, opControlBarrier: // other invocations do not run: shared memory is its own
		case opBranch:
			target = w[1]
		case opBranchConditional:
			target = w[3]
			if s.reg(w[1])[0] != 0 {
				target = w[2]
			}
		case opSwitch:
			target = w[2]
			for k := 3; k+1 < n; k += 2 {
				if w[k] == s.reg(w[1])[0] {
					target = w[k+1]
				}
			}
		case opReturn, opKill:
			return nil
		case opUnreachable:
			return s.fault("reaches what it must not")
		case opAccessChain:
			s.access(w)
		case opLoad:
			if err := s.load(w); err != nil {
				return err
			}
		case opStore:
			if err := s.store(w); err != nil {
				return err
			}
		case opImage:
			s.pointers[w[2]] = s.pointers[w[3]]
		case opImageFetch:
			if err := s.fetch(w); err != nil {
				return err
			}
		case opImageWrite:
			if _, err := s.texel(w[1], w[2]); err != nil {
				return err
			}
			s.work.Writes++
		default:
			if err := s.compute(op, w); err != nil {
				return err
			}
		}
		if target != 0 {
			from = block
			next = int(s.labels[target])
		}
		ip = next
	}
}

// phis executes the OpPhi instructions at index i, all of them at once, after the block named from, and
// returns the index behind them.
func (s *state) phis(i int, from uint32) (int, error) {
	type move struct {
		id     uint32
		values []uint32
	}
	var moves []move
	for uint16(s.code[i]) == opPhi {
		w := s.code[i : i+int(s.code[i]>>16)]
		found := false
		for k := 3; k+1 < len(w); k += 2 {
			if w[k+1] == from {
				moves = append(moves, move{w[2], append([]uint32(nil), s.reg(w[k])...)})
				found = true
			}
		}
		if !found {
			return 0, fmt.Errorf("%v: a phi without a value for the block before", s.kernel)
		}
		i += len(w)
	}
	for _, v := range moves {
		copy(s.reg(v.id), v.values)
	}
	return i, nil
}

// reg returns the words of value id.
func (s *state) reg(id uint32) []uint32 {
	at := int(s.off[id])
	return s.regs[at : at+s.types[s.typeOf[id]].words]
}

// access follows OpAccessChain.
func (s *state) access(w []uint32) {
	p := s.pointers[w[3]]
	for _, id := range w[4:] {
		t := &s.types[p.typ]
		index := s.reg(id)[0]
		if t.kind == opTypeStruct {
			p.at += int64(t.offsets[index])
			p.typ = t.members[index]
			continue
		}
		p.at += int64(index) * int64(t.stride)
		p.typ = t.element
	}
	s.pointers[w[2]] = p
}

// load reads a value through a pointer.
func (s *state) load(w []uint32) error {
	p := s.pointers[w[3]]
	if p.v == nil {
		return fmt.Errorf("%v: a load through no pointer", s.kernel)
	}
	if p.v.class == classUniformConstant {
		s.pointers[w[2]] = p
		return nil
	}
	_, err := s.read(p, s.reg(w[2]))
	return err
}

// read fills the first words of to with what lies at p and returns the rest of to.
func (s *state) read(p pointer, to []uint32) ([]uint32, error) {
	t := &s.types[p.typ]
	var err error
	switch t.kind {
	case opTypeStruct:
		for k, member := range t.members {
			if to, err = s.read(pointer{p.v, p.at + int64(t.offsets[k]), member}, to); err != nil {
				return nil, err
			}
		}
		return to, nil
	case opTypeArray:
		for k := range t.words / s.types[t.element].words {
			if to, err = s.read(pointer{p.v, p.at + int64(k)*int64(t.stride), t.element}, to); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
	if err := s.check(p); err != nil {
		return nil, err
	}
	for k := range t.words {
		to[k] = s.word(p.v, p.at+4*int64(k))
	}
	return to[t.words:], nil
}

// check reports a fault where the scalar or vector at p leaves its memory.
func (s *state) check(p pointer) error {
	var size int64
	switch p.v.class {
	case classStorageBuffer:
		size = s.bindings[p.v.binding].Size
	case classPushConstant:
		size = 4 * int64(len(s.push))
	default:
		size = 4 * int64(s.types[p.v.typ].words)
	}
	if n := 4 * int64(s.types[p.typ].words); p.at < 0 || p.at+n > size {
		return s.fault("accesses %d bytes at %d of %d at binding %d", n, p.at, size, p.v.binding)
	}
	return nil
}

// word is the content of a memory. Precondition: check passed.
func (s *state) word(v *variable, at int64) uint32 {
	switch v.class {
	case classStorageBuffer:
		if f := s.bindings[v.binding].Word; f != nil {
			return f(at)
		}
		return 0
	case classPushConstant:
		return s.push[at/4]
	case classInput:
		if v.builtin == builtinWorkgroupID {
			return s.at.Group[at/4]
		}
		return s.at.Local[at/4] // LocalInvocationId: kernels use no third
	}
	return s.regs[v.local+int(at/4)]
}

// store writes a value through a pointer. Only local variables keep it.
func (s *state) store(w []uint32) error {
	p := s.pointers[w[1]]
	if p.v == nil {
		return fmt.Errorf("%v: a store through no pointer", s.kernel)
	}
	if err := s.check(p); err != nil {
		return err
	}
	if p.v.class == classStorageBuffer {
		s.work.Writes++
		return nil
	}
	copy(s.regs[p.v.local+int(p.at/4):], s.reg(w[2]))
	return nil
}

// texel returns the place of the texel that an image instruction names.
func (s *state) texel(image, coordinate uint32) (at int64, err error) {
	p := s.pointers[image]
	b := &s.bindings[p.v.binding]
	if b.Texel == 0 {
		return 0, s.fault("reads texels of binding %d, a storage buffer", p.v.binding)
	}
	index := s.reg(coordinate)[0]
	if at = int64(index) * b.Texel; at+b.Texel > b.Size {
		return 0, s.fault("accesses texel %d of %d at binding %d", index, b.Size/b.Texel, p.v.binding)
	}
	return at, nil
}

// fetch reads a texel: its words, and what the format does not have.
func (s *state) fetch(w []uint32) error {
	at, err := s.texel(w[3], w[4])
	if err != nil {
		return err
	}
	b := &s.bindings[s.pointers[w[3]].v.binding]
	to := s.reg(w[2])
	copy(to, []uint32{0, 0, 0, 1})
	for k := range b.Texel / 4 {
		to[k] = 0
		if b.Word != nil {
			to[k] = b.Word(at + 4*k)
		}
	}
	return nil
}
