package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/gpu/internal/codec"
	"github.com/nngpu/nngpu/shaders"
)

// encodingMagic begins every encoded plan; its last byte is the version of the encoding. Whatever changes the
// layout below, or the meaning of a plan, changes the version.
const encodingMagic = "nnplan\x00\x04"

// The encoding: the magic, then what package codec writes.
//
//	arena, weight and host bytes
//	inputs, outputs     list of: name, offset, size, device bytes less size
//	kernels             list of names, in the order of first use
//	steps               list of:
//	  kernel            index into kernels
//	  barrier           barrier | when<<1 | (based)<<3
//	  reference         what the step serves
//	  workgroup's shape x, y, z; groups x, y, z
//	  base x, y, z      only where based, that is, one of them is not 0
//	  push constants    list of words
//	  bindings          list of: buffer | write<<2 | format<<3 | (of an input or output)<<6, offset, size,
//	                    and only where it is of one: reference, at
//	  label, why
//	  FLOP, bytes       float64, 8 bytes each, least significant first
//	segments            list of: number of steps
//
// A reference is 0 for none, 2i+1 for input i, 2i+2 for output i.
//
// Equal plans have equal encodings, and a plan has only one.

// Encode returns the encoding of p, which Decode turns back. Precondition: p.Verify() is nil.
func Encode(p *Plan) []byte {
	b := []byte(encodingMagic)
	for _, n := range []int64{p.ArenaBytes, p.WeightBytes, p.HostBytes} {
		b = codec.AppendSize(b, n)
	}
	for _, list := range [][]IO{p.Inputs, p.Outputs} {
		b = codec.AppendCount(b, len(list))
		for _, io := range list {
			b = codec.AppendString(b, io.Name)
			b = codec.AppendSize(b, io.Offset)
			b = codec.AppendSize(b, io.Size)
			b = codec.AppendSize(b, io.DeviceBytes-io.Size)
		}
	}
	kernels := usedKernels(p)
	index := map[shaders.Kernel]int{}
	b = codec.AppendCount(b, len(kernels))
	for i, k := range kernels {
		index[k] = i
		b = codec.AppendString(b, k.String())
	}
	b = codec.AppendCount(b, len(p.Steps))
	for i := range p.Steps {
		b = appendStep(b, &p.Steps[i], index[p.Steps[i].Kernel])
	}
	b = codec.AppendCount(b, len(p.Segments))
	at := 0
	for _, end := range p.Segments {
		b = codec.AppendCount(b, end-at)
		at = end
	}
	return b
}

// usedKernels lists the kernels of p in the order of first use, shaders.Copy too.
func usedKernels(p *Plan) []shaders.Kernel {
	var list []shaders.Kernel
	seen := map[shaders.Kernel]bool{}
	for i := range p.Steps {
		if k := p.Steps[i].Kernel; !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

func appendStep(b []byte, s *Step, kernel int) []byte {
	b = codec.AppendCount(b, kernel)
	flags := byte(s.When) << 1
	if s.Barrier {
		flags |= 1
	}
	numbers := slices.Concat(s.Local[:], s.Groups[:])
	if s.Base != [3]uint32{} {
		flags |= stepBased
		numbers = append(numbers, s.Base[:]...)
	}
	b = append(b, flags)
	b = appendRef(b, s.Serves)
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = codec.AppendCount(b, len(s.Push))
	for _, w := range s.Push {
		b = binary.AppendUvarint(b, uint64(w))
	}
	b = codec.AppendCount(b, len(s.Bindings))
	for _, bd := range s.Bindings {
		kind := byte(bd.Buffer)&3 | byte(bd.Format)<<3
		if bd.Write {
			kind |= 4
		}
		if bd.Of != 0 {
			kind |= bindingOf
		}
		b = append(b, kind)
		b = codec.AppendSize(b, bd.Offset)
		b = codec.AppendSize(b, bd.Size)
		if bd.Of != 0 {
			b = appendRef(b, bd.Of)
			b = codec.AppendSize(b, bd.At)
		}
	}
	b = codec.AppendString(b, s.Label)
	b = codec.AppendString(b, s.Why)
	return codec.AppendFloat(codec.AppendFloat(b, s.FLOP), s.Bytes)
}

// Flags of a step and of a binding.
const (
	stepBased = 1 << 3
	bindingOf = 1 << 6
)

func appendRef(b []byte, r IORef) []byte {
	n := 0
	if i, ok := r.Input(); ok {
		n = 2*i + 1
	} else if i, ok := r.Output(); ok {
		n = 2*i + 2
	}
	return codec.AppendCount(b, n)
}

// The least bytes that an element of each list takes in the encoding.
const (
	minIO      = 4
	minKernel  = 1
	minStep    = 11 + 8 + 8
	minPush    = 1
	minBinding = 3
	minSegment = 1
)

// Decode returns the plan that data encodes. It takes only what Encode can have made of a plan that passes
// Verify, and allocates at most a small multiple of the size of data whatever that holds. The plan does not
// refer to data.
//
// Errors: another version, a kernel that this program lacks, damage.
func Decode(data []byte) (*Plan, error) {
	if len(data) < len(encodingMagic) || string(data[:len(encodingMagic)-1]) != encodingMagic[:len(encodingMagic)-1] {
		return nil, errors.New("not an encoded plan")
	}
	if v := data[len(encodingMagic)-1]; v != encodingMagic[len(encodingMagic)-1] {
		return nil, fmt.Errorf("encoded plan of version %d, this is %d", v, encodingMagic[len(encodingMagic)-1])
	}
	d := decoder{codec.NewReader(data[len(encodingMagic):])}
	p := d.plan()
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("encoded plan: %w", err)
	}
	if err := p.Verify(); err != nil {
		return nil, fmt.Errorf("encoded plan: %w", err)
	}
	return p, nil
}

// decoder reads the parts of a plan.
type decoder struct{ codec.Reader }

func (d *decoder) plan() *Plan {
	p := &Plan{}
	for _, n := range []*int64{&p.ArenaBytes, &p.WeightBytes, &p.HostBytes} {
		*n = d.Size()
	}
	p.Inputs = d.ios()
	p.Outputs = d.ios()
	kernels := d.kernels()
	if n := d.Count(minStep); n > 0 {
		p.Steps = make([]Step, n)
	}
	used := 0 // kernels that steps so far have named
	for i := range p.Steps {
		k := d.step(&p.Steps[i], kernels)
		if d.Err() != nil {
			return nil
		}
		if k > used {
			d.Fail("step %d: kernels are not in the order of use", i)
			return nil
		}
		used = max(used, k+1)
	}
	if used != len(kernels) {
		d.Fail("%d of %d kernels are used", used, len(kernels))
	}
	if n := d.Count(minSegment); n > 0 {
		p.Segments = make([]int, n)
	}
	at := 0
	for i := range p.Segments {
		n := d.Number(uint64(len(p.Steps) - at))
		at += int(n)
		p.Segments[i] = at
	}
	return p
}

func (d *decoder) ios() []IO {
	var list []IO
	if n := d.Count(minIO); n > 0 {
		list = make([]IO, n)
	}
	for i := range list {
		io := IO{Name: d.Text(), Offset: d.Size(), Size: d.Size()}
		io.DeviceBytes = io.Size + int64(d.Number(uint64(math.MaxInt64-io.Size)))
		list[i] = io
	}
	return list
}

// kernels reads the table of names. None may stand twice.
func (d *decoder) kernels() []shaders.Kernel {
	list := make([]shaders.Kernel, 0, d.Count(minKernel))
	seen := map[shaders.Kernel]bool{}
	for range cap(list) {
		name := d.Bytes()
		if d.Err() != nil {
			return nil
		}
		k, ok := shaders.ByName(string(name))
		if !ok || seen[k] {
			d.Fail("%q is no kernel, or stands twice", name[:min(len(name), 64)])
			return nil
		}
		seen[k] = true
		list = append(list, k)
	}
	return list
}

// step reads s and returns the index of its kernel.
func (d *decoder) step(s *Step, kernels []shaders.Kernel) int {
	k := int(d.Number(math.MaxInt32))
	if k >= len(kernels) {
		d.Fail("kernel %d of %d", k, len(kernels))
		return 0
	}
	s.Kernel = kernels[k]
	flags := d.Number(2*stepBased - 1)
	s.Barrier = flags&1 != 0
	s.When = When(flags >> 1 & 3)
	s.Serves = d.ref()
	numbers := []*uint32{&s.Local[0], &s.Local[1], &s.Local[2], &s.Groups[0], &s.Groups[1], &s.Groups[2]}
	if flags&stepBased != 0 {
		numbers = append(numbers, &s.Base[0], &s.Base[1], &s.Base[2])
	}
	for _, n := range numbers {
		*n = uint32(d.Number(math.MaxUint32))
	}
	if flags&stepBased != 0 && s.Base == [3]uint32{} {
		d.Fail("a base of zeroes")
	}
	if n := d.Count(minPush); n > 0 {
		s.Push = make([]uint32, n)
	}
	for i := range s.Push {
		s.Push[i] = uint32(d.Number(math.MaxUint32))
	}
	if n := d.Count(minBinding); n > 0 {
		s.Bindings = make([]Binding, n)
	}
	for i := range s.Bindings {
		kind := d.Number(127)
		s.Bindings[i] = Binding{
			Buffer: Buffer(kind & 3), Write: kind&4 != 0, Format: Format(kind >> 3 & 7), Offset: d.Size(), Size: d.Size(),
		}
		if kind&bindingOf != 0 {
			if s.Bindings[i].Of = d.ref(); s.Bindings[i].Of == 0 {
				d.Fail("a binding of no input or output")
			}
			s.Bindings[i].At = d.Size()
		}
	}
	s.Label = d.Text()
	s.Why = d.Text()
	s.FLOP = d.Float()
	s.Bytes = d.Float()
	return k
}

// ref reads a reference.
func (d *decoder) ref() IORef {
	n := int(d.Number(math.MaxInt32))
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return InputRef((n - 1) / 2)
	}
	return OutputRef((n - 2) / 2)
}
