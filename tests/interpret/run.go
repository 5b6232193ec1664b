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
	defer func() {
		w = s.work
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	for _, w := range m.derived {
		s.compute(uint16(w[0]), w)
	}
	s.run(limit)
	return s.work, nil
}

// failure is why an invocation does not go on. What finds one panics with it, and Run returns it.
type failure struct{ error }

func (s *state) fault(format string, args ...any) {
	panic(failure{&Fault{s.kernel, fmt.Sprintf(format, args...)}})
}

// fail is for kernels that this package cannot run.
func (s *state) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%v: %s", s.kernel, fmt.Sprintf(format, args...))})
}

func (s *state) run(limit int) {
	ip := s.entry
	var block, from uint32 // labels of this block and of the one before
	for {
		w := s.code[ip:]
		n := int(w[0] >> 16)
		w = w[:n]
		if s.work.Instructions++; s.work.Instructions > limit {
			panic(failure{ErrLong})
		}
		next := ip + n
		var target uint32
		switch op := uint16(w[0]); op {
		case opLabel:
			block = w[1]
			next = s.phis(next, from)
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
			return
		case opUnreachable:
			s.fault("reaches what it must not")
		case opAccessChain:
			s.access(w)
		case opLoad:
			s.load(w)
		case opStore:
			s.store(w)
		case opImage:
			s.pointers[w[2]] = s.pointers[w[3]]
		case opImageFetch:
			s.fetch(w)
		case opImageWrite:
			s.texel(w[1], w[2])
			s.work.Writes++
		default:
			s.compute(op, w)
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
func (s *state) phis(i int, from uint32) int {
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
			s.fail("a phi without a value for the block before")
		}
		i += len(w)
	}
	for _, v := range moves {
		copy(s.reg(v.id), v.values)
	}
	return i
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
func (s *state) load(w []uint32) {
	p := s.pointers[w[3]]
	if p.v == nil {
		s.fail("a load through no pointer")
	}
	if p.v.class == classUniformConstant {
		s.pointers[w[2]] = p
		return
	}
	s.read(p, s.reg(w[2]))
}

// read fills the first words of to with what lies at p and returns the rest of to.
func (s *state) read(p pointer, to []uint32) []uint32 {
	t := &s.types[p.typ]
	switch t.kind {
	case opTypeStruct:
		for k, member := range t.members {
			to = s.read(pointer{p.v, p.at + int64(t.offsets[k]), member}, to)
		}
		return to
	case opTypeArray:
		for k := range t.words / s.types[t.element].words {
			to = s.read(pointer{p.v, p.at + int64(k)*int64(t.stride), t.element}, to)
		}
		return to
	}
	s.check(p)
	for k := range t.words {
		to[k] = s.word(p.v, p.at+4*int64(k))
	}
	return to[t.words:]
}

// check reports a fault where the scalar or vector at p leaves its memory.
func (s *state) check(p pointer) {
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
		s.fault("accesses %d bytes at %d of %d at binding %d", n, p.at, size, p.v.binding)
	}
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
func (s *state) store(w []uint32) {
	p := s.pointers[w[1]]
	if p.v == nil {
		s.fail("a store through no pointer")
	}
	s.check(p)
	if p.v.class == classStorageBuffer {
		s.work.Writes++
		return
	}
	copy(s.regs[p.v.local+int(p.at/4):], s.reg(w[2]))
}

// texel returns the place of the texel that an image instruction names.
func (s *state) texel(image, coordinate uint32) (at int64) {
	p := s.pointers[image]
	b := &s.bindings[p.v.binding]
	if b.Texel == 0 {
		s.fault("reads texels of binding %d, a storage buffer", p.v.binding)
	}
	index := s.reg(coordinate)[0]
	if at = int64(index) * b.Texel; at+b.Texel > b.Size {
		s.fault("accesses texel %d of %d at binding %d", index, b.Size/b.Texel, p.v.binding)
	}
	return at
}

// fetch reads a texel: its words, and what the format does not have.
func (s *state) fetch(w []uint32) {
	at := s.texel(w[3], w[4])
	b := &s.bindings[s.pointers[w[3]].v.binding]
	to := s.reg(w[2])
	copy(to, []uint32{0, 0, 0, 1})
	for k := range b.Texel / 4 {
		to[k] = 0
		if b.Word != nil {
			to[k] = b.Word(at + 4*k)
		}
	}
}
