package differential

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/nngpu/nngpu/driver/nn"
)

// chain is a random graph that grows operation by operation. Its bounds keep floats small, so that a
// tolerance means something, and 8-bit results away from saturation.
type chain struct {
	b     nn.Builder
	rng   *rand.Rand
	vals  []val
	read  map[uint32]bool // operands that an operation reads
	rough map[uint32]bool // operands whose 8-bit values may be a step off, or floats that come from float16
}

// val is a tensor that the next operation may read.
type val struct {
	id    uint32
	typ   nn.OperandType
	dims  nn.Dims
	scale float32
	zero  int32
	mag   float64 // bound of the absolute value of a float
	rough bool
	temp  bool // written by an operation
}

// Limits of what random graphs hold.
const (
	maxChainElements = 4000
	maxMagnitude     = 8.0
)

func newChain(rng *rand.Rand, types []nn.OperandType) *chain {
	c := &chain{rng: rng, read: map[uint32]bool{}, rough: map[uint32]bool{}}
	for range 1 + rng.IntN(3) {
		for _, t := range types {
			v := val{typ: t, dims: c.someDims(), mag: 2, rough: t == nn.TensorFloat16}
			if t == nn.TensorFloat16 {
				v.mag = 4
			}
			v.scale, v.zero = c.someQuant(t, 0.02)
			v.id = c.b.Input(v.typ, v.dims, v.scale, v.zero)
			c.vals = append(c.vals, v)
		}
	}
	for _, t := range types { // operations may find constants only
		if !c.chance(3) {
			continue
		}
		v := val{typ: t, dims: c.someDims(), mag: 1, rough: t == nn.TensorFloat16}
		v.scale, v.zero = c.someQuant(t, 0.02)
		if t.IsFloat() {
			v.id = c.floats(t, v.dims, 1)
		} else {
			v.id = c.b.Const(t, v.dims, v.scale, v.zero, RandomValue(t, v.dims, rng))
		}
		c.vals = append(c.vals, v)
	}
	return c
}

// grow adds n operations and chooses the outputs.
func (c *chain) grow(n int) {
	for added := 0; added < n; {
		if growths[c.rng.IntN(len(growths))](c) {
			added++
		}
	}
	for _, v := range c.vals {
		// Nearly all that nobody reads, and some of what is read.
		if v.temp && (!c.read[v.id] && !c.chance(8) || c.chance(8) || v.id == c.vals[len(c.vals)-1].id) {
			c.b.Output(v.id)
		}
	}
}

// someDims are four dimensions with channels around the edges of quads and tiles.
func (c *chain) someDims() nn.Dims {
	channels := [...]uint32{1, 2, 3, 4, 5, 7, 8, 11, 12, 16, 19, 33}
	d := nn.Dims{1 + uint32(c.rng.IntN(2)), 1 + c.rng.Uint32N(9), 1 + c.rng.Uint32N(9), channels[c.rng.IntN(len(channels))]}
	return d[c.rng.IntN(8)/6:] // some of rank 3
}

// someQuant is a quantisation of around the given scale.
func (c *chain) someQuant(t nn.OperandType, scale float64) (float32, int32) {
	if !t.IsQuant8() {
		return 0, 0
	}
	zero := 108 + c.rng.Int32N(40)
	if t == nn.TensorQuant8AsymmSigned {
		zero -= 128
	}
	return float32(scale * (0.8 + 0.5*c.rng.Float64())), zero
}

// pick returns one of the tensors that ok accepts, often the newest, seldom a tiny one.
func (c *chain) pick(ok func(*val) bool) *val {
	var list []int
	for i := range c.vals {
		if ok(&c.vals[i]) && (elements(c.vals[i].dims) >= 24 || c.chance(3)) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	k := c.rng.IntN(len(list))
	if c.chance(2) {
		k = len(list) - 1
	}
	v := c.vals[list[k]] // a copy: c.vals may grow
	return &v
}

// emit adds an operation with result y; args are all its inputs.
func (c *chain) emit(op nn.OperationType, y val, args ...uint32) bool {
	y.temp = true
	y.id = c.b.Temp(y.typ, y.dims, y.scale, y.zero)
	c.b.Op(op, args, []uint32{y.id})
	c.rough[y.id] = y.rough
	for _, x := range args {
		c.read[x] = true
	}
	c.vals = append(c.vals, y)
	return true
}

// floats adds a constant of values in [-amp, amp).
func (c *chain) floats(t nn.OperandType, dims nn.Dims, amp float64) uint32 {
	n, _ := dims.Elements()
	var b []byte
	for range n {
		v := float32((2*c.rng.Float64() - 1) * amp)
		if t == nn.TensorFloat16 {
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(v)))
			continue
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return c.b.Const(t, dims, 0, 0, b)
}

// real adds a float scalar of the type that goes with tensors of type t.
func (c *chain) real(t nn.OperandType, v float32) uint32 {
	if t != nn.TensorFloat16 {
		return c.b.Scalar(v)
	}
	h := nn.HalfOf(v)
	return c.b.Const(nn.Float16, nil, 0, 0, []byte{byte(h), byte(h >> 8)})
}

func (c *chain) ints(v ...int32) uint32 { return c.b.Ints(nn.Dims{uint32(len(v))}, v...) }

func (c *chain) chance(n int) bool { return c.rng.IntN(n) == 0 }

// activation is a random fused activation that t can have.
func (c *chain) activation(t nn.OperandType) nn.Activation {
	if t == nn.TensorInt32 || c.chance(2) {
		return nn.ActNone
	}
	return nn.Activation(c.rng.IntN(4))
}

// clamped is the bound of the absolute value after an activation.
func clamped(mag float64, a nn.Activation) float64 {
	switch a {
	case nn.ActRelu1:
		return min(mag, 1)
	case nn.ActRelu6:
		return min(mag, 6)
	}
	return mag
}

func elements(d nn.Dims) int {
	n, _ := d.Elements()
	return int(n)
}

// Conditions for pick.
func isFloat(v *val) bool { return v.typ.IsFloat() }
func isExact(v *val) bool { return v.typ.IsQuant8() && !v.rough || !v.typ.IsQuant8() }
func isImage(v *val) bool { return v.typ != nn.TensorInt32 && len(v.dims) == 4 }
func notInt(v *val) bool  { return v.typ != nn.TensorInt32 }
func small(v *val) bool   { return v.typ.IsQuant8() || v.mag <= maxMagnitude }
