package ops

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// params reads the constant parameters of a call. The first error sticks; a contradiction takes the
// place of an earlier ErrNotConstant, so that what can be tested without the missing value is tested.
type params struct {
	c   *Call
	err error
	// notConstant: err wraps ErrNotConstant.
	notConstant bool
	// mayFeed: the parameter at fedPosition may be missing; then fed is set.
	mayFeed, fed bool
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil || p.notConstant {
		p.err, p.notConstant = fmt.Errorf(format, args...), false
	}
}

func (p *params) missing(i int) {
	if p.mayFeed && i == fedPosition {
		p.fed = true
		return
	}
	if p.err == nil {
		p.err, p.notConstant = fmt.Errorf("input %d: %w", i, ErrNotConstant), true
	}
}

// bytes returns the value of input i; ok is false when it is absent, not constant or too short.
func (p *params) bytes(i, n int) (b []byte, ok bool) {
	o := p.c.In(i)
	if o == nil {
		return nil, false
	}
	b, err := p.c.Model.Value(o)
	switch {
	case err != nil:
		p.fail("input %d: %w", i, err)
	case b == nil:
		p.missing(i)
	case len(b) < n:
		p.fail("input %d: %d bytes of %d", i, len(b), n)
	default:
		return b, true
	}
	return nil, false
}

// int32 returns the INT32 at position i; ok is false when there is none or it is not known.
func (p *params) int32(i int) (v int32, ok bool) {
	b, ok := p.bytes(i, 4)
	if !ok {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(b)), true
}

// atLeast returns the INT32 at position i, which must not be below min. It is min when it is not known.
func (p *params) atLeast(i int, min int32, what string) int {
	v, ok := p.int32(i)
	if !ok {
		return int(min)
	}
	if v < min {
		p.fail("%s %d is below %d", what, v, min)
		return int(min)
	}
	return int(v)
}

// pair returns height, width of two INT32s, of which the HAL puts the width first.
func (p *params) pair(i int, what string) [2]int {
	w := p.atLeast(i, 1, what+" width")
	return [2]int{p.atLeast(i+1, 1, what+" height"), w}
}

// flag returns the BOOL at position i, false when there is none.
func (p *params) flag(i int) bool {
	b, ok := p.bytes(i, 1)
	return ok && b[0] != 0
}

// activation returns the FusedActivationFunc at position i.
func (p *params) activation(i int) nn.Activation {
	v, ok := p.int32(i)
	if !ok {
		return nn.ActNone
	}
	if v < int32(nn.ActNone) || v > int32(nn.ActRelu6) {
		p.fail("activation %d", v)
		return nn.ActNone
	}
	return nn.Activation(v)
}

// real returns the FLOAT32 or FLOAT16 at position i.
func (p *params) real(i int) (v float64, ok bool) {
	if p.c.inputType(i) == nn.Float16 {
		b, ok := p.bytes(i, 2)
		if !ok {
			return 0, false
		}
		v = float64(nn.Half(binary.LittleEndian.Uint16(b)).Float32())
	} else {
		b, ok := p.bytes(i, 4)
		if !ok {
			return 0, false
		}
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.fail("input %d is %v", i, v)
		return 0, false
	}
	return v, true
}

// MaxIndices bounds the length of a list of axes, sizes or paddings, in elements: two for each dimension, and room for
// axes named twice.
const MaxIndices = 1 << 10

// int32s returns the TENSOR_INT32 at position i; ok is false when it is absent or not known.
func (p *params) int32s(i int) (v []int32, ok bool) {
	b, ok := p.bytes(i, 4)
	if !ok {
		return nil, false
	}
	if len(b)/4 > MaxIndices {
		p.fail("input %d has %d elements", i, len(b)/4)
		return nil, false
	}
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, int32(binary.LittleEndian.Uint32(b)))
	}
	return v, true
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
