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
	paddings := indices("paddings", exactly(2), false)
	register(rows(
		definition{
			t:     nn.OpPad,
			form:  one(nil, input(numbers, extended), paddings),
			out:   like("output", extended),
			quant: sameQuant,
			attrs: func(c *Call, p *params, a *Attrs) {
				padAttrs(c, p, a)
				if x := c.In(0); x.Type.IsQuant8() {
					a.Value = float64(x.ZeroPoint)
				}
			},
			shape: padShape,
			fed:   padFed,
		},
		definition{
			t: nn.OpPadV2,
			form: one(nil, input(numbers, extended), paddings, arg{name: "value", types: func(x nn.OperandType) typeSet {
				if x.IsQuant8() {
					return of(nn.Int32)
				}
				return realOf(x)
			}}),
			out:   like("output", extended),
			quant: sameQuant,
			attrs: padV2Attrs,
			shape: padShape,
			fed:   padFed,
		},
		definition{
			t:     nn.OpMirrorPad,
			form:  one(nil, input(withInt32, anyRank), paddings, int32s("mode")),
			out:   like("output", anyRank),
			quant: sameQuant,
			attrs: mirrorPadAttrs,
			shape: mirrorPadShape,
			fed:   mirrorPadFed,
		},
	)...)
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
	v, ok := p.int32s(1)
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
		a.Value, _ = p.real(2)
		return
	}
	v, ok := p.int32(2)
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
	mode, ok := p.int32(2)
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
