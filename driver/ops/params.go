package ops

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// params reads the constant parameters of a call by the names in its form. The first error sticks; but a contradiction
// replaces an earlier ErrNotConstant, so that whatever can be tested without the missing value is tested.
type params struct {
	*Call
	err error
	// notConstant: err wraps ErrNotConstant.
	notConstant bool
	// runtime is the position of the operand that is known only at run time, if one may be (Operand.Runtime); -1 for
	// none.
	runtime int
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil || p.notConstant {
		p.err, p.notConstant = fmt.Errorf(format, args...), false
	}
}

// position is where the operand of the given name stands; ok is false when the form has none or the list ends
// before it.
func (p *params) position(name string) (i int, ok bool) {
	f, n := p.form, len(p.Op.Inputs)
	named := func(o Operand) bool { return o.Name == name }
	i = slices.IndexFunc(f.Inputs, named)
	if i < 0 {
		if !slices.ContainsFunc(p.row.Forms, func(f Form) bool { return slices.ContainsFunc(f.Inputs, named) }) {
			panic(fmt.Sprintf("ops: %v has no operand %q", p.row.Type, name))
		}
		return 0, false
	}
	if n > len(f.Inputs) && slices.IndexFunc(f.Inputs, func(o Operand) bool { return o.Repeated }) < i {
		i += n - len(f.Inputs)
	}
	return i, i < n
}

func (p *params) has(name string) bool { _, ok := p.position(name); return ok }

func (p *params) missing(i int, name string) {
	if at(p.form.Inputs, i, len(p.Op.Inputs)).Runtime {
		p.runtime = i
		return
	}
	if p.err == nil {
		p.err, p.notConstant = fmt.Errorf("input %d (%s): %w", i, name, ErrNotConstant), true
	}
}

// bytes returns the value of an input; ok is false when it is absent, not constant or too short.
func (p *params) bytes(name string, n int) (b []byte, ok bool) {
	i, ok := p.position(name)
	if !ok {
		return nil, false
	}
	o := p.In(i)
	if o == nil {
		return nil, false
	}
	b, err := p.Model.Value(o)
	switch {
	case err != nil:
		p.fail("input %d (%s): %w", i, name, err)
	case b == nil:
		p.missing(i, name)
	case len(b) < n:
		p.fail("input %d (%s): %d bytes of %d", i, name, len(b), n)
	default:
		return b, true
	}
	return nil, false
}

// int32 returns an INT32; ok is false when there is none or it is not known.
func (p *params) int32(name string) (v int32, ok bool) {
	b, ok := p.bytes(name, 4)
	if !ok {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(b)), true
}

// atLeast returns an INT32, which must not be below min. It is min when it is not known.
func (p *params) atLeast(name string, min int32) int {
	v, ok := p.int32(name)
	if !ok {
		return int(min)
	}
	if v < min {
		p.fail("%s %d is below %d", name, v, min)
		return int(min)
	}
	return int(v)
}

// pair returns height, width from two INT32s; the HAL puts the width first.
func (p *params) pair(what string) [2]int {
	w := p.atLeast(what+" width", 1)
	return [2]int{p.atLeast(what+" height", 1), w}
}

// flag returns a BOOL, false when there is none.
func (p *params) flag(name string) bool {
	b, ok := p.bytes(name, 1)
	return ok && b[0] != 0
}

// activation returns the FusedActivationFunc.
func (p *params) activation() nn.Activation {
	v, ok := p.int32("activation")
	if !ok {
		return nn.ActNone
	}
	if v < int32(nn.ActNone) || v > int32(nn.ActRelu6) {
		p.fail("activation %d", v)
		return nn.ActNone
	}
	return nn.Activation(v)
}

// real returns a FLOAT32 or FLOAT16.
func (p *params) real(name string) (v float64, ok bool) {
	size := 4
	if i, ok := p.position(name); ok && p.inputType(i) == nn.Float16 {
		size = 2
	}
	b, ok := p.bytes(name, size)
	switch {
	case !ok:
		return 0, false
	case size == 2:
		v = float64(nn.Half(binary.LittleEndian.Uint16(b)).Float32())
	default:
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.fail("%s is %v", name, v)
		return 0, false
	}
	return v, true
}

// MaxIndices bounds the length of a list of axes, sizes or paddings, in elements: two for each dimension, and room for
// axes named twice.
const MaxIndices = 1 << 10

// int32s returns a TENSOR_INT32; ok is false when it is absent or not known.
func (p *params) int32s(name string) (_ []int32, ok bool) {
	b, ok := p.bytes(name, 4)
	if !ok {
		return nil, false
	}
	if len(b)/4 > MaxIndices {
		p.fail("%s has %d elements", name, len(b)/4)
		return nil, false
	}
	v, err := nn.Values[int32](b[:len(b)&^3])
	return v, err == nil
}

// axisOf reads the parameter axis, of -rank..rank-1, and brings it to 0..rank-1; 0 if either is not known.
func (p *params) axisOf(rank int) int {
	v, ok := p.int32("axis")
	if !ok || rank <= 0 {
		return 0
	}
	return p.axis(v, rank)
}

// axis brings an axis of -rank..rank-1 to 0..rank-1.
func (p *params) axis(v int32, rank int) int {
	n := int64(v)
	if n < 0 {
		n += int64(rank)
	}
	if n < 0 || n >= int64(rank) {
		p.fail("axis %d of rank %d", v, rank)
		return 0
	}
	return int(n)
}

// rank is the rank of input 0, 0 while it is unknown.
func (c *Call) rank() int {
	if o := c.In(0); o != nil {
		return len(o.Dims)
	}
	return 0
}

func shapeKnown(o *nn.Operand) bool { return o.Dims.Known() && len(o.Dims) > 0 }
