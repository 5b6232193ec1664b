package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Modes of MIRROR_PAD.
const (
	mirrorReflect   = 0
	mirrorSymmetric = 1
)

func init() {
	paddings := indices("paddings", exactly(2), "[rank, 2]: before and after each dimension, not negative")
	value := Operand{Name: "value", Note: "a stored number where the input is quantised", Types: TypeRule{
		With: func(x nn.OperandType) Types {
			if x.IsQuant8() {
				return of(nn.Int32)
			}
			return realOf(x)
		},
		Text: "FLOAT32; FLOAT16 with TENSOR_FLOAT16, INT32 with 8 bits",
	}}
	register(
		Row{
			Type: nn.OpPad, Since: 2,
			Forms: one(input(numbers, extended), paddings), Outputs: result(extended),
			Rules: []string{"fills with zero, the zero point of a quantised input"},
			quant: sameQuant,
			attrs: func(c *Call, p *params, a *Attrs) {
				padAttrs(c, p, a)
				if x := c.In(0); x.Type.IsQuant8() {
					a.Value = float64(x.ZeroPoint)
				}
			},
			shapes: single(padShape),
			fed:    padFed,
		},
		Row{
			Type: nn.OpPadV2, Since: 3,
			Forms: one(input(numbers, extended), paddings, value), Outputs: result(extended),
			quant:  sameQuant,
			attrs:  padV2Attrs,
			shapes: single(padShape),
			fed:    padFed,
		},
		Row{
			Type: nn.OpMirrorPad, Since: 7,
			Forms:   one(input(withInt32, AnyRank), paddings, int32Of("mode", "0 REFLECT, 1 SYMMETRIC: the edge is repeated")),
			Outputs: result(AnyRank),
			Rules:   []string{"a padding is at most the size of its dimension, one less with REFLECT"},
			quant:   sameQuant,
			attrs:   mirrorPadAttrs,
			shapes:  single(mirrorPadShape),
			fed:     mirrorPadFed,
		},
	)
}

// padAttrs reads the paddings [rank, 2].
func padAttrs(c *Call, p *params, a *Attrs) {
	rank := c.rank()
	if o := c.In(1); len(o.Dims) == 2 {
		if o.Dims[1] != 2 && o.Dims[1] != 0 || rank > 0 && o.Dims[0] != 0 && int64(o.Dims[0]) != int64(rank) {
			p.fail("paddings have dimensions %v instead of [%d 2]", []uint32(o.Dims), rank)
			return
		}
	}
	v, ok := p.int32s("paddings")
	if !ok {
		return
	}
	for _, n := range v {
		if n < 0 {
			p.fail("padding %d is negative", n)
			return
		}
	}
	if rank == 0 {
		return
	}
	if len(v) != 2*rank {
		p.fail("%d paddings for rank %d", len(v), rank)
		return
	}
	for i := 0; i < len(v); i += 2 {
		a.Pads = append(a.Pads, [2]int{int(v[i]), int(v[i+1])})
	}
}

// padV2Attrs: the value of an 8-bit form is a stored integer.
func padV2Attrs(c *Call, p *params, a *Attrs) {
	padAttrs(c, p, a)
	lo, hi := int32(0), int32(255)
	switch c.In(0).Type {
	case nn.TensorQuant8AsymmSigned:
		lo, hi = -128, 127
	case nn.TensorQuant8Asymm:
	default:
		a.Value, _ = p.real("value")
		return
	}
	v, ok := p.int32("value")
	if ok && (v < lo || v > hi) {
		p.fail("value %d is outside %d..%d", v, lo, hi)
	}
	a.Value = float64(v)
}

func padShape(c *Call, a *Attrs) (nn.Dims, error) {
	out := append(nn.Dims(nil), c.In(0).Dims...)
	for i, pad := range a.Pads {
		n, err := toDim(int64(out[i]) + int64(pad[0]) + int64(pad[1]))
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func mirrorPadAttrs(c *Call, p *params, a *Attrs) {
	padAttrs(c, p, a)
	mode, ok := p.int32("mode")
	if ok && mode != mirrorReflect && mode != mirrorSymmetric {
		p.fail("mode %d", mode)
	}
	a.Symmetric = mode == mirrorSymmetric
}

// mirrorPadShape: a padding may be as large as the dimension when the edge is repeated, else one less.
func mirrorPadShape(c *Call, a *Attrs) (nn.Dims, error) {
	for i, n := range c.In(0).Dims {
		limit := int64(n)
		if !a.Symmetric {
			limit--
		}
		for _, pad := range a.Pads[i] {
			if int64(pad) > limit {
				return nil, fmt.Errorf("padding %d of dimension %d exceeds %d", pad, i, limit)
			}
		}
	}
	return padShape(c, a)
}
