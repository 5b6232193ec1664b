package plan

import (
	"fmt"
	"math"

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
	c := coder{Coder: codec.Writer([]byte(encodingMagic)), index: map[shaders.Kernel]int{}}
	for i := range p.Steps {
		if k := p.Steps[i].Kernel; c.index[k] == 0 {
			c.kernels = append(c.kernels, k)
			c.index[k] = len(c.kernels)
		}
	}
	same := *p
	c.plan(&same)
	return c.Written()
}

// Decode returns the plan that data encodes. It takes only what Encode can have made of a plan that passes
// Verify, and allocates at most a small multiple of the size of data whatever that holds. The plan does not
// refer to data.
//
// Errors: another version, a kernel that this program lacks, damage.
func Decode(data []byte) (*Plan, error) {
	r, err := codec.Reader(data, encodingMagic, "plan")
	if err != nil {
		return nil, err
	}
	c, p := coder{Coder: r, index: map[shaders.Kernel]int{}}, &Plan{}
	c.plan(p)
	if err = c.End(); err == nil {
		err = p.Verify()
	}
	if err != nil {
		return nil, fmt.Errorf("encoded plan: %w", err)
	}
	return p, nil
}

// coder writes or reads the parts of a plan.
type coder struct {
	codec.Coder
	kernels []shaders.Kernel       // in the order of first use, shaders.Copy too
	index   map[shaders.Kernel]int // of each, and 1
	used    int                    // kernels that steps so far have named
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

func (c *coder) plan(p *Plan) {
	for _, n := range []*int64{&p.ArenaBytes, &p.WeightBytes, &p.HostBytes} {
		c.Size(n)
	}
	codec.List(&c.Coder, &p.Inputs, minIO, c.io)
	codec.List(&c.Coder, &p.Outputs, minIO, c.io)
	codec.List(&c.Coder, &c.kernels, minKernel, c.kernel)
	codec.List(&c.Coder, &p.Steps, minStep, c.step)
	if c.used != len(c.kernels) {
		c.Fail("%d of %d kernels are used", c.used, len(c.kernels))
	}
	at := 0
	codec.List(&c.Coder, &p.Segments, minSegment, func(end *int) {
		n := *end - at
		codec.Number(&c.Coder, &n, uint64(len(p.Steps)-at))
		at += n
		*end = at
	})
}

func (c *coder) io(x *IO) {
	codec.Text(&c.Coder, &x.Name)
	c.Size(&x.Offset)
	c.Size(&x.Size)
	more := x.DeviceBytes - x.Size
	codec.Number(&c.Coder, &more, uint64(math.MaxInt64-x.Size))
	x.DeviceBytes = x.Size + more
}

// kernel is a name. None may occur twice.
func (c *coder) kernel(k *shaders.Kernel) {
	name := k.String()
	if codec.Text(&c.Coder, &name); !c.Reading() {
		return
	}
	known, ok := shaders.ByName(name)
	if !ok || c.index[known] > 0 {
		c.Fail("%q is no kernel, or stands twice", name[:min(len(name), 64)])
		return
	}
	*k = known
	c.index[known] = len(c.index) + 1
}

// Flags of a step and of a binding.
const (
	stepBased = 1 << 3
	bindingOf = 1 << 6
)

// flag is bit where on is set.
func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

func (c *coder) step(s *Step) {
	k := c.index[s.Kernel] - 1
	codec.Number(&c.Coder, &k, math.MaxInt32)
	if k >= len(c.kernels) || k > c.used {
		c.Fail("kernel %d of %d, of which %d were used", k, len(c.kernels), c.used)
		return
	}
	s.Kernel, c.used = c.kernels[k], max(c.used, k+1)
	flags := flag(s.Barrier, 1) | byte(s.When)<<1 | flag(s.Base != [3]uint32{}, stepBased)
	codec.Number(&c.Coder, &flags, 2*stepBased-1)
	s.Barrier, s.When = flags&1 != 0, When(flags>>1&3)
	c.ref(&s.Transfers)
	c.shape(&s.Local)
	c.shape(&s.Groups)
	if flags&stepBased != 0 {
		if c.shape(&s.Base); s.Base == [3]uint32{} {
			c.Fail("a base of zeroes")
		}
	}
	codec.List(&c.Coder, &s.Push, minPush, c.word)
	codec.List(&c.Coder, &s.Bindings, minBinding, c.binding)
	codec.Text(&c.Coder, &s.Label)
	codec.Text(&c.Coder, &s.Why)
	c.Float(&s.FLOP)
	c.Float(&s.Bytes)
}

func (c *coder) word(n *uint32) { codec.Number(&c.Coder, n, math.MaxUint32) }

func (c *coder) shape(n *[3]uint32) {
	for i := range n {
		c.word(&n[i])
	}
}

func (c *coder) binding(b *Binding) {
	kind := byte(b.Buffer)&3 | flag(b.Write, 4) | byte(b.Format)<<3 | flag(b.Of != 0, bindingOf)
	codec.Number(&c.Coder, &kind, 2*bindingOf-1)
	b.Buffer, b.Write, b.Format = Buffer(kind&3), kind&4 != 0, Format(kind>>3&7)
	c.Size(&b.Offset)
	c.Size(&b.Size)
	if kind&bindingOf != 0 {
		if c.ref(&b.Of); b.Of == 0 {
			c.Fail("a binding of no input or output")
		}
		c.Size(&b.At)
	}
}

// ref is a reference.
func (c *coder) ref(r *IORef) {
	n := 0
	if i, ok := r.Input(); ok {
		n = 2*i + 1
	} else if i, ok := r.Output(); ok {
		n = 2*i + 2
	}
	codec.Number(&c.Coder, &n, math.MaxInt32)
	switch {
	case n == 0:
		*r = 0
	case n%2 == 1:
		*r = InputRef((n - 1) / 2)
	default:
		*r = OutputRef((n - 2) / 2)
	}
}
