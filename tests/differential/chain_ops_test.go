package differential

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// growths add one operation (some two) to a chain, or do nothing where no tensor fits.
var growths = []func(*chain) bool{
	growBinary, growBinary, growBinary, growUnary, growUnary, growPrelu, growConvert,
	growReshape, growReshape, growTranspose, growTranspose, growPad, growMirrorPad, growConcat, growConcat,
	growMean, growSoftmax, growPool, growPool, growResize,
	growConv, growConv, growDepthwise, growFullyConnected,
}

// broadcastDims joins two shapes; ok is false where they do not fit or the result is too large.
func broadcastDims(x, y nn.Dims) (z nn.Dims, ok bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	z = slices.Clone(x)
	for i, n := range y {
		k := len(x) - len(y) + i
		switch {
		case x[k] == n || n == 1:
		case x[k] == 1:
			z[k] = n
		default:
			return nil, false
		}
	}
	return z, elements(z) <= maxChainElements
}

func growBinary(c *chain) bool {
	x := c.pick(func(v *val) bool { return isExact(v) && small(v) })
	if x == nil {
		return false
	}
	var y *val
	switch c.rng.IntN(4) {
	case 0:
		y = x // both operands are one tensor
	case 1:
		y = c.constantFor(x)
	default:
		y = c.pick(func(v *val) bool {
			_, ok := broadcastDims(x.dims, v.dims)
			return ok && v.typ == x.typ && isExact(v) && small(v)
		})
	}
	if y == nil {
		return false
	}
	dims, ok := broadcastDims(x.dims, y.dims)
	if !ok {
		return false
	}
	if c.chance(2) {
		x, y = y, x
	}
	z := val{typ: x.typ, dims: dims, rough: x.rough || y.rough}
	act := c.activation(z.typ)
	op := [...]nn.OperationType{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpMaximum, nn.OpMinimum, nn.OpSquaredDifference}[c.rng.IntN(6)]
	args := []uint32{x.id, y.id}
	var scale float64
	switch op {
	case nn.OpAdd, nn.OpSub:
		z.mag, scale = clamped(x.mag+y.mag, act), 1.3*float64(max(x.scale, y.scale))
	case nn.OpMul:
		z.mag, scale = clamped(x.mag*y.mag, act), 90*float64(x.scale)*float64(y.scale)
	case nn.OpSquaredDifference:
		z.mag, scale = (x.mag+y.mag)*(x.mag+y.mag), 200*float64(max(x.scale, y.scale))*float64(max(x.scale, y.scale))
	default:
		z.mag, scale = max(x.mag, y.mag), float64(max(x.scale, y.scale))
		z.rough = true // halves of a step fall another way than the oracle's
		if !z.typ.IsQuant8() {
			z.rough = x.rough || y.rough
		}
	}
	if z.typ.IsFloat() && z.mag > 4*maxMagnitude {
		return false
	}
	if op == nn.OpAdd || op == nn.OpSub || op == nn.OpMul {
		args = append(args, c.b.Scalar(int(act)))
	}
	z.scale, z.zero = c.someQuant(z.typ, scale)
	return c.emit(op, z, args...)
}

// constantFor adds a constant that broadcasts with x: a scalar, a row or all of it.
func (c *chain) constantFor(x *val) *val {
	dims := slices.Clone(x.dims)
	switch c.rng.IntN(3) {
	case 0:
		dims = nn.Dims{1}
	case 1:
		dims = dims[len(dims)-1:]
	}
	y := val{typ: x.typ, dims: dims, mag: 1}
	y.scale, y.zero = c.someQuant(x.typ, 0.01)
	if x.typ.IsFloat() {
		y.id = c.floats(x.typ, dims, 1)
	} else {
		y.id = c.b.Const(x.typ, dims, y.scale, y.zero, RandomValue(x.typ, dims, c.rng))
	}
	return &y
}

func growUnary(c *chain) bool {
	x := c.pick(isExact)
	if x == nil {
		return false
	}
	y := *x
	switch x.typ {
	case nn.TensorInt32:
		return c.emit([...]nn.OperationType{nn.OpAbs, nn.OpNeg}[c.rng.IntN(2)], y, x.id)
	case nn.TensorFloat32, nn.TensorFloat16:
		op := [...]nn.OperationType{
			nn.OpRelu, nn.OpRelu1, nn.OpRelu6, nn.OpTanh, nn.OpLogistic, nn.OpAbs, nn.OpNeg, nn.OpSin, nn.OpHardSwish, nn.OpElu,
		}[c.rng.IntN(10)]
		switch op {
		case nn.OpRelu1, nn.OpTanh, nn.OpLogistic, nn.OpSin:
			y.mag = 1
		case nn.OpRelu6:
			y.mag = min(y.mag, 6)
		case nn.OpElu:
			return c.emit(op, y, x.id, c.real(x.typ, 0.75))
		}
		return c.emit(op, y, x.id)
	}
	op := [...]nn.OperationType{
		nn.OpRelu, nn.OpRelu1, nn.OpRelu6, nn.OpTanh, nn.OpLogistic, nn.OpHardSwish, nn.OpRequantize,
	}[c.rng.IntN(7)]
	signed := int32(0)
	if x.typ == nn.TensorQuant8AsymmSigned {
		signed = -128
	}
	switch op {
	case nn.OpTanh:
		y.scale, y.zero = 1.0/128, 128+signed
	case nn.OpLogistic:
		y.scale, y.zero = 1.0/256, signed
	case nn.OpHardSwish, nn.OpRequantize:
		y.scale, y.zero = c.someQuant(x.typ, float64(x.scale))
	}
	return c.emit(op, y, x.id)
}

func growPrelu(c *chain) bool {
	x := c.pick(func(v *val) bool { return isFloat(v) && small(v) })
	if x == nil {
		return false
	}
	return c.emit(nn.OpPrelu, *x, x.id, c.floats(x.typ, x.dims[len(x.dims)-1:], 1))
}

// growConvert changes the type: between floats, from and to 8 bits, from integers.
func growConvert(c *chain) bool {
	x := c.pick(func(*val) bool { return true })
	if x == nil {
		return false
	}
	y := *x
	switch {
	case x.typ.IsQuant8() && !x.rough:
		y.typ, y.mag = nn.TensorFloat32, 256*float64(x.scale)
		y.scale, y.zero = 0, 0
		return c.emit(nn.OpDequantize, y, x.id)
	case x.typ.IsQuant8():
		return false
	case x.typ == nn.TensorFloat16:
		y.typ = nn.TensorFloat32
		return c.emit(nn.OpCast, y, x.id)
	case x.typ == nn.TensorFloat32 && c.chance(3):
		y.typ, y.rough = nn.TensorFloat16, true
		return c.emit(nn.OpCast, y, x.id)
	case x.typ == nn.TensorFloat32 && !x.rough:
		y.typ, y.rough = c.quantType(), true
		y.scale, y.zero = c.someQuant(y.typ, max(x.mag, 0.1)/100)
		return c.emit(nn.OpQuantize, y, x.id)
	case x.typ == nn.TensorInt32:
		y.typ, y.scale, y.zero = nn.TensorQuant8Asymm, 0.1, 128
		if c.quantType() != y.typ {
			return false
		}
		return c.emit(nn.OpCast, y, x.id)
	}
	return false
}

// quantType is the 8-bit type of the graph: graphs have only one, because the rounding of products goes by
// it.
func (c *chain) quantType() nn.OperandType {
	for i := range c.vals {
		if c.vals[i].typ == nn.TensorQuant8AsymmSigned {
			return nn.TensorQuant8AsymmSigned
		}
	}
	return nn.TensorQuant8Asymm
}

func growReshape(c *chain) bool {
	x := c.pick(func(*val) bool { return true })
	if x == nil {
		return false
	}
	y := *x
	switch c.rng.IntN(4) {
	case 0:
		if len(x.dims) > 3 {
			return false
		}
		axis := c.rng.IntN(len(x.dims) + 1)
		y.dims = slices.Insert(slices.Clone(x.dims), axis, 1)
		return c.emit(nn.OpExpandDims, y, x.id, c.b.Scalar(axis))
	case 1:
		axis := slices.Index(x.dims, 1)
		if axis < 0 || len(x.dims) == 1 || !notInt(x) {
			return false
		}
		y.dims = slices.Delete(slices.Clone(x.dims), axis, axis+1)
		return c.emit(nn.OpSqueeze, y, x.id, c.ints(int32(axis)))
	}
	// Factors of the number of elements, dealt to up to four dimensions.
	y.dims = slices.Repeat(nn.Dims{1}, 1+c.rng.IntN(4))
	n := uint32(elements(x.dims))
	for p := uint32(2); n > 1; {
		if n%p != 0 {
			p++
			continue
		}
		y.dims[c.rng.IntN(len(y.dims))] *= p
		n /= p
	}
	return c.emit(nn.OpReshape, y, x.id, c.ints(ints(y.dims)...))
}

func growTranspose(c *chain) bool {
	x := c.pick(notInt)
	if x == nil {
		return false
	}
	y := *x
	y.dims = make(nn.Dims, len(x.dims))
	perm := make([]int32, len(x.dims))
	for i, p := range c.rng.Perm(len(x.dims)) {
		perm[i], y.dims[i] = int32(p), x.dims[p]
	}
	if !c.emit(nn.OpTranspose, y, x.id, c.ints(perm...)) || !c.chance(4) {
		return true
	}
	// And back again: the compiler may cancel the two.
	back := make([]int32, len(perm))
	for i, p := range perm {
		back[p] = int32(i)
	}
	x.temp = true
	return c.emit(nn.OpTranspose, *x, c.vals[len(c.vals)-1].id, c.ints(back...))
}

// paddings are random ones, none larger than the limit of its dimension.
func (c *chain) paddings(x *val, limit func(n uint32) int) (pads []int32, dims nn.Dims) {
	dims = slices.Clone(x.dims)
	for i, n := range x.dims {
		for range 2 {
			p := 0
			if most := limit(n); most > 0 && c.chance(2) {
				p = c.rng.IntN(most + 1)
			}
			pads = append(pads, int32(p))
			dims[i] += uint32(p)
		}
	}
	return pads, dims
}

func growPad(c *chain) bool {
	x := c.pick(notInt)
	if x == nil {
		return false
	}
	y := *x
	var pads []int32
	pads, y.dims = c.paddings(x, func(uint32) int { return 3 })
	if elements(y.dims) > maxChainElements {
		return false
	}
	p := c.b.Ints(nn.Dims{uint32(len(x.dims)), 2}, pads...)
	switch {
	case c.chance(2):
		return c.emit(nn.OpPad, y, x.id, p)
	case x.typ.IsQuant8():
		return c.emit(nn.OpPadV2, y, x.id, p, c.b.Scalar(c.rng.IntN(100)))
	}
	y.mag = max(y.mag, 1.5)
	return c.emit(nn.OpPadV2, y, x.id, p, c.real(x.typ, -1.5))
}

func growMirrorPad(c *chain) bool {
	x := c.pick(func(*val) bool { return true })
	if x == nil {
		return false
	}
	y := *x
	mode := c.rng.IntN(2)
	var pads []int32
	pads, y.dims = c.paddings(x, func(n uint32) int { return min(int(n)-1+mode, 4) })
	if elements(y.dims) > maxChainElements {
		return false
	}
	return c.emit(nn.OpMirrorPad, y, x.id, c.b.Ints(nn.Dims{uint32(len(x.dims)), 2}, pads...), c.b.Scalar(mode))
}

func growConcat(c *chain) bool {
	x := c.pick(func(v *val) bool { return notInt(v) && len(v.dims) <= 4 })
	if x == nil {
		return false
	}
	axis := c.rng.IntN(len(x.dims))
	y := *x
	y.dims = slices.Clone(x.dims)
	args := []uint32{x.id}
	join := func(v *val) {
		args = append(args, v.id)
		y.dims[axis] += v.dims[axis]
		y.mag, y.rough = max(y.mag, v.mag), y.rough || v.rough
	}
	rescale := x.typ.IsQuant8() && !x.rough && c.chance(2)
	if rescale {
		y.scale, y.zero = c.someQuant(x.typ, float64(x.scale))
	}
	for range 1 + c.rng.IntN(3) {
		if c.chance(3) {
			join(x) // the same tensor again
			continue
		}
		v := c.pick(func(v *val) bool {
			if v.typ != x.typ || len(v.dims) != len(x.dims) || !rescale && (v.scale != y.scale || v.zero != y.zero) || rescale && v.rough {
				return false
			}
			for i := range x.dims {
				if i != axis && v.dims[i] != x.dims[i] {
					return false
				}
			}
			return true
		})
		if v != nil {
			join(v)
		}
	}
	if elements(y.dims) > maxChainElements {
		return false
	}
	return c.emit(nn.OpConcatenation, y, append(args, c.b.Scalar(axis))...)
}

func growMean(c *chain) bool {
	x := c.pick(func(v *val) bool { return notInt(v) && isExact(v) && len(v.dims) <= 4 })
	if x == nil {
		return false
	}
	y := *x
	y.dims = nil
	keep := c.rng.IntN(2)
	var axes []int32
	for i, n := range x.dims {
		if c.chance(2) {
			axes = append(axes, int32(i))
			if keep == 0 {
				continue
			}
			n = 1
		}
		y.dims = append(y.dims, n)
	}
	if len(axes) == 0 {
		return false
	}
	if len(y.dims) == 0 {
		y.dims = nn.Dims{1}
	}
	if c.chance(2) {
		y.scale, y.zero = c.someQuant(x.typ, float64(x.scale)/4)
	}
	return c.emit(nn.OpMean, y, x.id, c.ints(axes...), c.b.Scalar(keep))
}

func growSoftmax(c *chain) bool {
	x := c.pick(func(v *val) bool { return notInt(v) && isExact(v) && len(v.dims) <= 4 })
	if x == nil {
		return false
	}
	y := *x
	y.mag = 1
	axis := c.rng.IntN(len(x.dims))
	op := nn.OpSoftmax
	if x.typ.IsQuant8() {
		y.rough, y.scale, y.zero = true, 1.0/256, 0
		if x.typ == nn.TensorQuant8AsymmSigned {
			y.zero = -128
		}
	} else if c.chance(2) {
		op = nn.OpLogSoftmax
		y.mag = 2*x.mag + math.Log(float64(x.dims[axis]))
	}
	return c.emit(op, y, x.id, c.real(x.typ, 0.75), c.b.Scalar(axis))
}
